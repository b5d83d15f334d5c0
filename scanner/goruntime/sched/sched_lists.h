/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sched_lists: the scheduler's lists (runtime/proc.go: allgs, allm, allp), as
 * addresses. The module knows how the lists may be torn. It does not know the
 * contents of a g or m.
 */
#ifndef GR_SCHED_LISTS_H
#define GR_SCHED_LISTS_H

#include "goruntime/sched/goroutine.h"

/**
 * Fill ms and ps of @p sched, and *@p gs with the addresses of allgs. The
 * caller frees *@p gs, also after an error. A list is a gap if it loops, if it
 * leads to unreadable memory, or if it contradicts other data of the runtime.
 */
struct gr_error *gr_sched_lists_read(struct gr_sched *sched, uint64_t **gs,
				     size_t *ngs) GR_MUST_CHECK;

/** Fill ms of @p sched alone: of a process that runs. */
struct gr_error *gr_sched_read_ms(struct gr_sched *sched) GR_MUST_CHECK;

/** Fill running of @p sched, whose ms are known. Threads that did not stop are
 * gaps. */
struct gr_error *gr_sched_read_running(struct gr_sched *sched) GR_MUST_CHECK;

/** Read the ID of the thread of the m at @p addr; 0 if it cannot be read. */
struct gr_error *gr_sched_read_thread_id(struct gr_runtime *rt, uint64_t addr,
					 int32_t *ret) GR_MUST_CHECK;

#endif /* GR_SCHED_LISTS_H */
