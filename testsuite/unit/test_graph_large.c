// SPDX-License-Identifier: Apache-2.0
/* graph: shapes that break stacks and quadratic algorithms, with answers that
 * arithmetic gives. 250,000 objects each: more frames than a stack has. */
#include "graph/children.h"
#include "graph/paths.h"
#include "graph/sets.h"

#include "graph_builder.h"

#include <sys/resource.h>

enum { N = 250000, BYTES = 16 };

/* Both ways through the dominators. */
static bool is_scattered;
bool __wrap_gr_graph_is_scattered(const struct gr_graph *graph);
bool __wrap_gr_graph_is_scattered(const struct gr_graph *graph)
{
	(void)graph;
	return is_scattered;
}

/** The target number @p i of @p v, or GR_VERTEX_NONE behind the last one. */
typedef gr_vertex (*shape_fn)(gr_vertex v, uint32_t i);

struct large {
	struct gr_budget budget;
	struct gr_graph *graph;
};

/* One root, which leads to object 0. */
static void large_init(struct large *l, shape_fn shape)
{
	const gr_vertex top = N + 1;
	struct gr_edges edges;
	gr_vertex target;

	memset(l, 0, sizeof(*l));
	assert_null(gr_edges_init(&edges, &l->budget, 0, N + 1, N, 0));
	for (gr_vertex v = 0; v < N; v++) {
		gr_edges_begin(&edges, v);
		for (uint32_t i = 0; (target = shape(v, i)) != GR_VERTEX_NONE;
		     i++)
			gr_edges_add(&edges, target);
	}
	gr_edges_begin(&edges, N);
	gr_edges_add(&edges, 0);
	const struct gr_graph_spec spec = {
		.budget = &l->budget,
		.objects = build_equal_objects(&l->budget, N, BYTES),
		.parts = &edges,
		.nparts = 1,
		.nroots = 1,
		.holders = &top,
	};
	assert_null(gr_graph_create(&spec, &l->graph));
	assert_null(gr_graph_need(l->graph, GR_PART_ALL, NULL));
	assert_int_equal(l->graph->retained[top], (uint64_t)N * BYTES);
}

static void large_deinit(struct large *l)
{
	gr_graph_destroy(l->graph);
	assert_int_equal(l->budget.held_bytes, 0);
}

/* The dominators' sums hold, and every path leads over the parent's. */
static void check_sums(const struct gr_graph *g)
{
	uint64_t *sums = calloc(g->nvertices, sizeof(*sums));

	assert_non_null(sums);
	for (uint32_t i = g->nreached; i-- > 0;) {
		gr_vertex v = g->order[i];
		sums[v] += gr_graph_own_bytes(g, v);
		assert_int_equal(sums[v], g->retained[v]);
		if (i)
			sums[g->idom[v]] += sums[v];
	}
	free(sums);
}

struct shape_case {
	const char *name;
	shape_fn shape;
	gr_vertex (*idom)(gr_vertex v); /* of object v, not 0 */
};

// -------------------------------------------------------------------- shapes

static gr_vertex chain(gr_vertex v, uint32_t i)
{
	return i || v + 1 >= N ? GR_VERTEX_NONE : v + 1;
}

static gr_vertex before(gr_vertex v)
{
	return v - 1;
}

/* With an edge back from each element. */
static gr_vertex doubly_linked(gr_vertex v, uint32_t i)
{
	if (!i && v + 1 < N)
		return v + 1;
	return i == (v + 1 < N) && v ? v - 1 : GR_VERTEX_NONE;
}

static gr_vertex star(gr_vertex v, uint32_t i)
{
	return v || i + 1 >= N ? GR_VERTEX_NONE : i + 1;
}

/* All of them lead back to the middle. */
static gr_vertex wheel(gr_vertex v, uint32_t i)
{
	if (!v)
		return star(v, i);
	return i ? GR_VERTEX_NONE : 0;
}

static gr_vertex zero(gr_vertex v)
{
	(void)v;
	return 0;
}

static gr_vertex binary(gr_vertex v, uint32_t i)
{
	uint64_t child = 2 * (uint64_t)v + 1 + i;

	return i > 1 || child >= N ? GR_VERTEX_NONE : child;
}

static gr_vertex half(gr_vertex v)
{
	return (v - 1) / 2;
}

/* 0 -> 1, 2 -> 3, 4 -> ...: both of a step lead to both of the next. */
static gr_vertex ladder(gr_vertex v, uint32_t i)
{
	uint64_t next = v ? (v - 1) / 2 * 2 + 3 : 1;

	return i > 1 || next + i >= N ? GR_VERTEX_NONE : next + i;
}

/* Diamonds: 0 -> 1, 2 -> 3 -> 4, 5 -> 6 -> ... */
static gr_vertex diamonds(gr_vertex v, uint32_t i)
{
	gr_vertex next = v % 3 ? v / 3 * 3 + 3 : v + 1 + i;

	if (i > (v % 3 ? 0 : 1) || next >= N)
		return GR_VERTEX_NONE;
	return next;
}

static gr_vertex diamond_idom(gr_vertex v)
{
	return (v - 1) / 3 * 3;
}

/* A list (odd numbers) whose elements (the even ones) are also in a slice,
 * object 0's second half of edges: to walk up the dominators of each element
 * is quadratic. */
static gr_vertex indexed_list(gr_vertex v, uint32_t i)
{
	if (!v) {
		if (!i)
			return 1;
		return 2 * i < N ? 2 * i : GR_VERTEX_NONE;
	}
	if (v % 2 == 0)
		return GR_VERTEX_NONE;
	gr_vertex target = i ? v + 2 : v + 1;
	return i > 1 || target >= N ? GR_VERTEX_NONE : target;
}

/* The same with a slice of its own, which the search comes to last. */
static gr_vertex list_and_slice(gr_vertex v, uint32_t i)
{
	const gr_vertex slice = N - 1;

	if (!v)
		return i > 1 ? GR_VERTEX_NONE : i ? slice : 1;
	if (v == slice)
		return 2 * (i + 1) < N - 1 ? 2 * (i + 1) : GR_VERTEX_NONE;
	if (v % 2 == 0)
		return GR_VERTEX_NONE;
	gr_vertex target = i ? v + 2 : v + 1;
	return i > 1 || target >= N - 1 ? GR_VERTEX_NONE : target;
}

static gr_vertex list_idom(gr_vertex v)
{
	return v % 2 && v != 1 ? v - 2 : 0;
}

static gr_vertex list_and_slice_idom(gr_vertex v)
{
	return v == N - 1 ? 0 : list_idom(v);
}

/* Every element knows the last one, and the last one every element. */
static gr_vertex tangled_chain(gr_vertex v, uint32_t i)
{
	if (v == N - 1)
		return i + 1 < N ? i : GR_VERTEX_NONE;
	return i > 1 ? GR_VERTEX_NONE : i ? N - 1 : v + 1;
}

static const struct shape_case shapes[] = {
	{ "chain", chain, before },
	{ "doubly linked chain", doubly_linked, before },
	{ "star", star, zero },
	{ "wheel", wheel, zero },
	{ "complete binary tree", binary, half },
	{ "ladder", ladder, zero },
	{ "diamonds", diamonds, diamond_idom },
	{ "list whose elements are in an array", indexed_list, list_idom },
	{ "list whose elements are in a slice", list_and_slice,
	  list_and_slice_idom },
	{ "chain whose end knows all", tangled_chain, zero },
};

/* By the reach, if it is small, and by a mark: the same. */
static void check_set(struct gr_graph *g, gr_vertex u, gr_vertex v)
{
	const gr_vertex set[] = { u, v };
	struct gr_kept reach, mark;

	assert_null(gr_graph_need(g, GR_PART_REVERSE, NULL));
	assert_null(gr_graph_keeps(g, set, 2, NULL, NULL, &reach));
	gr_graph_drop(g, GR_PART_REVERSE);
	assert_null(gr_graph_keeps(g, set, 2, NULL, NULL, &mark));
	assert_true(mark.objects >= 2);
	assert_int_equal(reach.objects, mark.objects);
	assert_int_equal(reach.bytes, mark.bytes);
}

static void check_shape(const struct shape_case *c)
{
	struct gr_root_paths paths;
	struct large l;

	large_init(&l, c->shape);
	check_sums(l.graph);
	assert_int_equal(l.graph->idom[0], N);
	for (gr_vertex v = 1; v < N; v++)
		assert_int_equal(l.graph->idom[v], c->idom(v));
	assert_null(gr_graph_root_paths(l.graph, N - 1, 3, NULL, NULL, &paths));
	assert_int_equal(paths.npaths, 1);
	gr_root_paths_deinit(&paths);
	check_set(l.graph, 1, N / 2);
	check_set(l.graph, N / 3, N - 1);
	large_deinit(&l);
}

TEST_ROWS(shape, shapes, c)
{
	is_scattered = false;
	check_shape(c);
	is_scattered = true;
	check_shape(c);
}

/* Seconds of processor time, however busy the machine is. Each quadratic
 * algorithm takes more, the linear ones take three at most. */
static int limit_time(void **state)
{
	const struct rlimit limit = { 20, 20 };

	(void)state;
	return setrlimit(RLIMIT_CPU, &limit);
}

GR_SUITE_WITH("graph large", limit_time, NULL)
