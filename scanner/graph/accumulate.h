/* SPDX-License-Identifier: Apache-2.0 */
/**
 * accumulate: where in the dominator tree the bytes come together.
 *
 * The *heavy path* of a vertex goes from each vertex to the child that retains
 * most. Along it retained bytes fall slowly as long as one object wraps
 * another, and at once where many objects are held side by side: that is the
 * *drop*. In a linked list they fall a little at each element: that is a
 * *chain*.
 */
#ifndef GR_GRAPH_ACCUMULATE_H
#define GR_GRAPH_ACCUMULATE_H

#include "graph/graph.h"

enum gr_accumulation_kind {
	GR_ACCUMULATION_DROP,  /**< Many things, or one large one. */
	GR_ACCUMULATION_CHAIN, /**< A list: each element holds the rest. */
};

struct gr_accumulation {
	enum gr_accumulation_kind kind;
	/** The vertex whose children add up, or the first of a chain that
	 * contributes; its dominator holds the list. */
	gr_vertex at;
	uint32_t depth;	   /**< Steps from the start of the path to @ref at. */
	uint32_t vertices; /**< Children of @ref at; elements of a chain. */
	uint64_t retained_bytes; /**< @ref at retains these. */
};

/** A drop is where the heaviest child has less than this of its dominator. */
enum { GR_DROP_PERCENT = 70 };

/**
 * The accumulation point below @p start, which is reached. Needs
 * GR_PART_CHILDREN.
 *
 * @param drop_percent GR_DROP_PERCENT; more finds points nearer to the start.
 */
struct gr_error *
gr_graph_accumulation(const struct gr_graph *graph, gr_vertex start,
		      unsigned int drop_percent, const struct gr_poll *poll,
		      struct gr_accumulation *ret) GR_MUST_CHECK;

#endif /* GR_GRAPH_ACCUMULATE_H */
