/* SPDX-License-Identifier: Apache-2.0 */
/**
 * blockers: goroutines that keep others waiting.
 *
 * A waiter leads to the likeliest owner of the lock that it waits for, or to the
 * only goroutine that can use the channel, and that one, if it waits itself, to
 * the next. What such a chain ends at is a blocker.
 */
#ifndef GR_BLOCKERS_H
#define GR_BLOCKERS_H

#include "goroutines/wait_table.h"

/** The end of a chain of waiters, or a member of a cycle of them. */
struct gr_blocker {
	uint32_t goroutine; /**< Index. */
	/** Index of what it owns; of several, what most come to it by. */
	uint32_t primitive;
	/** Goroutines that wait for it, or for one that does. */
	uint64_t behind;
	/** Length of the longest chain that leads to it: 1 if nobody waits for
	 * those that wait for it. The chain of a member of a cycle does not
	 * count the cycle. */
	uint32_t depth;
	bool is_in_cycle;
};
GR_VECTOR(gr_blocker_vector, struct gr_blocker);

struct gr_sched;

/** Find them, those that most wait for first. The owners of the table's
 * primitives are known. Linear. */
struct gr_error *gr_blockers_find(struct gr_sched *sched,
				  const struct gr_wait_table *table,
				  struct gr_blocker_vector *ret) GR_MUST_CHECK;

#endif /* GR_BLOCKERS_H */
