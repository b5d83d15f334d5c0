// SPDX-License-Identifier: Apache-2.0
/*
 * The exact answer for a set: a mark (McCarthy, "Recursive functions of
 * symbolic expressions", 1960) from the top that does not enter the set. What
 * is reached and not marked is what the set keeps alive. Edges of garbage are
 * never looked at: a mark does not come to them.
 *
 * The mark goes breadth-first: a queue tells what will be needed, so that it
 * can be fetched ahead; a stack does not.
 *
 * Mostly a set leads to little of the heap. What it does not lead to lives on
 * without it. Where the reverse edges are there, only its *reach* is looked at:
 * a vertex of the reach lives on if an edge comes to it from a living vertex
 * outside, or from one of the reach that lives on. A reach that turns out to be
 * a large part of the heap is left to the mark.
 */
#include "graph/sets.h"

#include "graph/internal.h"

struct mark {
	const struct gr_graph *g;
	const struct gr_poll *poll;
	uint64_t *seen; /* marked, or not to be entered */
	gr_vertex *queue;
	uint32_t head, tail;
};

static inline void look_ahead(const struct mark *m)
{
	const uint32_t *first = m->g->first;

	if (m->head + 2 * GR_AHEAD < m->tail)
		gr_prefetch(&first[m->queue[m->head + 2 * GR_AHEAD]]);
	if (m->head + GR_AHEAD < m->tail)
		gr_prefetch(&m->g->to[first[m->queue[m->head + GR_AHEAD]]]);
}

static struct gr_error *expand(struct mark *m, uint32_t start, uint32_t last)
{
	struct gr_error *err = NULL;

	while (!err && start < last) {
		uint32_t end = last - start > GR_GRAPH_POLL_STEPS ?
				       start + GR_GRAPH_POLL_STEPS :
				       last;
		bool is_large = end < last;
		for (; start < end; start++)
			if (gr_bitmap_set_new(m->seen, m->g->to[start]))
				m->queue[m->tail++] = m->g->to[start];
		if (is_large)
			err = gr_poll_ask(m->poll);
	}
	return err;
}

static struct gr_error *run(struct mark *m)
{
	gr_vertex top = gr_graph_top(m->g);
	const uint32_t *first = m->g->first;
	struct gr_error *err = gr_poll_ask(m->poll);
	uint32_t steps = 0;

	if (gr_bitmap_set_new(m->seen, top))
		m->queue[m->tail++] = top;
	while (!err && m->head < m->tail) {
		look_ahead(m);
		gr_vertex v = m->queue[m->head++];
		steps += 1 + (first[v + 1] - first[v]) % GR_GRAPH_POLL_STEPS;
		err = expand(m, first[v], first[v + 1]);
		if (steps < GR_GRAPH_POLL_STEPS)
			continue;
		steps = 0;
		if (!err)
			err = gr_poll_ask(m->poll);
	}
	return err;
}

/* Mark from the top without the vertices of the set @p without: what is left if
 * they, or all pointers to them, are gone. @p marked is zeroed before. */
static struct gr_error *mark_without(const struct gr_graph *g,
				     const uint64_t *without, uint64_t *marked,
				     const struct gr_poll *poll)
{
	size_t nwords = gr_bitmap_words(g->nvertices);
	_cleanup_array_ gr_vertex *queue =
		gr_array_alloc(g->budget, g->nvertices, sizeof(*queue));
	struct mark m = { .g = g, .poll = poll, .seen = marked, .queue = queue };

	if (!queue)
		return gr_budget_error(g->budget);
	memcpy(marked, without, nwords * sizeof(*marked));
	struct gr_error *err = run(&m);
	for (size_t i = 0; i < nwords; i++)
		marked[i] &= ~without[i];
	return err;
}

struct sum {
	const struct gr_graph *g;
	const uint64_t *marked;
	uint64_t *kept; /* or NULL */
	struct gr_kept total;
};

/* Objects and all other vertices that are reached and not marked. */
static void sum_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct sum *s = ctx;
	const uint32_t *weights = s->g->weights;
	const struct gr_slot_run *run = s->g->objects->runs;

	if (start < s->g->nobjects)
		run = gr_objects_run(s->g->objects, start);
	for (gr_vertex v = start; v < end; v++) {
		if (gr_bitmap_test(s->marked, v) ||
		    !gr_graph_is_reached(s->g, v))
			continue;
		if (s->kept)
			gr_bitmap_set(s->kept, v);
		if (v >= s->g->nobjects)
			continue;
		while (run[1].first <= v)
			run++;
		s->total.objects++;
		uint64_t own = weights ? weights[v] : run->elem_bytes;
		s->total.bytes += own;
		if (v >= gr_objects_second(s->g->objects))
			s->total.second_bytes += own;
	}
}

// ----------------------------------------------------------------- the reach

/** A reach of more than one vertex in so many, and these, is large. */
enum { LARGE_PART = 8, MIN_LIMIT = 128 };

struct reach {
	const struct gr_graph *g;
	const uint64_t *set;
	uint64_t *in;	 /* a bit a vertex: in the reach */
	uint64_t *alive; /* a bit a vertex: of the reach, lives on */
	gr_vertex *queue;
	uint32_t size, limit;
	gr_vertex *living;
	uint32_t nliving;
	struct gr_ticker ticker;
};

static void reach_deinit(struct reach *r)
{
	gr_array_free(r->in);
	gr_array_free(r->alive);
	gr_array_free(r->queue);
	gr_array_free(r->living);
}

/* Enter a vertex of the reach; only what is reached can be lost. */
static void enter(struct reach *r, gr_vertex v)
{
	if (gr_graph_is_reached(r->g, v) && r->size < r->limit &&
	    gr_bitmap_set_new(r->in, v))
		r->queue[r->size++] = v;
}

/* The set and all that it leads to, until the limit. */
static struct gr_error *collect(struct reach *r)
{
	const struct gr_graph *g = r->g;
	struct gr_error *err = NULL;

	for (size_t v = 0;
	     (v = gr_bitmap_next(r->set, v, g->nvertices)) < g->nvertices &&
	     r->size < r->limit;
	     v++)
		enter(r, v);
	for (uint32_t i = 0; !err && i < r->size && r->size < r->limit; i++) {
		gr_vertex v = r->queue[i];
		for (uint32_t e = g->first[v]; !err && e < g->first[v + 1];
		     e++) {
			enter(r, g->to[e]);
			err = gr_tick(&r->ticker);
		}
	}
	return err;
}

/* Does an edge come to v from a living vertex outside of the reach? */
static bool has_outside(struct reach *r, gr_vertex v, struct gr_error **err)
{
	const struct gr_graph *g = r->g;

	for (uint32_t e = g->rfirst[v]; !*err && e < g->rfirst[v + 1]; e++) {
		gr_vertex from = g->from[e];
		if (!gr_bitmap_test(r->in, from) &&
		    gr_graph_is_reached(g, from))
			return true;
		*err = gr_tick(&r->ticker);
	}
	return false;
}

/* A vertex lives on, if it is one of the reach that can. */
static void enter_alive(struct reach *r, gr_vertex v)
{
	if (gr_bitmap_test(r->in, v) && !gr_bitmap_test(r->set, v) &&
	    gr_bitmap_set_new(r->alive, v))
		r->living[r->nliving++] = v;
}

static struct gr_error *revive(struct reach *r)
{
	const struct gr_graph *g = r->g;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->size; i++)
		if (has_outside(r, r->queue[i], &err))
			enter_alive(r, r->queue[i]);
	for (uint32_t i = 0; !err && i < r->nliving; i++) {
		gr_vertex v = r->living[i];
		for (uint32_t e = g->first[v]; !err && e < g->first[v + 1];
		     e++) {
			enter_alive(r, g->to[e]);
			err = gr_tick(&r->ticker);
		}
	}
	return err;
}

/* The dead ones of the reach. */
static void sum_reach(const struct reach *r, uint64_t *kept,
		      struct gr_kept *ret)
{
	*ret = (struct gr_kept){ 0 };
	for (uint32_t i = 0; i < r->size; i++) {
		gr_vertex v = r->queue[i];
		if (gr_bitmap_test(r->alive, v))
			continue;
		if (kept)
			gr_bitmap_set(kept, v);
		ret->objects += gr_graph_kind(r->g, v) == GR_VERTEX_OBJECT;
		struct gr_sizes own = gr_graph_own(r->g, v);
		ret->bytes += own.bytes;
		ret->second_bytes += own.second;
	}
}

/* The answer by the reach; @p is_large: there is none. */
static struct gr_error *keeps_by_reach(const struct gr_graph *g,
				       const uint64_t *set,
				       const struct gr_poll *poll,
				       uint64_t *kept, struct gr_kept *ret,
				       bool *is_large)
{
	uint32_t limit = g->nvertices / LARGE_PART + MIN_LIMIT;
	_cleanup_(reach_deinit) struct reach r = {
		.g = g,
		.set = set,
		.in = gr_graph_bitmap(g),
		.alive = gr_graph_bitmap(g),
		.queue = gr_array_alloc(g->budget, limit, sizeof(gr_vertex)),
		.living = gr_array_alloc(g->budget, limit, sizeof(gr_vertex)),
		.limit = limit,
		.ticker = { .poll = poll },
	};

	if (!r.in || !r.alive || !r.queue || !r.living)
		return gr_budget_error(g->budget);
	struct gr_error *err = collect(&r);
	*is_large = r.size == limit;
	if (err || *is_large)
		return err;
	err = revive(&r);
	if (!err)
		sum_reach(&r, kept, ret);
	return err;
}

/* The answer by a mark of everything else. */
static struct gr_error *keeps_by_mark(const struct gr_graph *g,
				      const uint64_t *set,
				      const struct gr_poll *poll,
				      uint64_t *kept, struct gr_kept *ret)
{
	_cleanup_array_ uint64_t *marked = gr_graph_bitmap(g);
	struct sum s = { .g = g, .marked = marked, .kept = kept };

	if (!marked)
		return gr_budget_error(g->budget);
	struct gr_error *err = mark_without(g, set, marked, poll);
	if (!err)
		err = gr_poll_pieces(poll, g->nvertices, sum_piece, &s);
	if (!err)
		*ret = s.total;
	return err;
}

struct gr_error *gr_graph_set_keeps(struct gr_graph *g, const uint64_t *set,
				    const struct gr_poll *poll, uint64_t *kept,
				    struct gr_kept *ret)
{
	bool is_large = true;
	struct gr_error *err = gr_graph_need(g, GR_PART_NEAREST, poll);

	if (!err && g->from)
		err = keeps_by_reach(g, set, poll, kept, ret, &is_large);
	if (!err && is_large)
		err = keeps_by_mark(g, set, poll, kept, ret);
	return err;
}

struct gr_error *gr_graph_keeps(struct gr_graph *g, const gr_vertex *vertices,
				uint32_t count, const struct gr_poll *poll,
				uint64_t *kept, struct gr_kept *ret)
{
	_cleanup_array_ uint64_t *set = gr_graph_bitmap(g);

	if (!set)
		return gr_budget_error(g->budget);
	for (uint32_t i = 0; i < count; i++) {
		assert(vertices[i] < g->nvertices);
		gr_bitmap_set(set, vertices[i]);
	}
	return gr_graph_set_keeps(g, set, poll, kept, ret);
}
