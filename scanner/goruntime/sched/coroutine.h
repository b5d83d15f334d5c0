/* SPDX-License-Identifier: Apache-2.0 */
/**
 * coroutine: the two sides of a coroutine (iter.Pull). One of them runs or waits
 * for something else; the other one, which has called it or yielded to it, is
 * coro.gp. The goroutine that the coroutine began with has the coro as a live
 * word of its outermost frame. Source: runtime/coro.go.
 */
#ifndef GR_COROUTINE_H
#define GR_COROUTINE_H

#include "goruntime/sched/goroutine.h"

/** Is @p g one that a coroutine began with? */
bool gr_coroutine_began_with(const struct gr_runtime *rt,
			     const struct gr_goroutine *g);

/**
 * Find the goroutine that @p g waits for, which has called a coroutine: the one
 * that the coroutine began with. *@p ret is NULL if it is not known, or if @p g
 * waits to be called itself. Takes time in proportion to all goroutines.
 */
struct gr_error *
gr_coroutine_awaited(const struct gr_sched *sched, const struct gr_goroutine *g,
		     const struct gr_goroutine **ret) GR_MUST_CHECK;

#endif /* GR_COROUTINE_H */
