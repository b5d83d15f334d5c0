/* SPDX-License-Identifier: Apache-2.0 */
/**
 * children: the dominator tree from the top down.
 *
 * A vertex's *children* are the vertices that it dominates directly. Their
 * retained bytes and the vertex's own add up to its retained bytes.
 */
#ifndef GR_GRAPH_CHILDREN_H
#define GR_GRAPH_CHILDREN_H

#include "graph/graph.h"

/** Children: most retained bytes first, equal ones by number. */
struct gr_children {
	const gr_vertex *vertices; /**< Inside of the graph. */
	uint32_t count;
};

/** The children of @p v. Needs GR_PART_CHILDREN. */
struct gr_children gr_graph_children(const struct gr_graph *graph, gr_vertex v);

/**
 * All reached vertices but the top: most retained bytes first, equal ones by
 * number. Makes GR_PART_DOMINATORS.
 *
 * @param[out] ret For gr_array_free().
 */
struct gr_error *gr_graph_by_retained(struct gr_graph *graph,
				      const struct gr_poll *poll,
				      gr_vertex **ret,
				      uint32_t *count) GR_MUST_CHECK;

/** Children that count as one. */
struct gr_child_group {
	uint64_t key;
	gr_vertex example;	 /**< The one that retains most. */
	uint32_t vertices;	 /**< Children in it. */
	uint32_t first;		 /**< The first of them in members. */
	uint64_t own_bytes;	 /**< Without what they retain. */
	uint64_t retained_bytes; /**< The sum: they do not overlap. */
	/** The part of it in objects of the second sequence of runs. */
	uint64_t retained_second;
};

/** Groups, most retained bytes first, then by example. */
struct gr_child_groups {
	struct gr_child_group *groups;
	uint32_t count;
	/** The children of a group are members[first .. first + vertices). */
	gr_vertex *members;
};

/**
 * Put the children of all @p vertices into groups by key: what a dominator tree
 * shows when equal types are merged. Needs GR_PART_CHILDREN.
 *
 * @param vertices None of them dominates another one.
 * @param key A child's key, such as its type.
 */
struct gr_error *
gr_graph_group_children(const struct gr_graph *graph, const gr_vertex *vertices,
			uint32_t nvertices,
			uint64_t (*key)(void *ctx, gr_vertex child), void *ctx,
			const struct gr_poll *poll,
			struct gr_child_groups *ret) GR_MUST_CHECK;

void gr_child_groups_deinit(struct gr_child_groups *groups);

#endif /* GR_GRAPH_CHILDREN_H */
