/* SPDX-License-Identifier: Apache-2.0 */
/**
 * paths: which roots reach a vertex, and over what.
 *
 * One search backwards from the vertex: the roots come by rank, then by their
 * distance, each with one shortest chain. All chains together are a tree whose
 * root is the vertex: they share their ends, each part is stored once, and a
 * chain is read from its root on by following @ref gr_graph_hop.next.
 */
#ifndef GR_GRAPH_PATHS_H
#define GR_GRAPH_PATHS_H

#include "graph/graph.h"

/**
 * Edges to be left out, weak ones for example. Zero-initialised leaves out
 * none. The answer for an edge does not change during a call.
 */
struct gr_edge_filter {
	bool (*is_excluded)(void *ctx, gr_vertex from, gr_vertex to);
	void *ctx;
};

/** A vertex that was met. */
struct gr_graph_hop {
	gr_vertex vertex;
	uint32_t next; /**< Hop that it leads to; the target's is itself. */
};

/** A root that reaches the target. */
struct gr_root_path {
	gr_vertex root;
	uint32_t hop;	 /**< Its own hop: the chain begins here. */
	uint32_t length; /**< Edges from the root to the target, 0 and more. */
};

/**
 * Invariants: hops[0] is the target; hops[i].next < i for all others. Paths
 * rise by rank, then by length, and have distinct roots.
 */
struct gr_root_paths {
	struct gr_graph_hop *hops;
	uint32_t nhops;
	struct gr_root_path *paths;
	uint32_t npaths;
	/** No other root reaches the target. False if the search ended with
	 * the last path that was asked for. */
	bool is_complete;
};

/**
 * Find the first @p max_paths roots that lead to @p target, by rank and then by
 * distance, with a shortest chain each. UINT32_MAX: all roots. Garbage is not
 * passed. Makes GR_PART_NEAREST and GR_PART_REVERSE.
 *
 * @param target An object, or a root: then its own path is the only one.
 */
struct gr_error *gr_graph_root_paths(struct gr_graph *graph, gr_vertex target,
				     uint32_t max_paths,
				     const struct gr_edge_filter *filter,
				     const struct gr_poll *poll,
				     struct gr_root_paths *ret) GR_MUST_CHECK;

/**
 * Find the vertex before each one on a shortest path from the roots, among the
 * edges that @p filter lets through. Needs no part of the graph.
 *
 * @param[out] ret By vertex; GR_VERTEX_NONE: no path leads to it. For
 *	gr_array_free().
 */
struct gr_error *gr_graph_parents(struct gr_graph *graph,
				  const struct gr_edge_filter *filter,
				  const struct gr_poll *poll,
				  gr_vertex **ret) GR_MUST_CHECK;

void gr_root_paths_deinit(struct gr_root_paths *paths);

#endif /* GR_GRAPH_PATHS_H */
