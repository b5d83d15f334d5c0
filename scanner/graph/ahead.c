// SPDX-License-Identifier: Apache-2.0
#include "graph/ahead.h"

#include "base/thread.h"
#include "graph/internal.h"

/* Only the caller's thread asks the owner of the graph whether to go on. */
static struct gr_error *go_on(void *ctx)
{
	struct gr_ahead *ahead = ctx;

	return atomic_load_explicit(&ahead->is_over, memory_order_relaxed) ?
		       gr_error_format(GR_ERROR_INTERRUPTED, "interrupted") :
		       NULL;
}

static void *make(void *arg)
{
	struct gr_ahead *ahead = arg;
	const struct gr_poll poll = { .poll = go_on, .ctx = ahead };

	ahead->err = gr_graph_make_reverse(&ahead->own, &poll);
	return NULL;
}

void gr_ahead_begin(struct gr_ahead *ahead, struct gr_graph *graph)
{
	ahead->graph = graph;
	ahead->own = *graph;
	ahead->err = NULL;
	atomic_init(&ahead->is_over, false);
	ahead->is_started = gr_thread_start(&ahead->thread, make, ahead);
}

struct gr_error *gr_ahead_end(struct gr_ahead *ahead, bool is_wanted,
			      const struct gr_poll *poll)
{
	struct gr_error *err = NULL;

	if (!ahead->is_started)
		return NULL;
	if (!is_wanted)
		atomic_store(&ahead->is_over, true);
	while (!gr_thread_join_soon(ahead->thread)) {
		if (!err)
			err = gr_poll_ask(poll);
		if (err)
			atomic_store(&ahead->is_over, true);
	}
	// Arrays that are made in spite of is_over are welcome.
	ahead->graph->rfirst = ahead->own.rfirst;
	ahead->graph->from = ahead->own.from;
	gr_error_destroy(ahead->err);
	return err;
}
