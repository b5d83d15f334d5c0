/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_bytes: what goroutines keep alive, alone and together. */
#ifndef GR_GOROUTINE_BYTES_H
#define GR_GOROUTINE_BYTES_H

#include "base/vector.h"
#include "graph/sets.h"

struct gr_answers;

/** A goroutine, and the set that it belongs to. */
struct gr_set_member {
	uint32_t goroutine; /**< Index. */
	uint32_t set;
};
GR_VECTOR(gr_set_member_vector, struct gr_set_member);

/**
 * Find what would be garbage without the goroutines of each set: without their
 * stacks, g's and sudogs; and what would be without all of them. Makes the
 * object graph. Takes time linear in the graph.
 *
 * @param[out] kept Of each set.
 */
struct gr_error *gr_goroutines_weigh(struct gr_answers *answers,
				     const struct gr_set_member_vector *members,
				     uint32_t nsets, struct gr_kept *kept,
				     struct gr_kept *together) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_BYTES_H */
