/* SPDX-License-Identifier: Apache-2.0 */
/**
 * merged: the paths of many vertices to the top as one tree, with how many of
 * them each branch holds.
 */
#ifndef GR_GRAPH_MERGED_H
#define GR_GRAPH_MERGED_H

#include "graph/paths.h"

/** Vertices on the way to targets, merged because they have one key. */
struct gr_merged_row {
	uint64_t key;
	uint32_t parent;   /**< Row above, with a smaller number; first: 0. */
	uint32_t depth;	   /**< 0: the top. */
	gr_vertex example; /**< The one that is nearest to the top. */
	uint32_t vertices; /**< Vertices in this row. */
	uint32_t targets;  /**< Targets among them and below. */
	uint32_t cut;	   /**< Targets below that have no row of their own. */
	uint64_t bytes;	   /**< Own bytes of @ref targets. */
};

/** The paths of a set of targets, merged from the top on. */
struct gr_merged_paths {
	struct gr_merged_row *rows; /**< The first one is the top. */
	uint32_t nrows;
	uint32_t unreached; /**< Targets that no path leads to. */
};

/** How paths are merged. */
struct gr_merge_options {
	/** Vertices of one row have this in common, such as their type;
	 * NULL: the vertex itself. */
	uint64_t (*key)(void *ctx, gr_vertex v);
	void *ctx;
	/** Rows at most, 1 and more; what has no room is cut. */
	uint32_t max_rows;
	struct gr_edge_filter filter;
};

/**
 * Merge a shortest path of each target into a tree: vertices with one key below
 * the same row are one row. Makes GR_PART_NEAREST.
 *
 * @param targets A bit a vertex.
 */
struct gr_error *
gr_graph_merge_paths(struct gr_graph *graph, const uint64_t *targets,
		     const struct gr_merge_options *options,
		     const struct gr_poll *poll,
		     struct gr_merged_paths *ret) GR_MUST_CHECK;

void gr_merged_paths_deinit(struct gr_merged_paths *merged);

#endif /* GR_GRAPH_MERGED_H */
