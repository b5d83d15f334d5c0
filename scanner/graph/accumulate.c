// SPDX-License-Identifier: Apache-2.0
/*
 * Accumulation points as Eclipse MAT looks for them: the first vertex of the
 * heavy path whose heaviest child has much less than the vertex itself. That
 * test alone walks down a linked list to its very end, where nothing is left;
 * therefore a path that lost half of its bytes on the way is taken for a chain,
 * or, if it is short, for a drop at the step that lost most.
 */
#include "graph/accumulate.h"

#include "graph/children.h"

enum {
	/** Steps over which a chain's loss is averaged. */
	WINDOW_STEPS = 16,
	/** Fewer steps that lose half of the bytes are no chain. */
	MIN_CHAIN_STEPS = 8,
};

static gr_vertex heaviest(const struct gr_graph *g, gr_vertex v)
{
	struct gr_children children = gr_graph_children(g, v);

	return children.count ? children.vertices[0] : GR_VERTEX_NONE;
}

/* The bytes that the heaviest child does not have. */
static uint64_t loss(const struct gr_graph *g, gr_vertex v)
{
	gr_vertex child = heaviest(g, v);

	return g->retained[v] -
	       (child == GR_VERTEX_NONE ? 0 : g->retained[child]);
}

static bool has_drop(const struct gr_graph *g, gr_vertex v,
		     unsigned int percent)
{
	gr_vertex child = heaviest(g, v);

	// Bytes of a heap times a hundred fit.
	return child == GR_VERTEX_NONE ||
	       g->retained[child] * 100 < g->retained[v] * percent;
}

/* A heavy path from its start to its drop. */
struct path {
	const struct gr_graph *g;
	gr_vertex start, end;
	uint32_t length;      /* steps */
	uint32_t half_length; /* until half of the bytes are lost, or 0 */
	uint64_t half_loss;   /* bytes lost until there */
	gr_vertex steepest;   /* the step until there that lost most */
	uint32_t steepest_depth;
};

/* One step down from @p v. */
static gr_vertex step(struct path *p, gr_vertex v)
{
	const uint64_t *retained = p->g->retained;
	gr_vertex child = heaviest(p->g, v);

	if (!p->half_length && loss(p->g, v) > loss(p->g, p->steepest)) {
		p->steepest = v;
		p->steepest_depth = p->length;
	}
	p->length++;
	if (!p->half_length && retained[child] < retained[p->start] / 2) {
		p->half_length = p->length;
		p->half_loss = retained[p->start] - retained[child];
	}
	return child;
}

static struct gr_error *walk(struct path *p, unsigned int percent,
			     struct gr_ticker *ticker)
{
	struct gr_error *err = NULL;
	gr_vertex v = p->start;

	while (!err && !has_drop(p->g, v, percent)) {
		v = step(p, v);
		err = gr_tick(ticker);
	}
	p->end = v;
	return err;
}

/* Where a chain begins: the first step that loses a quarter of the average,
 * of the first steps in a row that do so together. */
static struct gr_error *find_chain(const struct path *p,
				   struct gr_ticker *ticker, gr_vertex *at,
				   uint32_t *depth)
{
	const struct gr_graph *g = p->g;
	uint64_t least = p->half_loss / p->half_length / 4;
	gr_vertex last = p->start, v = p->start;
	uint32_t steps = 0;
	struct gr_error *err = NULL;

	// The window is [v, last).
	for (; steps < WINDOW_STEPS && last != p->end; steps++)
		last = heaviest(g, last);
	*depth = 0;
	while (!err && last != p->end &&
	       g->retained[v] - g->retained[last] < least * steps) {
		v = heaviest(g, v);
		last = heaviest(g, last);
		++*depth;
		err = gr_tick(ticker);
	}
	for (; v != p->end && loss(g, v) < least; ++*depth)
		v = heaviest(g, v);
	*at = v;
	return err;
}

struct gr_error *gr_graph_accumulation(const struct gr_graph *g,
				       gr_vertex start,
				       unsigned int drop_percent,
				       const struct gr_poll *poll,
				       struct gr_accumulation *ret)
{
	struct gr_ticker ticker = { .poll = poll };
	struct path path = { .g = g, .start = start, .steepest = start };

	assert(start < g->nvertices && g->idom[start] != GR_VERTEX_NONE);
	struct gr_error *err = walk(&path, drop_percent, &ticker);
	*ret = (struct gr_accumulation){ .at = path.end, .depth = path.length };
	if (!err && path.half_length >= MIN_CHAIN_STEPS) {
		ret->kind = GR_ACCUMULATION_CHAIN;
		err = find_chain(&path, &ticker, &ret->at, &ret->depth);
		ret->vertices = path.length - ret->depth + 1;
	} else if (path.half_length) {
		ret->at = path.steepest;
		ret->depth = path.steepest_depth;
	}
	if (ret->kind == GR_ACCUMULATION_DROP)
		ret->vertices = gr_graph_children(g, ret->at).count;
	ret->retained_bytes = g->retained[ret->at];
	return err;
}
