/* SPDX-License-Identifier: Apache-2.0 */
/**
 * semaphores: the addresses on which goroutines wait for a lock, a WaitGroup
 * and the like. Source: runtime/sema.go (semTable, semaRoot).
 */
#ifndef GR_SEMAPHORES_H
#define GR_SEMAPHORES_H

#include "goruntime/sched/sudog.h"

/**
 * Call @p visit for the first waiter of each semaphore; its waitlink leads to
 * the others. A part of a tree that makes no sense is a gap. Without
 * runtime.semtable, there are none.
 */
struct gr_error *gr_semaphores_walk(
	const struct gr_sched *sched,
	struct gr_error *(*visit)(void *ctx, const struct gr_sudog *first),
	void *ctx) GR_MUST_CHECK;

#endif /* GR_SEMAPHORES_H */
