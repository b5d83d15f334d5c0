// SPDX-License-Identifier: Apache-2.0
/*
 * Only what the deferred and the queued roots keep alive together matters here,
 * the *rest*; all other vertices are reached without them. A mark of the rest
 * goes in three steps, and each adds to the one before: from the deferred roots
 * whose owners are reached, from the queued roots, from what weak pointers lead
 * to. A deferred root is entered with its owner.
 *
 * What is left over would be collected, one owner after the other, but for
 * cycles through deferred roots: with an edge from each owner to its roots, a
 * root is stuck if it is in a cycle, or if one that is leads to it. The strongly
 * connected components are Tarjan's ("Depth-first search and linear graph
 * algorithms", 1972), with a stack of its own.
 */
#include "graph/deferred.h"

#include "graph/internal.h"

/** A mark that does not leave a set of vertices. */
struct mark {
	const struct gr_graph *g;
	const struct gr_deferred_spec *spec;
	struct gr_ticker *ticker;
	const uint64_t *within; /* a bit a vertex */
	uint64_t *marked;
	gr_vertex *queue; /* with room for all of the set */
	uint32_t head, tail;
	struct gr_kept sum; /* of the objects that are marked */
};

/* The first deferred root of an owner, or that of the next one. */
static uint32_t roots_of(const struct gr_deferred_spec *spec, gr_vertex owner)
{
	uint32_t low = 0, high = spec->nroots;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (spec->roots[middle].owner < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void enter(struct mark *m, gr_vertex v)
{
	if (!gr_bitmap_test(m->within, v) || !gr_bitmap_set_new(m->marked, v))
		return;
	struct gr_sizes own = gr_graph_own(m->g, v);
	m->queue[m->tail++] = v;
	m->sum.objects += v < m->g->nobjects;
	m->sum.bytes += own.bytes;
	m->sum.second_bytes += own.second;
}

static struct gr_error *run(struct mark *m)
{
	const struct gr_graph *g = m->g;
	const struct gr_deferred_spec *spec = m->spec;
	struct gr_error *err = NULL;

	// Bounded by the set: each vertex is entered once.
	while (!err && m->head < m->tail) {
		gr_vertex v = m->queue[m->head++];
		for (uint32_t e = g->first[v]; !err && e < g->first[v + 1];
		     e++) {
			enter(m, g->to[e]);
			err = gr_tick(m->ticker);
		}
		for (uint32_t i = roots_of(spec, v);
		     !err && i < spec->nroots && spec->roots[i].owner == v;
		     i++) {
			enter(m, spec->roots[i].root);
			err = gr_tick(m->ticker);
		}
	}
	return err;
}

static struct gr_error *mark_from(struct mark *m, const gr_vertex *vertices,
				  uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		enter(m, vertices[i]);
	return run(m);
}

/* From the deferred roots whose owners are reached without them. */
static struct gr_error *mark_live(struct mark *m)
{
	const struct gr_deferred_root *roots = m->spec->roots;

	for (uint32_t i = 0; i < m->spec->nroots; i++) {
		gr_vertex owner = roots[i].owner;
		if (owner != GR_VERTEX_NONE &&
		    gr_graph_is_reached(m->g, owner) &&
		    !gr_bitmap_test(m->within, owner))
			enter(m, roots[i].root);
	}
	return run(m);
}

// -------------------------------------------------------------------- cycles

/** A vertex whose edges are being followed. */
struct call {
	gr_vertex v;
	uint32_t edge;	/* the next one */
	uint32_t owned; /* the next of its deferred roots */
};

/** The search for cycles. Vertices of the set have dense numbers. */
struct search {
	struct mark *stuck; /* of what is left over */
	uint32_t *ranks;    /* numbers before each word of the set */
	uint32_t *order;    /* by number: 0: not seen; UINT32_MAX: done */
	uint32_t *low;
	gr_vertex *stack;
	struct call *calls;
	uint32_t nstack, ncalls, last;
};

static void search_deinit(struct search *s)
{
	gr_array_free(s->ranks);
	gr_array_free(s->order);
	gr_array_free(s->low);
	gr_array_free(s->stack);
	gr_array_free(s->calls);
}

static uint32_t number_of(const struct search *s, gr_vertex v)
{
	uint64_t before = (UINT64_C(1) << v % 64) - 1;

	return s->ranks[v / 64] +
	       gr_popcount(s->stuck->within[v / 64] & before);
}

/* Number the vertices of the set; there are @p n. */
static struct gr_error *search_init(struct search *s, uint32_t n)
{
	const struct mark *m = s->stuck;
	struct gr_budget *budget = m->g->budget;
	size_t nwords = gr_bitmap_words(m->g->nvertices);
	uint32_t count = 0;

	s->ranks = gr_array_alloc(budget, nwords + 1, sizeof(*s->ranks));
	s->order = gr_array_calloc(budget, n + 1, sizeof(*s->order));
	s->low = gr_array_alloc(budget, n + 1, sizeof(*s->low));
	s->stack = gr_array_alloc(budget, n + 1, sizeof(*s->stack));
	s->calls = gr_array_alloc(budget, n + 1, sizeof(*s->calls));
	if (!s->ranks || !s->order || !s->low || !s->stack || !s->calls)
		return gr_budget_error(budget);
	for (size_t i = 0; i < nwords; i++) {
		s->ranks[i] = count;
		count += gr_popcount(m->within[i]);
	}
	return NULL;
}

static void begin_call(struct search *s, gr_vertex v)
{
	uint32_t number = number_of(s, v);

	s->order[number] = s->low[number] = ++s->last;
	s->stack[s->nstack++] = v;
	s->calls[s->ncalls++] = (struct call){
		.v = v,
		.edge = s->stuck->g->first[v],
		.owned = roots_of(s->stuck->spec, v),
	};
}

/* The next vertex that an edge leads to, or an owner to its root. */
static bool next_target(const struct search *s, struct call *call,
			gr_vertex *ret)
{
	const struct gr_graph *g = s->stuck->g;
	const struct gr_deferred_spec *spec = s->stuck->spec;

	if (call->edge < g->first[call->v + 1]) {
		*ret = g->to[call->edge++];
		return true;
	}
	if (call->owned == spec->nroots ||
	    spec->roots[call->owned].owner != call->v)
		return false;
	*ret = spec->roots[call->owned++].root;
	return true;
}

static void lower(struct search *s, uint32_t number, uint32_t to)
{
	if (to < s->low[number])
		s->low[number] = to;
}

/* Take the component of @p v off the stack. Cycles of objects alone hold
 * nothing: they are garbage. */
static void end_component(struct search *s, gr_vertex v)
{
	gr_vertex first_root = gr_graph_first_root(s->stuck->g), of;
	uint32_t n = 0;
	bool has_root = false;

	// Bounded by the stack: v is on it.
	do {
		of = s->stack[--s->nstack];
		s->order[number_of(s, of)] = UINT32_MAX;
		has_root |= of >= first_root;
		n++;
	} while (of != v);
	if (n > 1 && has_root)
		enter(s->stuck, v);
}

static void end_call(struct search *s)
{
	gr_vertex v = s->calls[--s->ncalls].v;
	uint32_t number = number_of(s, v), low = s->low[number];

	if (low == s->order[number])
		end_component(s, v);
	if (s->ncalls)
		lower(s, number_of(s, s->calls[s->ncalls - 1].v), low);
}

/* All that @p start leads to, as far as it has not been seen. */
static struct gr_error *visit(struct search *s, gr_vertex start)
{
	struct gr_error *err = NULL;

	begin_call(s, start);
	// Bounded by the edges of the set: each vertex is called once.
	while (!err && s->ncalls) {
		struct call *call = &s->calls[s->ncalls - 1];
		gr_vertex to;
		err = gr_tick(s->stuck->ticker);
		if (!next_target(s, call, &to)) {
			end_call(s);
			continue;
		}
		if (!gr_bitmap_test(s->stuck->within, to))
			continue;
		uint32_t number = number_of(s, to);
		if (!s->order[number])
			begin_call(s, to);
		else
			lower(s, number_of(s, call->v), s->order[number]);
	}
	return err;
}

/* Only owners begin cycles with roots: begin at the roots. */
static struct gr_error *find_cycles(struct mark *stuck, uint32_t n)
{
	_cleanup_(search_deinit) struct search s = { .stuck = stuck };
	struct gr_error *err = search_init(&s, n);

	for (uint32_t i = 0; !err && i < stuck->spec->nroots; i++) {
		gr_vertex root = stuck->spec->roots[i].root;
		if (gr_bitmap_test(stuck->within, root) &&
		    !s.order[number_of(&s, root)])
			err = visit(&s, root);
	}
	return err ? err : run(stuck);
}

// ------------------------------------------------------------------- the rest

/* Find what only deferred and queued roots keep alive, a bit a vertex. */
static struct gr_error *find_rest(struct gr_graph *g,
				  const struct gr_deferred_spec *spec,
				  const struct gr_poll *poll, uint64_t *rest,
				  struct gr_kept *kept)
{
	_cleanup_array_ uint64_t *set = gr_graph_bitmap(g);

	if (!set)
		return gr_budget_error(g->budget);
	for (uint32_t i = 0; i < spec->nroots; i++)
		gr_bitmap_set(set, spec->roots[i].root);
	for (uint32_t i = 0; i < spec->nqueued; i++)
		gr_bitmap_set(set, spec->queued[i]);
	return gr_graph_set_keeps(g, set, poll, rest, kept);
}

/* Mark the rest; @p queued is what the queued roots add. */
static struct gr_error *mark_rest(struct mark *m, struct gr_kept *queued)
{
	const struct gr_deferred_spec *spec = m->spec;
	struct gr_error *err = mark_live(m);
	struct gr_kept live = m->sum;

	if (!err)
		err = mark_from(m, spec->queued, spec->nqueued);
	queued->objects = m->sum.objects - live.objects;
	queued->bytes = m->sum.bytes - live.bytes;
	queued->second_bytes = m->sum.second_bytes - live.second_bytes;
	return err ? err : mark_from(m, spec->weak, spec->nweak);
}

struct gr_error *gr_graph_deferred(struct gr_graph *g,
				   const struct gr_deferred_spec *spec,
				   const struct gr_poll *poll,
				   struct gr_kept *queued, uint64_t *stuck)
{
	_cleanup_array_ uint64_t *rest = gr_graph_bitmap(g);
	_cleanup_array_ uint64_t *marked = gr_graph_bitmap(g);
	struct gr_ticker ticker = { .poll = poll };
	struct gr_kept kept = { 0 };

	*queued = kept;
	if (!rest || !marked)
		return gr_budget_error(g->budget);
	struct gr_error *err = find_rest(g, spec, poll, rest, &kept);
	if (err || !kept.objects)
		return err;
	uint32_t n = gr_bitmap_count(rest, 0, g->nvertices);
	_cleanup_array_ gr_vertex *queue =
		gr_array_alloc(g->budget, n, sizeof(*queue));
	if (!queue)
		return gr_budget_error(g->budget);
	struct mark m = { g, spec, &ticker, rest, marked, queue, 0, 0, { 0 } };
	err = mark_rest(&m, queued);
	if (err || m.tail == n)
		return err;
	for (size_t i = 0; i < gr_bitmap_words(g->nvertices); i++)
		rest[i] &= ~marked[i];
	n -= m.tail;
	struct mark left = { g, spec, &ticker, rest, stuck, queue, 0, 0, { 0 } };
	return find_cycles(&left, n);
}
