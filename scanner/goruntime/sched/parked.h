/* SPDX-License-Identifier: Apache-2.0 */
/**
 * parked: the sudogs of locks and Conds before Go 1.26, to which no g leads.
 * They are live words in the frame of the function that parked the goroutine.
 * Source: runtime/sema.go (semacquire1, notifyListWait).
 */
#ifndef GR_PARKED_H
#define GR_PARKED_H

#include "goruntime/sched/sudog.h"

/**
 * Find the sudog of a goroutine that waits for a semaphore or for a Cond: the
 * live word that leads to a record of this goroutine. *@p frame is the frame
 * that parked it, NULL if there is none.
 */
struct gr_error *gr_parked_find(const struct gr_sched *sched,
				const struct gr_goroutine *g,
				struct gr_sudog *ret,
				const struct gr_frame **frame) GR_MUST_CHECK;

/** Goroutines that wait for Conds whose addresses are not known yet. */
struct gr_cond_waiter {
	uint64_t sudog;
	uint32_t goroutine;
	uint32_t caller; /**< Index of the frame that called Cond.Wait, or
			  * into which that is inlined. */
	uint64_t list;	 /**< Receives the notifyList, or 0. */
};
GR_VECTOR(gr_cond_waiters, struct gr_cond_waiter);

/**
 * Find the notify lists. A live word of the caller's frame is the Cond if the
 * list of it contains the sudog. Each sudog is in one list, so that the time is
 * in proportion to the waiters.
 */
struct gr_error *
gr_parked_find_lists(const struct gr_sched *sched,
		     struct gr_cond_waiters *waiters) GR_MUST_CHECK;

#endif /* GR_PARKED_H */
