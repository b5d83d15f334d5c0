// SPDX-License-Identifier: Apache-2.0
/* graph: what sets keep alive against a mark without them, and accumulation
 * points of shapes whose answer is known. */
#include "graph/accumulate.h"
#include "graph/children.h"
#include "graph/sets.h"

#include "graph_builder.h"

enum { NGRAPHS = 10000 };

// ---------------------------------------------------------------------- sets

static uint64_t random_set(uint64_t *seed, const struct build *b)
{
	uint64_t all = (UINT64_C(2) << build_top(b)) - 1;
	uint64_t set = suite_random(seed) & all;

	// Small ones are more like questions that are asked.
	return build_below(seed, 2) ?
		       set & suite_random(seed) & suite_random(seed) :
		       set;
}

static void check_set(const struct build *b, struct gr_graph *g, uint64_t set)
{
	uint64_t all = naive_mark(b, 0), left = naive_mark(b, set);
	uint64_t kept = 0, lost = all & ~left;
	uint64_t objects = lost & ((UINT64_C(1) << b->nobjects) - 1);
	struct gr_kept total;

	assert_null(gr_graph_set_keeps(g, &set, NULL, &kept, &total));
	assert_int_equal(kept, lost);
	assert_int_equal(total.bytes, naive_bytes(b, lost));
	assert_int_equal(total.second_bytes, naive_second_bytes(b, lost));
	assert_int_equal(total.objects, __builtin_popcountll(objects));
	assert_null(gr_graph_set_keeps(g, &set, NULL, NULL, &total));
	assert_int_equal(total.bytes, naive_bytes(b, lost));
}

TEST(sets)
{
	uint64_t seed = 21;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		// Both ways: by the reach, and by a mark.
		if (i % 2)
			assert_null(gr_graph_need(g, GR_PART_REVERSE, NULL));
		for (int j = 0; j < 3; j++)
			check_set(&b, g, random_set(&seed, &b));
		check_set(&b, g, 0);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
}

/* A set of one is what the dominators say; a list may name one twice. */
TEST(sets_of_one)
{
	uint64_t seed = 22;
	struct build b;

	for (int i = 0; i < 300; i++) {
		struct gr_budget budget = { 0 };
		struct gr_kept kept;
		build_random(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		assert_null(gr_graph_need(g, GR_PART_DOMINATORS, NULL));
		if (i % 2)
			assert_null(gr_graph_need(g, GR_PART_REVERSE, NULL));
		for (gr_vertex v = 0; v < g->nvertices; v++) {
			const gr_vertex twice[] = { v, v };
			assert_null(
				gr_graph_keeps(g, twice, 2, NULL, NULL, &kept));
			assert_int_equal(kept.bytes, g->retained[v]);
			assert_int_equal(kept.second_bytes,
					 gr_graph_retained_second(g, v));
		}
		assert_null(gr_graph_keeps(g, NULL, 0, NULL, NULL, &kept));
		assert_int_equal(kept.bytes, 0);
		gr_graph_destroy(g);
	}
}

// -------------------------------------------------------------- accumulation

/** A graph of one root that the rows below are made with. */
struct shape {
	struct gr_budget budget;
	struct gr_graph *graph;
	gr_vertex n;
	uint64_t bytes[4096];
	struct gr_edges edges;
	gr_vertex from; /* source of the edges below */
};

static struct shape *shape_create(gr_vertex n)
{
	struct shape *s = suite_alloc(sizeof(*s));

	assert_true(n <= GR_ARRAY_SIZE(s->bytes));
	s->n = n;
	for (gr_vertex v = 0; v < n; v++)
		s->bytes[v] = 32;
	assert_null(gr_edges_init(&s->edges, &s->budget, 0, n + 1, n, 0));
	return s;
}

/* The root leads to object 0. */
static void shape_finish(struct shape *s)
{
	struct gr_objects *objects;
	const gr_vertex top = s->n + 1;

	gr_edges_begin(&s->edges, s->n);
	gr_edges_add(&s->edges, 0);
	assert_null(build_objects(&s->budget, s->bytes, s->n, &objects));
	const struct gr_graph_spec spec = {
		.budget = &s->budget,
		.objects = objects,
		.parts = &s->edges,
		.nparts = 1,
		.nroots = 1,
		.holders = &top,
	};
	assert_null(gr_graph_create(&spec, &s->graph));
	assert_null(gr_graph_need(s->graph, GR_PART_CHILDREN, NULL));
}

static void shape_destroy(struct shape *s)
{
	gr_graph_destroy(s->graph);
	assert_int_equal(s->budget.held_bytes, 0);
	free(s);
}

/* [first, first + count) one behind the other. */
static void shape_wrap(struct shape *s, gr_vertex first, gr_vertex count)
{
	for (gr_vertex v = first; v + 1 < first + count; v++) {
		gr_edges_begin(&s->edges, v);
		gr_edges_add(&s->edges, v + 1);
	}
}

/* Five wrappers, the last of which holds a thousand objects. */
TEST(drop)
{
	struct shape *s = shape_create(1005);
	struct gr_accumulation a;

	shape_wrap(s, 0, 5);
	gr_edges_begin(&s->edges, 4);
	for (gr_vertex v = 5; v < 1005; v++)
		gr_edges_add(&s->edges, v);
	shape_finish(s);
	assert_null(gr_graph_accumulation(s->graph, s->n, GR_DROP_PERCENT, NULL,
					  &a));
	assert_int_equal(a.kind, GR_ACCUMULATION_DROP);
	assert_int_equal(a.at, 4);
	assert_int_equal(a.depth, 5);
	assert_int_equal(a.vertices, 1000);
	assert_int_equal(a.retained_bytes, 1001 * 32);
	shape_destroy(s);
}

/* Three wrappers and a list of a thousand elements. */
TEST(chain)
{
	struct shape *s = shape_create(1003);
	struct gr_accumulation a;

	shape_wrap(s, 0, 1003);
	for (gr_vertex v = 0; v < 3; v++)
		s->bytes[v] = 1;
	shape_finish(s);
	assert_null(gr_graph_accumulation(s->graph, s->n, GR_DROP_PERCENT, NULL,
					  &a));
	assert_int_equal(a.kind, GR_ACCUMULATION_CHAIN);
	assert_int_equal(a.at, 3);
	assert_int_equal(a.depth, 4);
	assert_int_equal(a.retained_bytes, 1000 * 32);
	assert_in_range(a.vertices, 990, 1000);
	shape_destroy(s);
}

/* One object that is large itself. */
TEST(large_object)
{
	struct shape *s = shape_create(2);
	struct gr_accumulation a;

	shape_wrap(s, 0, 2);
	s->bytes[1] = 1 << 20;
	shape_finish(s);
	assert_null(gr_graph_accumulation(s->graph, gr_graph_top(s->graph),
					  GR_DROP_PERCENT, NULL, &a));
	assert_int_equal(a.kind, GR_ACCUMULATION_DROP);
	assert_int_equal(a.at, 1);
	assert_int_equal(a.vertices, 0);
	assert_int_equal(a.retained_bytes, 1 << 20);
	shape_destroy(s);
}

/* A few wrappers that each hold a fifth: the one that holds most. */
TEST(steepest)
{
	struct shape *s = shape_create(4);
	struct gr_accumulation a;

	shape_wrap(s, 0, 4);
	s->bytes[0] = 200;
	s->bytes[1] = 210;
	s->bytes[2] = 150;
	s->bytes[3] = 440;
	shape_finish(s);
	assert_null(gr_graph_accumulation(s->graph, s->n, GR_DROP_PERCENT, NULL,
					  &a));
	assert_int_equal(a.kind, GR_ACCUMULATION_DROP);
	assert_int_equal(a.at, 1);
	assert_int_equal(a.retained_bytes, 800);
	shape_destroy(s);
}

GR_SUITE("graph sets")
