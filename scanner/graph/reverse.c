// SPDX-License-Identifier: Apache-2.0
/*
 * Reverse edges: a counting sort of the forward edges by their targets (Seward,
 * 1954). It is stable, so that each vertex's referrers rise.
 *
 * Cursors are kept in rfirst itself, one place behind their own: when a vertex
 * has all its edges, its cursor is where those of the next one begin.
 */
#include "graph/internal.h"

struct reversal {
	const uint32_t *first;
	const gr_vertex *to;
	uint32_t nedges;
	gr_vertex source; /* of the edge that is next */
	uint32_t *cursor; /* of vertex v: cursor[v + 1] */
	gr_vertex *from;
};

static void count_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct reversal *r = ctx;

	for (uint32_t e = start; e < end; e++) {
		if (e + 2 * GR_AHEAD < r->nedges)
			gr_prefetch(&r->cursor[r->to[e + 2 * GR_AHEAD] + 2]);
		r->cursor[r->to[e] + 2]++;
	}
}

static void sum_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct reversal *r = ctx;

	for (gr_vertex v = start; v < end; v++)
		r->cursor[v + 1] += r->cursor[v];
}

static inline void fill_edge(struct reversal *r, uint32_t e)
{
	if (e + 2 * GR_AHEAD < r->nedges) {
		gr_prefetch(&r->cursor[r->to[e + 2 * GR_AHEAD] + 1]);
		uint32_t place = r->cursor[r->to[e + GR_AHEAD] + 1];
		gr_prefetch(&r->from[place]);
	}
	r->from[r->cursor[r->to[e] + 1]++] = r->source;
}

static void fill_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct reversal *r = ctx;

	while (start < end) {
		while (r->first[r->source + 1] <= start)
			r->source++;
		uint32_t stop = r->first[r->source + 1];
		if (stop > end)
			stop = end;
		for (; start < stop; start++)
			fill_edge(r, start);
	}
}

struct gr_error *gr_graph_make_reverse(struct gr_graph *g,
				       const struct gr_poll *poll)
{
	uint32_t nedges = g->first[g->nvertices];
	// One more than rfirst has: the counts begin two places behind.
	uint64_t ncursors = (uint64_t)g->nvertices + 2;
	_cleanup_array_ uint32_t *rfirst =
		gr_array_alloc(g->budget, ncursors, sizeof(*rfirst));
	_cleanup_array_ gr_vertex *from =
		gr_array_alloc(g->budget, nedges, sizeof(*from));
	struct reversal r = { .first = g->first,
			      .to = g->to,
			      .nedges = nedges,
			      .cursor = rfirst,
			      .from = from };

	assert(!g->from);
	if (!rfirst || !from)
		return gr_budget_error(g->budget);
	struct gr_error *err =
		gr_array_zero(rfirst, ncursors * sizeof(*rfirst), poll);
	if (!err)
		err = gr_array_zero(from, nedges * sizeof(*from), poll);
	if (!err)
		err = gr_poll_pieces(poll, nedges, count_piece, &r);
	if (!err)
		err = gr_poll_pieces(poll, g->nvertices, sum_piece, &r);
	if (!err)
		err = gr_poll_pieces(poll, nedges, fill_piece, &r);
	if (err)
		return err;
	assert(rfirst[0] == 0 && rfirst[g->nvertices] == nedges);
	g->rfirst = steal_ptr(rfirst);
	g->from = steal_ptr(from);
	return NULL;
}
