/* SPDX-License-Identifier: Apache-2.0 */
/**
 * edges: parts of the forward edges, each made by one thread in one sweep.
 *
 * A part has the sources [start, end). Its thread goes over them in rising
 * order and appends the targets of each; sources may be left out. Parts that
 * join give one graph (graph.h): the answer does not depend on how many.
 *
 *	gr_edges_init(&part, budget, start, end, ntargets, expected);
 *	for each source:
 *		gr_edges_begin(&part, source);
 *		for each of its pointers:
 *			gr_edges_add(&part, target);
 *
 * Memory that runs out shows when the graph is made.
 */
#ifndef GR_GRAPH_EDGES_H
#define GR_GRAPH_EDGES_H

#include "graph/objects.h"

#include <assert.h>

/**
 * Invariant: the targets of source start + i are to[first[i] .. first[i + 1]),
 * for all sources before @ref next; of the last one begun they end at size.
 */
struct gr_edges {
	struct gr_budget *budget;
	gr_vertex start, end;
	gr_vertex next;	    /**< Source behind the last one that was begun. */
	gr_vertex ntargets; /**< Targets are smaller: objects. */
	uint32_t *first;    /**< end - start + 1 elements. */
	gr_vertex *to;
	uint64_t size, capacity;
	bool is_failed;	  /**< Memory ran out. */
	bool is_too_many; /**< There are 2^32 - 1 edges or more. */
};

/**
 * Begin a part with the sources [start, end).
 *
 * @param ntargets Targets are smaller than this: the number of objects.
 * @param expected Edges that are likely; 0 if nothing is known.
 */
struct gr_error *gr_edges_init(struct gr_edges *edges, struct gr_budget *budget,
			       gr_vertex start, gr_vertex end,
			       gr_vertex nvertices,
			       uint64_t expected) GR_MUST_CHECK;

/** Free what is left; a zeroed struct is fine. */
void gr_edges_deinit(struct gr_edges *edges);

/** Make room for one more edge. @return false if there is none. */
bool gr_edges_grow(struct gr_edges *edges);

/** The edges that follow come from @p source. Sources rise. */
static inline void gr_edges_begin(struct gr_edges *edges, gr_vertex source)
{
	assert(source >= edges->next && source < edges->end);
	for (; edges->next <= source; edges->next++)
		edges->first[edges->next - edges->start] = edges->size;
}

/** An edge from the source that was begun last. Duplicates are edges, too. */
static inline void gr_edges_add(struct gr_edges *edges, gr_vertex target)
{
	assert(target < edges->ntargets);
	if (GR_UNLIKELY(edges->size >= edges->capacity) &&
	    !gr_edges_grow(edges))
		return;
	edges->to[edges->size++] = target;
}

/**
 * Join parts, whose ranges follow each other from vertex 0 on, and take over
 * their memory: after that they are empty, in any case.
 *
 * @param extra_edges Room that is left behind the edges in @p to.
 * @param[out] first Edges before each vertex, of @p nvertices + 1 elements.
 *	Sources behind the last part have none.
 * @param[out] to Targets. Both from gr_array_alloc().
 * @return GR_ERROR_LIMIT if there are 2^32 - 1 edges or more.
 */
struct gr_error *gr_edges_join(struct gr_edges *parts, size_t nparts,
			       gr_vertex nvertices, uint64_t extra_edges,
			       uint32_t **first, gr_vertex **to) GR_MUST_CHECK;

#endif /* GR_GRAPH_EDGES_H */
