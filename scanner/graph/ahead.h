/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ahead: the reverse edges, made by a second thread while the caller makes
 * other parts, such as nearest paths. Both need only the forward edges.
 */
#ifndef GR_GRAPH_AHEAD_H
#define GR_GRAPH_AHEAD_H

#include "graph/graph.h"

#include <pthread.h>
#include <stdatomic.h>

/** A thread that makes GR_PART_REVERSE. The graph outlives it. */
struct gr_ahead {
	struct gr_graph *graph;
	struct gr_graph own; /**< A copy for the thread: it gets the part. */
	struct gr_error *err;
	pthread_t thread;
	bool is_started;
	atomic_bool is_over; /**< The part is not wanted any more. */
};

/** Start the thread. GR_PART_REVERSE must be absent. If no thread can be
 * started, the part stays absent, as when memory is short. */
void gr_ahead_begin(struct gr_ahead *ahead, struct gr_graph *graph);

/**
 * Wait for the thread. Then the part is there, unless it is not wanted or
 * memory was short. That is no error: gr_graph_need() can make the part later.
 *
 * @param is_wanted False: the thread stops its work.
 * @param poll Asked while it waits.
 * @return What @p poll returned.
 */
struct gr_error *gr_ahead_end(struct gr_ahead *ahead, bool is_wanted,
			      const struct gr_poll *poll) GR_MUST_CHECK;

#endif /* GR_GRAPH_AHEAD_H */
