/* SPDX-License-Identifier: Apache-2.0 */
/**
 * neighbours: what holds the blocks beside leaked ones. Blocks that were
 * allocated together often lie together, so the holder of the block next to a
 * leaked one tells which part of the program has allocated both.
 */
#ifndef GR_NEIGHBOURS_H
#define GR_NEIGHBOURS_H

#include "graph/keys.h"
#include "heapgraph/heapgraph.h"

struct gr_answers;

/** A holder beside the blocks of a group. */
struct gr_neighbour_count {
	uint32_t group;
	gr_vertex holder;
	uint64_t blocks; /**< Those of the group that it is beside. */
};
GR_VECTOR(gr_neighbour_counts, struct gr_neighbour_count);

/** Zero-initialised is ready for gr_neighbours_init(). */
struct gr_neighbours {
	struct gr_runtime *rt;
	const struct gr_graph *g;
	const struct gr_block_vector *blocks;
	/** By block: a root, or the first object of the type that holds it;
	 * GR_VERTEX_NONE: nothing does. */
	gr_vertex *holder_of;
	struct gr_keys keys; /**< They lead to counts. */
	struct gr_neighbour_counts counts;
};

/** Find the holder of each block: the object or root before the first block on
 * the nearest path. The graph has been made, with these paths. */
struct gr_error *gr_neighbours_init(struct gr_neighbours *n,
				    struct gr_answers *answers) GR_MUST_CHECK;
void gr_neighbours_deinit(struct gr_neighbours *n);

/** Count the holders of the nearest held blocks on both sides of the leaked
 * block of that index, which is of @p group. */
struct gr_error *gr_neighbours_count(struct gr_neighbours *n, uint32_t block,
				     uint32_t group) GR_MUST_CHECK;

#endif /* GR_NEIGHBOURS_H */
