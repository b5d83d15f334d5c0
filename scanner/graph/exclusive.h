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
};

/**
 * Find what would be garbage without each of the sets, and what would be without
 * all of them. No vertex of a set may lead to another one of any set. Takes time
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
