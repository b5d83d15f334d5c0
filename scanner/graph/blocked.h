/* SPDX-License-Identifier: Apache-2.0 */
/**
 * blocked: who waits for whom, and who therefore waits forever.
 *
 * A vertex *goes on* if it waits for nothing, or if what it waits for goes on.
 * Edges lead from a vertex to those that it waits for. All others wait forever,
 * and each cycle among these is a deadlock.
 */
#ifndef GR_GRAPH_BLOCKED_H
#define GR_GRAPH_BLOCKED_H

#include "base/base.h"
#include "graph/poll.h"

/** When a vertex goes on. */
enum gr_need {
	GR_NEED_NOTHING, /**< Always. Its edges do not count. */
	GR_NEED_ALL,	 /**< If all do that its edges lead to. */
	GR_NEED_ANY,	 /**< If one does; without edges, never. */
};

/**
 * The edges of vertex v are to[first[v]] to to[first[v + 1] - 1].
 *
 * Invariant: first has nvertices + 1 elements and does not decrease; elements of
 * to are below nvertices.
 */
struct gr_blocked {
	uint32_t nvertices;
	const uint32_t *first;
	const uint32_t *to;
	const uint8_t *need; /**< enum gr_need, by vertex. */
};

/**
 * Find the vertices that wait forever. Linear in vertices and edges.
 *
 * @param[out] is_stuck By vertex: 1 or 0; nvertices elements.
 */
struct gr_error *gr_blocked_forever(const struct gr_blocked *b,
				    const struct gr_poll *poll,
				    uint8_t *is_stuck) GR_MUST_CHECK;

/**
 * Find the cycles among the vertices that wait forever: the strongly connected
 * components with an edge inside. Linear in vertices and edges.
 *
 * @param is_stuck As gr_blocked_forever() has made it.
 * @param[out] cycle By vertex: the number of its cycle, or UINT32_MAX;
 *	nvertices elements.
 * @param[out] count Cycles are numbered below it.
 */
struct gr_error *gr_blocked_cycles(const struct gr_blocked *b,
				   const uint8_t *is_stuck,
				   const struct gr_poll *poll, uint32_t *cycle,
				   uint32_t *count) GR_MUST_CHECK;

#endif /* GR_GRAPH_BLOCKED_H */
