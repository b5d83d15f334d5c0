// SPDX-License-Identifier: Apache-2.0
/*
 * The collector marks, looks at all candidates, and marks again, until a round
 * finds no candidate (runtime/mgc.go: findGoroutineLeaks). A chain of n
 * goroutines, each of which waits for the next one, takes n rounds that way.
 * Here the vertices that are awaited lead to their candidates, so that a
 * candidate comes alive in the step that marks the first of them: each edge and
 * each candidate is looked at once.
 */
#include "graph/liveness.h"

#include "base/sort.h"
#include "graph/internal.h"

/** An awaited vertex and one of its candidates. */
struct waiter {
	gr_vertex awaited;
	uint32_t candidate;
};

struct liveness {
	const struct gr_graph *g;
	const struct gr_liveness_spec *spec;
	struct waiter *waiters; /* sorted by awaited */
	uint32_t nwaiters;
	struct gr_hidden_edge *hidden;		/* sorted */
	uint64_t *is_awaited, *hides, *is_held; /* bits of vertices */
	uint64_t *seen; /* marked, or not to be entered */
	uint64_t *alive;
	gr_vertex *queue;
	uint32_t head, tail;
	struct gr_ticker ticker;
};

static void liveness_deinit(struct liveness *l)
{
	gr_array_free(l->waiters);
	gr_array_free(l->hidden);
	gr_array_free(l->is_awaited);
	gr_array_free(l->hides);
	gr_array_free(l->is_held);
	gr_array_free(l->seen);
	gr_array_free(l->queue);
}

static struct gr_error *liveness_init(struct liveness *l)
{
	struct gr_budget *budget = l->g->budget;
	const struct gr_liveness_spec *spec = l->spec;

	l->nwaiters = spec->first_awaited[spec->ncandidates];
	l->waiters = gr_array_alloc(budget, (uint64_t)l->nwaiters + 1,
				    sizeof(*l->waiters));
	l->hidden = gr_array_alloc(budget, (uint64_t)spec->nhidden + 1,
				   sizeof(*l->hidden));
	l->is_awaited = gr_graph_bitmap(l->g);
	l->hides = gr_graph_bitmap(l->g);
	l->is_held = gr_graph_bitmap(l->g);
	l->seen = gr_graph_bitmap(l->g);
	l->queue = gr_array_alloc(budget, l->g->nvertices, sizeof(*l->queue));
	if (!l->waiters || !l->hidden || !l->is_awaited || !l->hides ||
	    !l->is_held || !l->seen || !l->queue)
		return gr_budget_error(budget);
	return NULL;
}

static int compare_waiters(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	return (x->awaited > y->awaited) - (x->awaited < y->awaited);
}

static int compare_hidden(const void *a, const void *b)
{
	const struct gr_hidden_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Turn the lists of what candidates await into lists of who awaits. */
static struct gr_error *index_waiters(struct liveness *l,
				      const struct gr_poll *poll)
{
	const struct gr_liveness_spec *spec = l->spec;
	struct gr_error *err = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; !err && i < spec->ncandidates; i++) {
		for (; n < spec->first_awaited[i + 1]; n++) {
			gr_vertex v = spec->awaited[n];
			assert(v < l->g->nvertices);
			l->waiters[n] = (struct waiter){ v, i };
			gr_bitmap_set(l->is_awaited, v);
		}
		err = gr_tick(&l->ticker);
	}
	if (err)
		return err;
	return gr_sort(l->waiters, n, sizeof(*l->waiters), compare_waiters,
		       poll->poll, poll->ctx);
}

static struct gr_error *index_hidden(struct liveness *l,
				     const struct gr_poll *poll)
{
	uint32_t n = l->spec->nhidden;

	for (uint32_t i = 0; i < n; i++) {
		l->hidden[i] = l->spec->hidden[i];
		gr_bitmap_set(l->hides, l->hidden[i].from);
	}
	return gr_sort(l->hidden, n, sizeof(*l->hidden), compare_hidden,
		       poll->poll, poll->ctx);
}

static void index_held(struct liveness *l)
{
	const struct gr_liveness_spec *spec = l->spec;

	for (uint32_t i = 0; i < spec->first_held[spec->ncandidates]; i++)
		gr_bitmap_set(l->is_held, spec->held[i]);
}

static bool is_hidden(const struct liveness *l, gr_vertex from, gr_vertex to)
{
	const struct gr_hidden_edge edge = { from, to };

	return bsearch(&edge, l->hidden, l->spec->nhidden, sizeof(edge),
		       compare_hidden);
}

static inline void enter(struct liveness *l, gr_vertex v)
{
	if (gr_bitmap_set_new(l->seen, v))
		l->queue[l->tail++] = v;
}

/* Enter what a candidate holds and what it awaits. */
static struct gr_error *revive(struct liveness *l, uint32_t candidate)
{
	const struct gr_liveness_spec *spec = l->spec;
	struct gr_error *err = NULL;

	if (!gr_bitmap_set_new(l->alive, candidate))
		return NULL;
	for (uint32_t i = spec->first_held[candidate];
	     !err && i < spec->first_held[candidate + 1]; i++) {
		enter(l, spec->held[i]);
		err = gr_tick(&l->ticker);
	}
	for (uint32_t i = spec->first_awaited[candidate];
	     !err && i < spec->first_awaited[candidate + 1]; i++) {
		enter(l, spec->awaited[i]);
		err = gr_tick(&l->ticker);
	}
	return err;
}

/* An awaited vertex is marked. */
static struct gr_error *revive_waiters(struct liveness *l, gr_vertex v)
{
	struct gr_error *err = NULL;
	uint32_t i =
		gr_count_before(l->nwaiters, at, l->waiters[at].awaited < v);

	for (; !err && i < l->nwaiters && l->waiters[i].awaited == v; i++) {
		err = revive(l, l->waiters[i].candidate);
		if (!err)
			err = gr_tick(&l->ticker);
	}
	return err;
}

/* Follow the edges of a marked vertex. */
static struct gr_error *expand(struct liveness *l, gr_vertex v)
{
	const struct gr_graph *g = l->g;
	bool hides = gr_bitmap_test(l->hides, v);
	struct gr_error *err = NULL;

	for (uint32_t e = g->first[v]; !err && e < g->first[v + 1]; e++) {
		gr_vertex to = g->to[e];
		if (!gr_bitmap_test(l->is_held, to) &&
		    !(hides && is_hidden(l, v, to)))
			enter(l, to);
		err = gr_tick(&l->ticker);
	}
	return err;
}

static inline void look_ahead(const struct liveness *l)
{
	const uint32_t *first = l->g->first;

	if (l->head + 2 * GR_AHEAD < l->tail)
		gr_prefetch(&first[l->queue[l->head + 2 * GR_AHEAD]]);
	if (l->head + GR_AHEAD < l->tail)
		gr_prefetch(&l->g->to[first[l->queue[l->head + GR_AHEAD]]]);
}

static struct gr_error *run(struct liveness *l)
{
	struct gr_error *err = NULL;

	enter(l, gr_graph_top(l->g));
	while (!err && l->head < l->tail) {
		look_ahead(l);
		gr_vertex v = l->queue[l->head++];
		err = expand(l, v);
		if (!err && gr_bitmap_test(l->is_awaited, v))
			err = revive_waiters(l, v);
		if (!err)
			err = gr_tick(&l->ticker);
	}
	return err;
}

static void begin(struct liveness *l)
{
	size_t nwords = gr_bitmap_words(l->g->nvertices);

	if (l->spec->without)
		memcpy(l->seen, l->spec->without, nwords * sizeof(*l->seen));
}

/* The marked vertices are those that the queue has had. */
static void copy_marked(const struct liveness *l, uint64_t *marked)
{
	size_t nwords = gr_bitmap_words(l->g->nvertices);
	const uint64_t *without = l->spec->without;

	for (size_t i = 0; i < nwords; i++)
		marked[i] = l->seen[i] & ~(without ? without[i] : 0);
}

struct gr_error *gr_graph_liveness(const struct gr_graph *g,
				   const struct gr_liveness_spec *spec,
				   const struct gr_poll *poll, uint64_t *alive,
				   uint64_t *marked)
{
	const struct gr_poll none = { 0 };
	_cleanup_(liveness_deinit) struct liveness l = {
		.g = g,
		.spec = spec,
		.alive = alive,
		.ticker = { .poll = poll },
	};
	struct gr_error *err = liveness_init(&l);

	if (!err)
		err = index_waiters(&l, poll ?: &none);
	if (!err)
		err = index_hidden(&l, poll ?: &none);
	if (err)
		return err;
	index_held(&l);
	begin(&l);
	err = run(&l);
	if (!err && marked)
		copy_marked(&l, marked);
	return err;
}
