/* SPDX-License-Identifier: Apache-2.0 */
/**
 * liveness: a mark in which some holders count only when what they await is
 * marked, as the collector of Go decides which goroutines have leaked.
 *
 * A *candidate* holds vertices, such as the words of a blocked goroutine's
 * stack, and awaits vertices, such as a channel. The mark does not enter what a
 * candidate holds before the candidate is *alive*: before one of the vertices
 * that it awaits is marked. Candidates that are still not alive when nothing is
 * left to mark wait for each other, or for what nobody has.
 */
#ifndef GR_GRAPH_LIVENESS_H
#define GR_GRAPH_LIVENESS_H

#include "graph/graph.h"

/** Edges that the mark does not follow: all from one vertex to another. */
struct gr_hidden_edge {
	gr_vertex from, to;
};

/** The input of a mark of candidates. Nothing of it is kept. */
struct gr_liveness_spec {
	/** A bit a vertex: not entered in any case. NULL: none. */
	const uint64_t *without;
	uint32_t ncandidates;
	/** Candidate i holds held[first_held[i] .. first_held[i + 1]). A vertex
	 * with several holders is entered once one of them is alive. */
	const uint32_t *first_held;
	const gr_vertex *held;
	/** It awaits awaited[first_awaited[i] .. first_awaited[i + 1]). One
	 * that awaits nothing never comes alive. */
	const uint32_t *first_awaited;
	const gr_vertex *awaited;
	/** In any order. What a candidate awaits is entered with what it holds,
	 * be an edge to it hidden or not. */
	const struct gr_hidden_edge *hidden;
	uint32_t nhidden;
};

/**
 * Mark from the top, and find the candidates that are alive. Takes time linear
 * in the graph and the lists, but for the sorting of what is awaited or hidden.
 * Needs no part of the graph.
 *
 * @param[out] alive A bit a candidate, zeroed before.
 * @param[out] marked A bit a vertex, zeroed before; or NULL.
 */
struct gr_error *gr_graph_liveness(const struct gr_graph *graph,
				   const struct gr_liveness_spec *spec,
				   const struct gr_poll *poll, uint64_t *alive,
				   uint64_t *marked) GR_MUST_CHECK;

#endif /* GR_GRAPH_LIVENESS_H */
