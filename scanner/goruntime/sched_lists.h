/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sched_lists: the scheduler's lists (runtime/proc.go: allgs, allm, allp), as
 * addresses. Knows how they may be torn; knows nothing of what a g or m is.
 */
#ifndef GR_SCHED_LISTS_H
#define GR_SCHED_LISTS_H

#include "goruntime/runtime.h"

/**
 * Fill ms and ps of @p rt, and *@p gs with the addresses of allgs (the
 * caller frees it, also after an error). Lists that loop, end in nothing or
 * contradict what the runtime knows besides are gaps.
 */
struct gr_error *gr_sched_lists_read(struct gr_runtime *rt, uint64_t **gs,
				     size_t *ngs) GR_MUST_CHECK;

#endif /* GR_SCHED_LISTS_H */
