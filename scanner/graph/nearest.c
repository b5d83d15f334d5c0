// SPDX-License-Identifier: Apache-2.0
/*
 * Nearest paths: breadth-first search (Moore, "The shortest path through a
 * maze", 1959) from the top.
 *
 * The *queue* is the result: the order of vertices by distance. A vertex enters
 * it once, by its first edge, which makes the *tree* of parents. Any other edge
 * is *extra*; its two ends are *crossed*. Where nothing is crossed, the graph
 * is that tree: dominators.c looks at the rest only.
 *
 * Roots of a later rank enter the queue when it is empty: what they alone reach
 * comes behind everything else.
 *
 * Two edges from one vertex to another count as one, and one from a vertex to
 * itself as none.
 */
#include "graph/internal.h"

struct search {
	const struct gr_graph *g;
	gr_vertex *parent;
	gr_vertex *order;
	uint64_t *crossed; /* or NULL */
	uint32_t nextra;
	uint32_t head, tail; /* of the queue */
	uint8_t rank;	     /* of the roots that enter it */
	bool (*is_excluded)(void *ctx, gr_vertex from, gr_vertex to);
	void *ctx;
};

/* An extra edge from u to v. One more from the parent crosses nothing, but it is
 * extra to a search that has other parents. */
static inline void cross(uint64_t *crossed, gr_vertex parent, gr_vertex u,
			 gr_vertex v)
{
	if (parent == u)
		return;
	gr_bitmap_set(crossed, u);
	gr_bitmap_set(crossed, v);
}

static inline void meet(struct search *s, gr_vertex u, gr_vertex v)
{
	if (s->parent[v] == GR_VERTEX_NONE) {
		s->parent[v] = u;
		s->order[s->tail++] = v;
	} else if (s->crossed && v != u) {
		s->nextra++;
		cross(s->crossed, s->parent[v], u, v);
	}
}

/* The edges [start, end) of u. */
static inline void expand(struct search *s, gr_vertex u, uint32_t start,
			  uint32_t end)
{
	const gr_vertex *to = s->g->to;

	for (uint32_t e = start; e < end; e++)
		if (!s->is_excluded || !s->is_excluded(s->ctx, u, to[e]))
			meet(s, u, to[e]);
}

/* The edges of a group: its groups, and its roots of the present rank. */
static void expand_group(struct search *s, gr_vertex u, uint32_t start,
			 uint32_t end)
{
	const struct gr_graph *g = s->g;
	gr_vertex first_group = gr_graph_first_group(g);

	for (uint32_t e = start; e < end; e++) {
		gr_vertex v = g->to[e];
		if (v >= first_group ? !s->rank :
				       gr_graph_rank(g, v) == s->rank)
			expand(s, u, e, e + 1);
	}
}

/* Fetch, in three steps, what the vertices next in the queue will want; of many
 * edges the first and the last. A loop over all of them costs more than it
 * saves, because the processor cannot guess where it ends. */
static inline void look_ahead(const struct gr_graph *g, const gr_vertex *parent,
			      const gr_vertex *order, uint32_t i, uint32_t tail)
{
	const uint32_t *first = g->first;
	const gr_vertex *to = g->to;

	if (i + 3 * GR_AHEAD >= tail)
		return;
	gr_prefetch(&first[order[i + 3 * GR_AHEAD]]);
	gr_prefetch(&to[first[order[i + 2 * GR_AHEAD]]]);
	gr_vertex u = order[i + GR_AHEAD];
	uint32_t start = first[u], end = first[u + 1];
	if (start == end)
		return;
	gr_prefetch(&parent[to[start]]);
	gr_prefetch(&parent[to[end - 1]]);
}

/* Has it so many edges that it takes polls of its own, or is it a group? */
static inline bool is_slow(gr_vertex u, gr_vertex first_group, uint32_t nedges)
{
	return GR_UNLIKELY(nedges > GR_GRAPH_POLL_STEPS || u >= first_group);
}

/* A vertex that is_slow(). */
static struct gr_error *expand_slowly(struct search *s, gr_vertex u,
				      const struct gr_poll *poll)
{
	uint32_t start = s->g->first[u], last = s->g->first[u + 1];
	struct gr_error *err = NULL;

	while (!err && start < last) {
		uint32_t end = last - start > GR_GRAPH_POLL_STEPS ?
				       start + GR_GRAPH_POLL_STEPS :
				       last;
		if (u >= gr_graph_first_group(s->g))
			expand_group(s, u, start, end);
		else
			expand(s, u, start, end);
		start = end;
		if (start < last)
			err = gr_poll_ask(poll);
	}
	return err;
}

/*
 * Do what expand_some() does, for a search that has no filter, until a vertex
 * comes that needs expand_slowly(). The compiler knows here that the arrays do
 * not overlap, which saves a tenth.
 *
 * @return The edges and vertices that were met.
 */
static uint32_t expand_plainly(struct search *s)
{
	const uint32_t *restrict first = s->g->first;
	const gr_vertex *restrict to = s->g->to;
	gr_vertex *restrict parent = s->parent;
	gr_vertex *restrict order = s->order;
	uint64_t *restrict crossed = s->crossed;
	gr_vertex first_group = gr_graph_first_group(s->g);
	uint32_t head = s->head, tail = s->tail, nextra = 0, steps = 0;

	for (; head < tail && steps < GR_GRAPH_POLL_STEPS; head++) {
		gr_vertex u = order[head];
		uint32_t start = first[u], end = first[u + 1];
		if (is_slow(u, first_group, end - start))
			break;
		look_ahead(s->g, parent, order, head, tail);
		steps += 1 + end - start;
		for (uint32_t e = start; e < end; e++) {
			gr_vertex v = to[e];
			if (parent[v] == GR_VERTEX_NONE) {
				parent[v] = u;
				order[tail++] = v;
			} else if (v != u) {
				nextra++;
				cross(crossed, parent[v], u, v);
			}
		}
	}
	s->head = head;
	s->tail = tail;
	s->nextra += nextra;
	return steps;
}

/* Vertices of the queue until about GR_GRAPH_POLL_STEPS edges were met. */
static struct gr_error *expand_some(struct search *s,
				    const struct gr_poll *poll)
{
	const uint32_t *first = s->g->first;
	gr_vertex first_group = gr_graph_first_group(s->g);
	struct gr_error *err = NULL;
	uint32_t steps = 0;

	if (!s->is_excluded && s->crossed)
		steps = expand_plainly(s);
	while (!err && s->head < s->tail && steps < GR_GRAPH_POLL_STEPS) {
		look_ahead(s->g, s->parent, s->order, s->head, s->tail);
		gr_vertex u = s->order[s->head++];
		uint32_t nedges = first[u + 1] - first[u];
		steps += 1 + nedges;
		if (is_slow(u, first_group, nedges))
			err = expand_slowly(s, u, poll);
		else
			expand(s, u, first[u], first[u + 1]);
	}
	return err;
}

/* Search on until the queue is empty. */
static struct gr_error *drain(struct search *s, const struct gr_poll *poll)
{
	struct gr_error *err = NULL;

	while (!err && s->head < s->tail) {
		uint32_t first = s->head;

		err = expand_some(s, poll);
		gr_poll_count(poll, s->head - first);
		if (!err)
			err = gr_poll_ask(poll);
	}
	return err;
}

/* Enter the roots of the present rank. */
static struct gr_error *enter_roots(struct search *s,
				    const struct gr_poll *poll)
{
	struct gr_ticker ticker = { .poll = poll };
	struct gr_error *err = NULL;

	for (gr_vertex u = gr_graph_first_group(s->g);
	     !err && u < s->g->nvertices; u++) {
		if (s->parent[u] != GR_VERTEX_NONE)
			err = expand_slowly(s, u, poll);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

static struct gr_error *run(struct search *s, const struct gr_poll *poll)
{
	gr_vertex top = gr_graph_top(s->g);
	struct gr_error *err = gr_poll_ask(poll);

	s->parent[top] = top;
	s->order[s->tail++] = top;
	if (!err)
		err = drain(s, poll);
	while (!err && s->g->ranks && ++s->rank < GR_RANKS) {
		err = enter_roots(s, poll);
		if (!err)
			err = drain(s, poll);
	}
	return err;
}

struct gr_error *
gr_graph_search(const struct gr_graph *g,
		bool (*is_excluded)(void *ctx, gr_vertex from, gr_vertex to),
		void *ctx, gr_vertex *parent, gr_vertex *order,
		gr_vertex *nreached, const struct gr_poll *poll)
{
	struct search s = { .g = g,
			    .parent = parent,
			    .order = order,
			    .is_excluded = is_excluded,
			    .ctx = ctx };
	struct gr_error *err = run(&s, poll);

	*nreached = s.tail;
	return err;
}

struct gr_error *gr_graph_make_nearest(struct gr_graph *g,
				       const struct gr_poll *poll)
{
	uint64_t n = g->nvertices;
	_cleanup_array_ gr_vertex *parent =
		gr_array_alloc(g->budget, n, sizeof(*parent));
	_cleanup_array_ gr_vertex *order =
		gr_array_alloc(g->budget, n, sizeof(*order));
	_cleanup_array_ uint64_t *crossed = gr_graph_bitmap(g);

	assert(!g->parent);
	if (!parent || !order || !crossed)
		return gr_budget_error(g->budget);
	memset(parent, 0xff, n * sizeof(*parent));
	struct search s = {
		.g = g, .parent = parent, .order = order, .crossed = crossed
	};
	struct gr_error *err = run(&s, poll);
	if (err)
		return err;
	g->parent = steal_ptr(parent);
	g->order = steal_ptr(order);
	g->crossed = steal_ptr(crossed);
	g->nreached = s.tail;
	g->nextra = s.nextra;
	return NULL;
}
