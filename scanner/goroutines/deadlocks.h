/* SPDX-License-Identifier: Apache-2.0 */
/**
 * deadlocks: goroutines that wait for each other.
 *
 * A goroutine that waits for a lock goes on when its owner does; a lock that is
 * taken to read, when all readers do. A cycle of these is a deadlock. What no
 * goroutine can reach but those that have leaked, such as a channel, only these
 * could use: if they wait for each other, that is a deadlock, too.
 */
#ifndef GR_DEADLOCKS_H
#define GR_DEADLOCKS_H

#include "goroutines/closed_sets.h"
#include "mark/tree.h"

/** A cycle. Goroutine i of it waits for primitive i, which goroutine i + 1 (the
 * first one, after the last) owns. Of a cycle that branches, only members. */
struct gr_cycle {
	struct gr_u32_vector goroutines; /**< Indices. */
	struct gr_u32_vector primitives; /**< Indices. */
	bool is_certain;
	/** Goroutines that wait for its primitives and are not in it. */
	uint64_t behind;
};
GR_VECTOR(gr_cycle_vector, struct gr_cycle);

struct gr_scan;

/** Find the cycles. The owners of the table's primitives are known. @p sets is
 * NULL: only those of locks. */
struct gr_error *gr_cycles_find(struct gr_scan *scan,
				const struct gr_wait_table *table,
				const struct gr_closed_sets *sets,
				struct gr_cycle_vector *ret) GR_MUST_CHECK;
void gr_cycles_deinit(struct gr_cycle_vector *cycles);

#endif /* GR_DEADLOCKS_H */
