/* SPDX-License-Identifier: Apache-2.0 */
/**
 * deadlocks: goroutines that wait for each other.
 *
 * A goroutine that waits for a lock goes on when the lock's owner goes on, or,
 * if the lock is taken to read, when all readers go on. A cycle of such waits
 * is a deadlock. If it is known which goroutines alone can use a channel
 * (locks/reach_sets.h), its waiters go on when one of these goes on, so the
 * channel may be part of a cycle. So may what only leaked goroutines reach
 * (closed_sets.h).
 */
#ifndef GR_DEADLOCKS_H
#define GR_DEADLOCKS_H

#include "goroutines/locks/reach_sets.h"
#include "goroutines/waits/closed_sets.h"
#include "mark/tree.h"

/** A member of a cycle, and what it waits for there. */
struct gr_cycle_member {
	uint32_t goroutine; /**< Index. */
	uint32_t awaits;    /**< Index in the cycle's primitives. */
	/** Index of the goroutine of the cycle that alone owns that, or could
	 * use it; UINT32_MAX: several could. */
	uint32_t owner;
};
GR_VECTOR(gr_cycle_member_vector, struct gr_cycle_member);

/** A cycle. Its members are in the order of waiting, as far as one leads to the
 * next. */
struct gr_cycle {
	struct gr_cycle_member_vector members;
	struct gr_u32_vector primitives; /**< Indices. */
	/** It is proven that none of its members goes on: the owners are, or
	 * nothing that may still run reaches what they wait for. */
	bool is_certain;
	/** Goroutines that wait for what its members hold, or for one that
	 * does, and are not in it. */
	uint64_t behind;
};
GR_VECTOR(gr_cycle_vector, struct gr_cycle);

struct gr_sched;

/** Find the cycles. The owners of the table's primitives are known. @p sets and
 * @p reach are NULL: only those of locks. */
struct gr_error *gr_cycles_find(struct gr_sched *sched,
				const struct gr_wait_table *table,
				const struct gr_closed_sets *sets,
				const struct gr_reach_sets *reach,
				struct gr_cycle_vector *ret) GR_MUST_CHECK;
void gr_cycles_deinit(struct gr_cycle_vector *cycles);

#endif /* GR_DEADLOCKS_H */
