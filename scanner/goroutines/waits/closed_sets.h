/* SPDX-License-Identifier: Apache-2.0 */
/**
 * closed_sets: who could wake goroutines that have leaked.
 *
 * Only leaked goroutines can reach what a leaked goroutine awaits
 * (leak_rule.h). Those that reach it and do not wait for it themselves are the
 * only ones that could ever wake it.
 */
#ifndef GR_CLOSED_SETS_H
#define GR_CLOSED_SETS_H

#include "goroutines/wait_table.h"

struct gr_answers;

/** A leaked goroutine that can reach what others wait for. */
struct gr_waker {
	uint32_t primitive, goroutine; /**< Indices. */
};
GR_VECTOR(gr_waker_vector, struct gr_waker);

struct gr_closed_sets {
	uint8_t *states; /**< By goroutine: enum gr_leak_state. */
	/** By primitive: those of primitive i are wakers.data[first[i] ..
	 * first[i + 1]). If one object has very many, each primitive has
	 * some of its wakers. */
	struct gr_waker_vector wakers;
	uint32_t *first;
};

/**
 * Find them. The graph has been made. From each leaked goroutine, a
 * limited number of objects is looked at, so that the time is linear.
 */
struct gr_error *gr_closed_sets_find(struct gr_answers *answers,
				     const struct gr_wait_table *table,
				     struct gr_closed_sets *ret) GR_MUST_CHECK;
void gr_closed_sets_deinit(struct gr_closed_sets *sets);

#endif /* GR_CLOSED_SETS_H */
