/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reach_sets: which goroutines can use what others wait for.
 *
 * Whoever will send to a channel, close it, signal a condition or call Done has
 * a pointer to it, on its stack, in a captured variable or somewhere behind
 * these. Where all ways back from the channel end at stacks, these goroutines
 * are all that could wake its waiters. Where one ends at a package variable, a
 * timer or a finalizer, anybody may.
 */
#ifndef GR_REACH_SETS_H
#define GR_REACH_SETS_H

#include "goroutines/wait_table.h"

struct gr_answers;

/** A goroutine, and a primitive that it reaches. */
struct gr_reach {
	uint32_t primitive, goroutine; /**< Indices. */
	/** It waits for the primitive itself, in a select with other cases. */
	bool is_waiter;
	/** No other goroutine reaches it but such as wait for it. */
	bool is_alone;
};
GR_VECTOR(gr_reach_vector, struct gr_reach);

struct gr_reach_sets {
	/** By primitive: the set of primitive i is rows.data[first[i] ..
	 * first[i + 1]). */
	struct gr_reach_vector rows;
	uint32_t *first;
	/** By goroutine: what goroutine g reaches is rows.data[of[i]], i from
	 * first_of[g] up to first_of[g + 1]. */
	uint32_t *first_of, *of;
	/** A bit a primitive: nobody else reaches it. Sets of others are
	 * empty. */
	uint64_t *is_complete;
	/** A bit a primitive: a weak pointer or a finalizer leads to it, which the
	 * mark does not follow. */
	uint64_t *is_special;
};

/**
 * Find them, of channels, conditions and wait groups. The graph has been made,
 * except for the part GR_PART_REVERSE, which this makes. For each primitive, a
 * limited number of objects and goroutines is looked at, so that the time is
 * linear.
 */
struct gr_error *gr_reach_sets_find(struct gr_answers *answers,
				    const struct gr_wait_table *table,
				    struct gr_reach_sets *ret) GR_MUST_CHECK;
void gr_reach_sets_deinit(struct gr_reach_sets *sets);

#endif /* GR_REACH_SETS_H */
