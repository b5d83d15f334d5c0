// SPDX-License-Identifier: Apache-2.0
/*
 * Dominators by semi-NCA: Georgiadis, "Linear-time algorithms for dominators
 * and related problems" (2005); the semidominators are those of Lengauer and
 * Tarjan, "A fast algorithm for finding dominators in a flowgraph" (1979).
 *
 * u *dominates* v if every path from the top to v passes u; the last such u is
 * the *immediate dominator* of v, and the *retained size* of v is the bytes of
 * all that it dominates. The *semidominator* of v is the smallest number from
 * which a path leads to v whose inner vertices all have numbers greater than
 * v's. The immediate dominator is the nearest common ancestor (*NCA*), in the
 * tree of dominators, of v's parent and its semidominator.
 *
 * Four things are our own:
 *
 * - Only the *crossed* part is searched: the vertices with extra edges
 *   (nearest.c) and their ancestors. Everything else hangs on it as trees,
 *   where the parent dominates.
 * - A scattered heap is numbered anew first (localize.c).
 * - Labels are values of semidominators instead of vertices: one load less.
 * - The NCA is found with jump pointers (Myers, "An applicative random-access
 *   stack", 1983), in log n steps. Walking up takes n steps for each element of
 *   a list whose elements are also in a slice: heaps have such lists.
 *
 * After the search all is by number: a vertex's place in the search. The
 * immediate dominator has a smaller number.
 *
 * The arrays are charged to the budget of the graph (budget.h), and the loops
 * over vertices and edges poll (poll.h), so that Ctrl-C or a limit ends them.
 */
#include "graph/depth_first.h"
#include "graph/localize.h"

/* While semidominators are sought: the forest of those that are known. */
struct link {
	uint32_t ancestor;
	uint32_t label; /* smallest semidominator on the way to the ancestor */
};

/* While immediate dominators are sought: a vertex in the tree of them. */
struct jump {
	uint32_t to; /* an ancestor */
	uint32_t depth;
};

union record {
	struct link link;
	struct jump jump;
};

struct dominators {
	struct gr_graph *g;
	const struct gr_poll *poll;
	gr_vertex *idom;
	uint64_t *retained;
	uint64_t *retained_second; /* or NULL */
	uint64_t *members; /* a bit a vertex: it is in the crossed part */
	uint32_t count;	   /* of these */
	struct gr_depth_first tree;
	union record *records; /* by number */
};

static void dominators_deinit(struct dominators *d)
{
	gr_array_free(d->idom);
	gr_array_free(d->retained);
	gr_array_free(d->retained_second);

	gr_array_free(d->members);
	gr_array_free(d->records);
	gr_depth_first_deinit(&d->tree);
}

// ---------------------------------------------------------- the part in trees

/* Own bytes; garbage retains nothing. */
static void own_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const struct gr_objects *o = d->g->objects;
	const uint32_t *weights = d->g->weights;
	const struct gr_slot_run *run = gr_objects_run(o, start);

	for (gr_vertex v = start; v < end; v++) {
		while (run[1].first <= v)
			run++;
		bool is_reached = d->g->parent[v] != GR_VERTEX_NONE;
		uint64_t own = weights ? weights[v] : run->elem_bytes;
		d->retained[v] = is_reached ? own : 0;
	}
}

/* Children before parents: trees give their bytes to what they hang on. */
static void prune_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const struct gr_graph *g = d->g;

	for (uint32_t i = end; i-- > start;) {
		if (i >= GR_AHEAD) {
			gr_vertex ahead = g->order[i - GR_AHEAD];
			gr_prefetch(&g->parent[ahead]);
			gr_prefetch(&d->retained[ahead]);
		}
		gr_vertex v = g->order[i], parent = g->parent[v];
		if (gr_bitmap_test(d->members, v))
			gr_bitmap_set(d->members, parent);
		else
			d->retained[parent] += d->retained[v];
	}
}

/* In trees the parent dominates; members wait for their numbers. */
static void parent_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;

	for (gr_vertex v = start; v < end; v++) {
		bool is_member = gr_bitmap_test(d->members, v);
		d->count += is_member;
		d->idom[v] = is_member ? GR_VERTEX_NONE : d->g->parent[v];
	}
}

/* Each vertex retains itself. */
static struct gr_error *own_sizes(struct dominators *d)
{
	const struct gr_graph *g = d->g;

	memset(d->retained + g->nobjects, 0,
	       (uint64_t)(g->nvertices - g->nobjects) * sizeof(*d->retained));
	return gr_poll_pieces(d->poll, g->nobjects, own_piece, d);
}

static struct gr_error *prune(struct dominators *d)
{
	const struct gr_graph *g = d->g;

	memcpy(d->members, g->crossed,
	       gr_bitmap_words(g->nvertices) * sizeof(*d->members));
	gr_bitmap_set(d->members, gr_graph_top(g));
	struct gr_error *err = own_sizes(d);
	if (!err)
		err = gr_poll_pieces_back(d->poll, g->nreached, prune_piece, d);
	if (!err)
		err = gr_poll_pieces(d->poll, g->nvertices, parent_piece, d);
	return err;
}

// ---------------------------------------------------------------- the search

/* A tree over a local graph, which is to be one over the graph itself. */
struct translation {
	struct gr_depth_first *tree;
	const gr_vertex *original;
};

static void original_piece(void *ctx, uint32_t start, uint32_t end)
{
	const struct translation *t = ctx;
	gr_vertex *vertex = t->tree->vertex;

	for (uint32_t n = start; n < end; n++) {
		if (n + GR_AHEAD < t->tree->count)
			gr_prefetch(&t->original[vertex[n + GR_AHEAD]]);
		vertex[n] = t->original[vertex[n]];
	}
}

static struct gr_error *search_local(struct dominators *d)
{
	_cleanup_(gr_local_graph_deinit) struct gr_local_graph local = { 0 };
	struct gr_error *err = gr_local_graph_init(
		&local, d->g, d->members, &d->tree, d->count, d->idom, d->poll);
	const struct gr_subgraph sub = { .first = local.first,
					 .to = local.to,
					 .number = local.number };
	struct translation translation = { &d->tree, local.original };

	if (!err)
		err = gr_depth_first_run(&d->tree, &sub, d->g->budget, d->poll);
	if (!err)
		err = gr_poll_pieces(d->poll, d->count, original_piece,
				     &translation);
	return err;
}

/* Members' idom is free until their dominators are known: it takes numbers. */
static struct gr_error *search(struct dominators *d)
{
	const struct gr_subgraph sub = {
		.first = d->g->first,
		.to = d->g->to,
		.members = d->members,
		.root = gr_graph_top(d->g),
		.number = d->idom,
	};
	struct gr_error *err = gr_depth_first_init(&d->tree, d->g->budget,
						   d->count, d->g->nextra);
	if (!err)
		err = gr_graph_is_scattered(d->g) ?
			      search_local(d) :
			      gr_depth_first_run(&d->tree, &sub, d->g->budget,
						 d->poll);
	assert(err || d->tree.count == d->count);
	return err;
}

// ------------------------------------------------------------ semidominators

/*
 * The smallest semidominator on the way from u up to, and without, the first
 * ancestor that is not greater than @p bound. The path is made short.
 */
static inline uint32_t eval(union record *records, uint32_t *stack, uint32_t u,
			    uint32_t bound)
{
	size_t depth = 0;

	while (records[u].link.ancestor > bound) {
		stack[depth++] = u;
		u = records[u].link.ancestor;
	}
	struct link above = records[u].link;
	while (depth) {
		struct link *link = &records[stack[--depth]].link;
		if (link->label < above.label)
			above.label = link->label;
		*link = above;
	}
	return above.label;
}

/* The semidominator of v, whose predecessors end at *@p end, takes the place of
 * where they began. */
static inline struct gr_error *find_semi(struct dominators *d, uint32_t v,
					 uint32_t *end,
					 struct gr_ticker *ticker)
{
	const struct gr_depth_first *t = &d->tree;
	uint32_t semi = t->parent[v], start = t->head[v];
	struct gr_error *err = gr_tick(ticker);

	for (uint32_t i = *end; !err && i-- > start;) {
		if (i >= GR_AHEAD)
			gr_prefetch(&d->records[t->preds[i - GR_AHEAD]]);
		uint32_t u = t->preds[i];
		if (u > v)
			u = eval(d->records, t->cursor, u, v);
		if (u < semi)
			semi = u;
		err = gr_tick(ticker);
	}
	d->records[v].link = (struct link){ t->parent[v], semi };
	t->head[v] = semi;
	*end = start;
	return err;
}

static struct gr_error *find_semis(struct dominators *d)
{
	struct gr_ticker ticker = { .poll = d->poll };
	uint32_t end = d->tree.nedges;
	struct gr_error *err = NULL;

	for (uint32_t v = d->count; !err && v-- > 1;)
		err = find_semi(d, v, &end, &ticker);
	return err;
}

// ------------------------------------------------------ immediate dominators

/* Enter v below its dominator. Jumps are as long as the two before them where
 * these are equally long. */
static inline void add_jump(union record *records, uint32_t v, uint32_t idom)
{
	struct jump above = records[idom].jump;
	struct jump next = records[above.to].jump;
	struct jump last = records[next.to].jump;
	bool is_equal = above.depth - next.depth == next.depth - last.depth;

	records[v].jump = (struct jump){ .to = is_equal ? next.to : idom,
					 .depth = above.depth + 1 };
}

/* The immediate dominators take the places of the parents. */
static void idom_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const uint32_t *semis = d->tree.head;
	uint32_t *idom = d->tree.parent;
	union record *records = d->records;

	for (uint32_t v = start ? start : 1; v < end; v++) {
		uint32_t up = idom[v];
		while (up > semis[v]) {
			uint32_t far = records[up].jump.to;
			up = far >= semis[v] ? far : idom[up];
		}
		idom[v] = up;
		add_jump(records, v, up);
	}
}

static void retained_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const gr_vertex *vertex = d->tree.vertex;

	for (uint32_t n = end; n-- > start;) {
		if (n >= GR_AHEAD) {
			gr_prefetch(&d->idom[vertex[n - GR_AHEAD]]);
			gr_prefetch(&d->retained[vertex[n - GR_AHEAD]]);
		}
		gr_vertex v = vertex[n], idom = vertex[d->tree.parent[n]];
		d->idom[v] = idom;
		if (n)
			d->retained[idom] += d->retained[v];
	}
}

static struct gr_error *find_idoms(struct dominators *d)
{
	d->records[0].jump = (struct jump){ 0, 0 };
	struct gr_error *err = gr_poll_pieces(d->poll, d->count, idom_piece, d);
	if (!err)
		err = gr_poll_pieces_back(d->poll, d->count, retained_piece, d);
	return err;
}

static struct gr_error *run(struct dominators *d)
{
	struct gr_error *err = prune(d);

	if (!err)
		err = search(d);
	if (err)
		return err;
	d->records =
		gr_array_alloc(d->g->budget, d->count, sizeof(*d->records));
	if (!d->records)
		return gr_budget_error(d->g->budget);
	err = find_semis(d);
	return err ? err : find_idoms(d);
}

/* Children before parents: a dominator comes before what it dominates. */
static void second_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const struct gr_graph *g = d->g;
	gr_vertex second = gr_objects_second(g->objects);

	for (uint32_t i = end; i-- > start;) {
		gr_vertex v = g->order[i];

		if (v >= second && v < g->nobjects)
			d->retained_second[v] += gr_graph_own_bytes(g, v);
		if (d->idom[v] != v)
			d->retained_second[d->idom[v]] += d->retained_second[v];
	}
}

/* Sum the objects of the second sequence, if there is one. */
static struct gr_error *sum_second(struct dominators *d)
{
	const struct gr_graph *g = d->g;

	if (gr_objects_second(g->objects) == g->nobjects)
		return NULL;
	if (!d->retained_second)
		d->retained_second = gr_array_alloc(g->budget, g->nvertices, 8);
	if (!d->retained_second)
		return gr_budget_error(g->budget);
	memset(d->retained_second, 0,
	       (uint64_t)g->nvertices * sizeof(*d->retained_second));
	return gr_poll_pieces_back(d->poll, g->nreached, second_piece, d);
}

struct gr_error *gr_graph_make_dominators(struct gr_graph *g,
					  const struct gr_poll *poll)
{
	_cleanup_(dominators_deinit) struct dominators d = {
		.g = g,
		.poll = poll,
		.idom = gr_array_alloc(g->budget, g->nvertices, 4),
		.retained = gr_array_alloc(g->budget, g->nvertices, 8),
		.members = gr_graph_bitmap(g),
	};

	assert(g->parent && !g->idom);
	if (!d.idom || !d.retained || !d.members)
		return gr_budget_error(g->budget);
	struct gr_error *err = run(&d);
	if (!err)
		err = sum_second(&d);
	if (err)
		return err;
	g->retained_second = steal_ptr(d.retained_second);
	g->idom = steal_ptr(d.idom);
	g->retained = steal_ptr(d.retained);
	return NULL;
}

/* Children before parents, over all vertices. */
static void again_piece(void *ctx, uint32_t start, uint32_t end)
{
	struct dominators *d = ctx;
	const gr_vertex *order = d->g->order;

	for (uint32_t i = end; i-- > start;) {
		if (i >= GR_AHEAD) {
			gr_vertex ahead = order[i - GR_AHEAD];
			gr_prefetch(&d->idom[ahead]);
			gr_prefetch(&d->retained[ahead]);
		}
		gr_vertex v = order[i], idom = d->idom[v];
		if (idom != v)
			d->retained[idom] += d->retained[v];
	}
}

struct gr_error *gr_graph_sum_retained(struct gr_graph *g,
				       const struct gr_poll *poll)
{
	struct dominators d = {
		.g = g,
		.poll = poll,
		.idom = g->idom,
		.retained = g->retained,
		.retained_second = g->retained_second,
	};

	assert(g->parent && g->idom);
	struct gr_error *err = own_sizes(&d);
	if (!err)
		err = gr_poll_pieces_back(poll, g->nreached, again_piece, &d);
	return err ? err : sum_second(&d);
}
