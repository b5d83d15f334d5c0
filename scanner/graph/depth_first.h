/* SPDX-License-Identifier: Apache-2.0 */
/**
 * depth_first: a depth-first search for the dominators, and the edges that are
 * not in its tree.
 *
 * A vertex's *number* is its place in preorder. The tree edge to a vertex
 * comes from its *parent*; all others come from its *predecessors*.
 */
#ifndef GR_GRAPH_DEPTH_FIRST_H
#define GR_GRAPH_DEPTH_FIRST_H

#include "graph/internal.h"

/** An edge outside of the tree, by numbers. */
struct gr_cross_edge {
	uint32_t to, from;
};

/**
 * The tree. Arrays by number have @p count elements.
 *
 * Invariant: parent[n] < n, but for the root: parent[0] == 0.
 */
struct gr_depth_first {
	uint32_t count;
	gr_vertex *vertex; /**< By number. */
	uint32_t *parent;  /**< Number of the parent, by number. */
	uint32_t *cursor;  /**< Next edge, by number; scratch afterwards. */
	/** The predecessors of n are preds[head[n] .. head[n + 1]); head has
	 * count + 2 elements. */
	uint32_t *head;
	uint32_t *preds;
	struct gr_cross_edge *edges; /**< During the search; then NULL. */
	uint32_t nedges;
};

/** Allocate arrays for @p count vertices and @p nextra predecessors. */
struct gr_error *gr_depth_first_init(struct gr_depth_first *tree,
				     struct gr_budget *budget, uint32_t count,
				     uint32_t nextra) GR_MUST_CHECK;

void gr_depth_first_deinit(struct gr_depth_first *tree);

/** The edges to search. */
struct gr_subgraph {
	const uint32_t *first;
	const gr_vertex *to;
	const uint64_t *members; /**< A bit a vertex; NULL: all of them. */
	gr_vertex root;
	/** By vertex: becomes its number. Members are GR_VERTEX_NONE. */
	uint32_t *number;
};

/** Search from the root, which reaches all members. */
struct gr_error *gr_depth_first_run(struct gr_depth_first *tree,
				    const struct gr_subgraph *sub,
				    struct gr_budget *budget,
				    const struct gr_poll *poll) GR_MUST_CHECK;

#endif /* GR_GRAPH_DEPTH_FIRST_H */
