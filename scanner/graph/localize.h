/* SPDX-License-Identifier: Apache-2.0 */
/**
 * localize: the crossed part of a graph in numbers that a depth-first search
 * finds side by side. Worth its time where a heap's objects are scattered.
 */
#ifndef GR_GRAPH_LOCALIZE_H
#define GR_GRAPH_LOCALIZE_H

#include "graph/depth_first.h"

/** A copy of a part of a graph; vertex 0 is the top. */
struct gr_local_graph {
	uint32_t count;
	uint32_t *first; /**< count + 1 elements. */
	gr_vertex *to;
	gr_vertex *original; /**< The graph's vertex of each of ours. */
	uint32_t *number;    /**< GR_VERTEX_NONE, for the search. */
};

/** Are most tree edges long, so that following them misses the caches? */
bool gr_graph_is_scattered(const struct gr_graph *graph);

/**
 * Copy the part of @p graph that has the @p count vertices in @p members, a bit
 * a vertex: the top, and with each vertex its parent.
 *
 * @param scratch Arrays for as many vertices; what is in them is lost.
 * @param local_of By vertex of the graph: members get their new number.
 */
struct gr_error *gr_local_graph_init(struct gr_local_graph *local,
				     const struct gr_graph *graph,
				     const uint64_t *members,
				     struct gr_depth_first *scratch,
				     uint32_t count, uint32_t *local_of,
				     const struct gr_poll *poll) GR_MUST_CHECK;

void gr_local_graph_deinit(struct gr_local_graph *local);

#endif /* GR_GRAPH_LOCALIZE_H */
