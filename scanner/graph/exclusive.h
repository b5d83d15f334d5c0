/* SPDX-License-Identifier: Apache-2.0 */
/**
 * exclusive: what each of many sets of roots keeps alive alone, in one pass for
 * all of them. gr_graph_keeps() answers for one set, by a mark of its own.
 */
#ifndef GR_GRAPH_EXCLUSIVE_H
#define GR_GRAPH_EXCLUSIVE_H

#include "graph/sets.h"

/** Roots or groups of roots, and the set of each. */
struct gr_root_sets {
	const gr_vertex *vertices;
	const uint32_t *set; /**< Below nsets. */
	uint32_t count;
	uint32_t nsets;
	/**
	 * If not NULL, a set is one of references, not of vertices: those from
	 * the holders to the vertices of the set. The holders, such as the
	 * entries of a table, have no other references that count.
	 */
	const gr_vertex *holders;
	uint32_t nholders;
};

/**
 * Find what would be garbage without each of the sets, and what would be without
 * all of them. No vertex of a set may lead to another one of any set; with
 * holders, it may, but what a holder itself takes is not counted. Takes time
 * linear in the graph. Needs no part.
 *
 * @param[out] kept Of each set.
 * @param[out] together Of all sets: the sum of @p kept, and what several sets
 *	share and nothing else leads to.
 */
struct gr_error *gr_graph_exclusive(const struct gr_graph *graph,
				    const struct gr_root_sets *sets,
				    const struct gr_poll *poll,
				    struct gr_kept *kept,
				    struct gr_kept *together) GR_MUST_CHECK;

#endif /* GR_GRAPH_EXCLUSIVE_H */
