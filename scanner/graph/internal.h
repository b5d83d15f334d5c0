/* SPDX-License-Identifier: Apache-2.0 */
/**
 * internal: what the files of this room share. How far ahead loops fetch, and
 * the functions that make the parts of a graph.
 */
#ifndef GR_GRAPH_INTERNAL_H
#define GR_GRAPH_INTERNAL_H

#include "graph/graph.h"

/** Steps from fetching to use; measured, not sensitive. */
enum { GR_AHEAD = 16 };

/** Make GR_PART_NEAREST (nearest.c). The part is absent. */
struct gr_error *
gr_graph_make_nearest(struct gr_graph *graph,
		      const struct gr_poll *poll) GR_MUST_CHECK;

/** Make GR_PART_REVERSE (reverse.c). The part is absent. */
struct gr_error *
gr_graph_make_reverse(struct gr_graph *graph,
		      const struct gr_poll *poll) GR_MUST_CHECK;

/** Make GR_PART_DOMINATORS (dominators.c). Needs GR_PART_NEAREST. */
struct gr_error *
gr_graph_make_dominators(struct gr_graph *graph,
			 const struct gr_poll *poll) GR_MUST_CHECK;

/** Sum what vertices retain again, by idom (dominators.c). After an error the
 * sums mean nothing. Needs GR_PART_NEAREST and GR_PART_DOMINATORS. */
struct gr_error *
gr_graph_sum_retained(struct gr_graph *graph,
		      const struct gr_poll *poll) GR_MUST_CHECK;

/** Make GR_PART_CHILDREN (children.c). Needs GR_PART_DOMINATORS. */
struct gr_error *
gr_graph_make_children(struct gr_graph *graph,
		       const struct gr_poll *poll) GR_MUST_CHECK;

/**
 * Breadth-first search from the top.
 *
 * @param is_excluded Leaves out an edge; NULL: all edges count.
 * @param parent Of nvertices elements, all GR_VERTEX_NONE; becomes what
 *	gr_graph.parent is.
 * @param order Of nvertices elements; the first @p nreached become what
 *	gr_graph.order is.
 */
struct gr_error *
gr_graph_search(const struct gr_graph *graph,
		bool (*is_excluded)(void *ctx, gr_vertex from, gr_vertex to),
		void *ctx, gr_vertex *parent, gr_vertex *order,
		gr_vertex *nreached, const struct gr_poll *poll) GR_MUST_CHECK;

/**
 * Zero an array that is then filled at random: the kernel would have to make
 * all of its pages within a few steps, that is between two polls.
 */
static inline struct gr_error *gr_array_zero(void *array, uint64_t bytes,
					     const struct gr_poll *poll)
{
	enum { PIECE_BYTES = 4 << 20 };
	struct gr_error *err = NULL;

	for (uint64_t at = 0; !err && at < bytes; at += PIECE_BYTES) {
		uint64_t rest = bytes - at;
		memset((char *)array + at, 0,
		       rest < PIECE_BYTES ? rest : PIECE_BYTES);
		err = gr_poll_ask(poll);
	}
	return err;
}

/** A bitmap on account of the graph's budget, zeroed; gr_array_free(). */
static inline uint64_t *gr_graph_bitmap(const struct gr_graph *graph)
{
	return gr_array_calloc(graph->budget,
			       gr_bitmap_words(graph->nvertices) + 1,
			       sizeof(uint64_t));
}

#endif /* GR_GRAPH_INTERNAL_H */
