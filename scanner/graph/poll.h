/* SPDX-License-Identifier: Apache-2.0 */
/**
 * poll: how a graph's algorithms ask, every few milliseconds, whether to go on.
 * Ctrl-C, a time limit or a memory limit ends them with an error. Only the
 * thread that called the algorithm polls.
 */
#ifndef GR_GRAPH_POLL_H
#define GR_GRAPH_POLL_H

#include "base/poll.h"

/** Vertices or edges between two polls: 0.1 to 6 ms. */
enum { GR_GRAPH_POLL_STEPS = 1 << 16 };

/**
 * Call @p work for [0, count) in pieces of GR_GRAPH_POLL_STEPS, with a poll after
 * each.
 */
static inline struct gr_error *
gr_poll_pieces(const struct gr_poll *poll, uint32_t count,
	       void (*work)(void *ctx, uint32_t start, uint32_t end), void *ctx)
{
	struct gr_error *err = NULL;
	uint32_t end;

	for (uint32_t start = 0; !err && start < count; start = end) {
		end = count - start > GR_GRAPH_POLL_STEPS ?
			      start + GR_GRAPH_POLL_STEPS :
			      count;
		work(ctx, start, end);
		gr_poll_count(poll, end - start);
		err = gr_poll_ask(poll);
	}
	return err;
}

/** gr_poll_pieces() from the end on: the last piece first. */
static inline struct gr_error *
gr_poll_pieces_back(const struct gr_poll *poll, uint32_t count,
		    void (*work)(void *ctx, uint32_t start, uint32_t end),
		    void *ctx)
{
	struct gr_error *err = NULL;
	uint32_t start;

	for (uint32_t end = count; !err && end > 0; end = start) {
		start = end > GR_GRAPH_POLL_STEPS ? end - GR_GRAPH_POLL_STEPS :
						    0;
		work(ctx, start, end);
		gr_poll_count(poll, end - start);
		err = gr_poll_ask(poll);
	}
	return err;
}

/** Steps of a loop that has no regular pieces. */
struct gr_ticker {
	const struct gr_poll *poll;
	uint32_t left; /**< Steps until the next poll. */
};

/** Count one step, and poll if it is time to. */
static inline struct gr_error *gr_tick(struct gr_ticker *ticker)
{
	if (GR_LIKELY(ticker->left)) {
		ticker->left--;
		return NULL;
	}
	ticker->left = GR_GRAPH_POLL_STEPS;
	gr_poll_count(ticker->poll, GR_GRAPH_POLL_STEPS);
	return gr_poll_ask(ticker->poll);
}

#endif /* GR_GRAPH_POLL_H */
