/* SPDX-License-Identifier: Apache-2.0 */
/** room: what must be free for a copy: memory, and numbers of processes. */
#ifndef GR_SNAPSHOT_ROOM_H
#define GR_SNAPSHOT_ROOM_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

/**
 * An error if process @p pid, a copy of it beside, could run out of memory or
 * of threads: by the machine's memory, by its control groups and its limits.
 */
struct gr_error *gr_room_check(pid_t pid) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_ROOM_H */
