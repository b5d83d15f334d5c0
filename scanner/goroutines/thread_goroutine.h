/* SPDX-License-Identifier: Apache-2.0 */
/** thread_goroutine: which goroutine a thread of the target runs. */
#ifndef GR_THREAD_GOROUTINE_H
#define GR_THREAD_GOROUTINE_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/**
 * Find the goroutine that a thread runs: m.curg of the M whose m.procid is
 * @p thread_id. The number is that of the target's own pid namespace.
 * *@p goid is 0 if the thread is of no M, if the M runs none, or if their
 * records are not there.
 */
struct gr_error *gr_scan_goroutine_of_thread(struct gr_scan *scan,
					     int32_t thread_id,
					     uint64_t *goid) GR_MUST_CHECK;

#endif /* GR_THREAD_GOROUTINE_H */
