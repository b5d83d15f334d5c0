/* SPDX-License-Identifier: Apache-2.0 */
/**
 * deferred: roots that are there because of an object. A *deferred root* holds
 * what a finalizer or a cleanup will need once its *owner* is collected; a
 * *queued root* holds what it needs now, because its owner is garbage already.
 *
 * A deferred root goes with its owner. If nothing else leads to the owner, but
 * what the root holds leads back to it, the owner is never collected: the root
 * is *stuck*.
 */
#ifndef GR_GRAPH_DEFERRED_H
#define GR_GRAPH_DEFERRED_H

#include "graph/sets.h"

struct gr_deferred_root {
	gr_vertex root;
	gr_vertex owner; /**< GR_VERTEX_NONE: garbage. */
};

/** The input. Nothing of it is kept. */
struct gr_deferred_spec {
	const struct gr_deferred_root *roots; /**< By owner; each root once. */
	uint32_t nroots;
	const gr_vertex *queued; /**< Roots that are not in @ref roots. */
	uint32_t nqueued;
	/** Objects that the program can get at though nothing leads to them. */
	const gr_vertex *weak;
	uint32_t nweak;
};

/**
 * Find what only the queued roots hold, and the deferred roots that are stuck.
 * A deferred root counts as long as its owner is reached in another way. Takes
 * time linear in the graph, but for a search in @p spec for each owner. Makes
 * GR_PART_NEAREST.
 *
 * @param[out] queued What would be garbage without the queued roots.
 * @param[out] stuck A bit a vertex, zeroed before: the stuck roots, and what
 *	they lead to if nothing else does.
 */
struct gr_error *gr_graph_deferred(struct gr_graph *graph,
				   const struct gr_deferred_spec *spec,
				   const struct gr_poll *poll,
				   struct gr_kept *queued,
				   uint64_t *stuck) GR_MUST_CHECK;

#endif /* GR_GRAPH_DEFERRED_H */
