/* SPDX-License-Identifier: Apache-2.0 */
/**
 * sets: what several vertices keep alive together, exactly. For one vertex
 * gr_graph.retained has it already; for several the sum of these is wrong in
 * both directions.
 */
#ifndef GR_GRAPH_SETS_H
#define GR_GRAPH_SETS_H

#include "graph/graph.h"

/** The objects that a set keeps alive: garbage without it. */
struct gr_kept {
	uint32_t objects;
	uint64_t bytes;
	/** The part of them in objects of the second sequence of runs. */
	uint64_t second_bytes;
};

/**
 * Count what the vertices whose bit is set in @p set keep alive together,
 * themselves included. Vertices that are garbage keep nothing. Makes
 * GR_PART_NEAREST; faster if GR_PART_REVERSE is there.
 *
 * @param[out] kept Which ones these are, a bit a vertex, zeroed before; or
 *	NULL.
 */
struct gr_error *gr_graph_set_keeps(struct gr_graph *graph, const uint64_t *set,
				    const struct gr_poll *poll, uint64_t *kept,
				    struct gr_kept *ret) GR_MUST_CHECK;

/** gr_graph_set_keeps() of a list; the same vertex may be in it twice. */
struct gr_error *gr_graph_keeps(struct gr_graph *graph,
				const gr_vertex *vertices, uint32_t count,
				const struct gr_poll *poll, uint64_t *kept,
				struct gr_kept *ret) GR_MUST_CHECK;

#endif /* GR_GRAPH_SETS_H */
