/* SPDX-License-Identifier: Apache-2.0 */
/** room: checks that there is room for a copy: memory and process IDs. */
#ifndef GR_SNAPSHOT_ROOM_H
#define GR_SNAPSHOT_ROOM_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

/**
 * Return an error if process @p pid could run out of memory or threads while a
 * copy of it exists. The machine's memory, its control groups and its limits
 * are checked.
 */
struct gr_error *gr_room_check(pid_t pid) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_ROOM_H */
