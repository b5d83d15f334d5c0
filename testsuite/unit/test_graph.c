// SPDX-License-Identifier: Apache-2.0
/* graph: every array against the plainest algorithm, on 5,000 random graphs;
 * parts dropped and made again, garbage removed, any number of parts. */
#include "graph/children.h"
#include "graph/sets.h"

#include "graph_builder.h"

enum { NGRAPHS = 5000 };

/* Both ways through the dominators, whatever the graph is like. */
static bool is_scattered;
bool __wrap_gr_graph_is_scattered(const struct gr_graph *graph);
bool __wrap_gr_graph_is_scattered(const struct gr_graph *graph)
{
	(void)graph;
	return is_scattered;
}

// ------------------------------------------------------------------ checkers

static void check_forward(const struct build *b, const struct gr_graph *g)
{
	uint32_t e = 0;

	assert_int_equal(g->nvertices, build_top(b) + 1);
	assert_int_equal(g->first[0], 0);
	for (gr_vertex v = 0; v < gr_graph_first_group(g); v++) {
		assert_int_equal(g->first[v], e);
		for (; e < b->nedges && b->edges[e].from == v; e++)
			assert_int_equal(g->to[e], b->edges[e].to);
	}
	for (gr_vertex v = gr_graph_first_group(g); v < g->nvertices; v++) {
		assert_int_equal(g->first[v], e);
		for (uint32_t i = 0; i < b->nroots + b->ngroups; i++)
			if (b->holders[i] == v)
				assert_int_equal(g->to[e++], b->nobjects + i);
	}
	assert_int_equal(g->first[g->nvertices], e);
}

enum { RANK_DISTANCE = 1000 /* longer than any path */ };

static bool is_root(const struct gr_graph *g, gr_vertex v)
{
	return gr_graph_kind(g, v) == GR_VERTEX_ROOT;
}

/* Distances by relaxation, until nothing changes. Roots of later ranks are as
 * far from the top as their rank says, and are passed after all others. */
static void naive_distances(const struct gr_graph *g, uint32_t *distance)
{
	bool is_changed = true;

	for (gr_vertex v = 0; v < g->nvertices; v++) {
		distance[v] = v == gr_graph_top(g) ? 0 : UINT32_MAX;
		if (is_root(g, v) && gr_graph_rank(g, v))
			distance[v] = gr_graph_rank(g, v) * RANK_DISTANCE;
	}
	while (is_changed) {
		is_changed = false;
		for (gr_vertex v = 0; v < g->nvertices; v++)
			for (uint32_t e = g->first[v]; e < g->first[v + 1];
			     e++) {
				gr_vertex w = g->to[e];
				if (distance[v] == UINT32_MAX ||
				    (is_root(g, w) && gr_graph_rank(g, w)) ||
				    distance[w] <= distance[v] + 1)
					continue;
				distance[w] = distance[v] + 1;
				is_changed = true;
			}
	}
}

static bool has_edge(const struct gr_graph *g, gr_vertex from, gr_vertex to)
{
	for (uint32_t e = g->first[from]; e < g->first[from + 1]; e++)
		if (g->to[e] == to)
			return true;
	return false;
}

static void check_nearest(const struct gr_graph *g)
{
	uint32_t distance[BUILD_MAX_VERTICES];
	uint32_t nreached = 0;

	naive_distances(g, distance);
	for (gr_vertex v = 0; v < g->nvertices; v++) {
		assert_int_equal(gr_graph_is_reached(g, v),
				 distance[v] != UINT32_MAX);
		nreached += distance[v] != UINT32_MAX;
		if (distance[v] == UINT32_MAX || v == gr_graph_top(g))
			continue;
		assert_true(has_edge(g, g->parent[v], v));
		if (!is_root(g, v) || !gr_graph_rank(g, v))
			assert_int_equal(distance[g->parent[v]] + 1,
					 distance[v]);
	}
	assert_int_equal(g->nreached, nreached);
	assert_int_equal(g->order[0], gr_graph_top(g));
	for (uint32_t i = 1; i < nreached; i++)
		assert_true(distance[g->order[i - 1]] <= distance[g->order[i]]);
}

static void check_reverse(const struct gr_graph *g)
{
	uint32_t count = 0;

	for (gr_vertex v = 0; v < g->nvertices; v++) {
		uint32_t at = g->rfirst[v];
		for (gr_vertex u = 0; u < g->nvertices; u++)
			for (uint32_t e = g->first[u]; e < g->first[u + 1]; e++)
				if (g->to[e] == v)
					assert_int_equal(g->from[at++], u);
		assert_int_equal(at, g->rfirst[v + 1]);
		count += at - g->rfirst[v];
	}
	assert_int_equal(count, g->first[g->nvertices]);
}

/* u dominates v if v is lost without u; the immediate dominator is that one
 * which all others dominate. */
static void check_dominators(const struct build *b, const struct gr_graph *g)
{
	uint64_t lost[BUILD_MAX_VERTICES], all = naive_mark(b, 0);
	gr_vertex top = build_top(b);

	for (gr_vertex v = 0; v <= top; v++) {
		lost[v] = all & ~naive_mark(b, UINT64_C(1) << v);
		assert_int_equal(g->retained[v], naive_bytes(b, lost[v]));
		assert_int_equal(gr_graph_retained_second(g, v),
				 naive_second_bytes(b, lost[v]));
	}
	assert_true(!g->retained_second == !b->nsecond);
	for (gr_vertex v = 0; v <= top; v++) {
		if (!(all >> v & 1)) {
			assert_int_equal(g->idom[v], GR_VERTEX_NONE);
			continue;
		}
		gr_vertex idom = g->idom[v];
		if (v == top) {
			assert_int_equal(idom, top);
			continue;
		}
		assert_true(lost[idom] >> v & 1);
		assert_int_not_equal(idom, v);
		for (gr_vertex u = 0; u <= top; u++)
			if (u != v && lost[u] >> v & 1)
				assert_true(lost[u] >> idom & 1);
	}
}

static void check_children(const struct gr_graph *g)
{
	uint32_t count = 0;

	for (gr_vertex v = 0; v < g->nvertices; v++) {
		struct gr_children c = gr_graph_children(g, v);
		uint64_t bytes = gr_graph_is_reached(g, v) ?
					 gr_graph_own_bytes(g, v) :
					 0;
		for (uint32_t i = 0; i < c.count; i++) {
			gr_vertex w = c.vertices[i];
			assert_int_equal(g->idom[w], v);
			bytes += g->retained[w];
			if (!i)
				continue;
			gr_vertex before = c.vertices[i - 1];
			assert_true(g->retained[before] > g->retained[w] ||
				    (g->retained[before] == g->retained[w] &&
				     before < w));
		}
		assert_int_equal(bytes, g->retained[v]);
		count += c.count;
	}
	assert_int_equal(count + 1, g->nreached);
}

static void check_all(const struct build *b, const struct gr_graph *g)
{
	check_forward(b, g);
	check_nearest(g);
	check_reverse(g);
	check_dominators(b, g);
	check_children(g);
}

// -------------------------------------------------------------------- random

TEST(random)
{
	uint64_t seed = 1;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		if (i % 3)
			build_ranks(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		is_scattered = i % 2;
		assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
		assert_int_equal(gr_graph_parts(g), GR_PART_ALL);
		check_all(&b, g);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
		assert_true(budget.peak_bytes > 0);
	}
}

/* Every part at its own time, in any order. */
TEST(parts_in_any_order)
{
	uint64_t seed = 2;
	struct build b;

	for (int i = 0; i < 200; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		if (i % 3)
			build_ranks(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		for (int j = 0; j < 20; j++) {
			unsigned int parts = build_below(&seed, 16);
			is_scattered = build_below(&seed, 2);
			gr_graph_drop(g, build_below(&seed, 16));
			assert_null(gr_graph_need(g, parts, NULL));
			assert_int_equal(gr_graph_parts(g) & parts, parts);
		}
		assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
		check_all(&b, g);
		gr_graph_destroy(g);
	}
}

/* Other sizes of objects, as many as there are. */
static uint32_t *random_weights(struct gr_budget *budget, struct build *b,
				uint64_t *seed)
{
	uint32_t *weights = gr_array_alloc(budget, (uint64_t)b->nobjects + 1,
					   sizeof(*weights));

	assert_non_null(weights);
	for (gr_vertex v = 0; v < b->nobjects; v++) {
		weights[v] = build_below(seed, 3) ? build_below(seed, 1 << 20) :
						    0;
		b->bytes[v] = weights[v];
	}
	return weights;
}

/* A set keeps the same with and without the reverse edges. */
static void check_keeps(const struct build *b, struct gr_graph *g, gr_vertex v)
{
	uint64_t lost = naive_mark(b, 0) & ~naive_mark(b, UINT64_C(1) << v);

	for (int i = 0; i < 2; i++) {
		struct gr_kept kept;

		gr_graph_drop(g, i ? GR_PART_REVERSE : 0);
		assert_null(gr_graph_keeps(g, &v, 1, NULL, NULL, &kept));
		assert_int_equal(kept.bytes, naive_bytes(b, lost));
		assert_int_equal(kept.second_bytes,
				 naive_second_bytes(b, lost));
	}
	assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
}

/* Other sizes, with any parts made before; and the bytes again. */
TEST(weights)
{
	uint64_t seed = 7;
	struct build b;

	for (int i = 0; i < 1000; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		struct build other = b;
		struct gr_graph *g = build(&budget, &b);
		is_scattered = i % 2;
		assert_null(gr_graph_need(g, build_below(&seed, 16), NULL));
		gr_graph_drop(g, build_below(&seed, 16));
		assert_null(gr_graph_weigh(
			g, random_weights(&budget, &other, &seed), NULL));
		// Without nearest paths nothing can be summed again.
		assert_true(g->parent || !g->idom);
		assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
		qsort(other.edges, other.nedges, sizeof(*other.edges),
		      build_compare);
		check_all(&other, g);
		check_keeps(&other, g, build_below(&seed, g->nvertices));
		assert_null(gr_graph_weigh(g, NULL, NULL));
		assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
		check_all(&b, g);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
}

/* A poll that ends it leaves no sum that is wrong. */
TEST(weights_interrupted)
{
	const struct gr_poll poll = { .poll = suite_refuse };
	struct gr_budget budget = { 0 };
	uint64_t seed = 11;
	struct build b;

	do
		build_random(&b, &seed);
	while (b.nobjects < 20);
	struct gr_graph *g = build(&budget, &b);
	assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
	struct gr_error *err =
		gr_graph_weigh(g, random_weights(&budget, &b, &seed), &poll);
	assert_non_null(err);
	gr_error_destroy(err);
	assert_false(gr_graph_parts(g) &
		     (GR_PART_DOMINATORS | GR_PART_CHILDREN));
	assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
	check_all(&b, g);
	gr_graph_destroy(g);
	assert_int_equal(budget.held_bytes, 0);
}

static void assert_equal_graphs(const struct gr_graph *a,
				const struct gr_graph *b)
{
	size_t n = a->nvertices, m = a->first[n];

	assert_int_equal(n, b->nvertices);
	assert_int_equal(a->nreached, b->nreached);
	assert_memory_equal(a->first, b->first, (n + 1) * 4);
	assert_memory_equal(a->to, b->to, m * 4);
	assert_memory_equal(a->parent, b->parent, n * 4);
	assert_memory_equal(a->order, b->order, a->nreached * 4);
	assert_memory_equal(a->rfirst, b->rfirst, (n + 1) * 4);
	assert_memory_equal(a->from, b->from, m * 4);
	assert_memory_equal(a->idom, b->idom, n * 4);
	assert_memory_equal(a->retained, b->retained, n * 8);
	assert_memory_equal(a->cfirst, b->cfirst, (n + 1) * 4);
	assert_memory_equal(a->child, b->child, (a->nreached - 1) * 4);
}

/* The number of parts that edges come from changes nothing, nor does the way
 * through the dominators, nor making a part again. */
TEST(deterministic)
{
	uint64_t seed = 3;
	struct build b;

	for (int i = 0; i < 500; i++) {
		struct gr_budget budget = { 0 };
		struct gr_graph *one = NULL, *many = NULL;
		build_random(&b, &seed);
		if (i % 3)
			build_ranks(&b, &seed);
		is_scattered = false;
		assert_null(build_parts(&budget, &b, 1, &one));
		assert_null(gr_graph_need(one, GR_PART_ALL, NULL));
		is_scattered = true;
		assert_null(build_parts(&budget, &b, 2 + i % 7, &many));
		assert_null(gr_graph_need(many, GR_PART_ALL, NULL));
		assert_equal_graphs(one, many);
		gr_graph_drop(many, GR_PART_ALL);
		assert_int_equal(gr_graph_parts(many), 0);
		assert_null(gr_graph_need(many, GR_PART_ALL, NULL));
		assert_equal_graphs(one, many);
		gr_graph_destroy(one);
		gr_graph_destroy(many);
		assert_int_equal(budget.held_bytes, 0);
	}
}

// -------------------------------------------------------------------- groups

static uint64_t key_of(void *ctx, gr_vertex v)
{
	const uint64_t *modulus = ctx;

	return v % *modulus;
}

TEST(groups_of_children)
{
	uint64_t seed = 5, modulus = 3;
	struct build b;

	for (int i = 0; i < 300; i++) {
		struct gr_budget budget = { 0 };
		struct gr_child_groups groups;
		build_random(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		gr_vertex top = gr_graph_top(g);
		assert_null(gr_graph_need(g, GR_PART_CHILDREN, NULL));
		struct gr_children c = gr_graph_children(g, top);
		assert_null(gr_graph_group_children(g, &top, 1, key_of,
						    &modulus, NULL, &groups));
		uint64_t bytes = 0, vertices = 0;
		for (uint32_t j = 0; j < groups.count; j++) {
			const struct gr_child_group *group = &groups.groups[j];
			uint64_t expected = 0, second = 0;
			for (uint32_t k = 0; k < c.count; k++) {
				gr_vertex v = c.vertices[k];
				if (v % modulus != group->key)
					continue;
				expected += g->retained[v];
				second += gr_graph_retained_second(g, v);
			}
			assert_int_equal(group->retained_bytes, expected);
			assert_int_equal(group->retained_second, second);
			assert_int_equal(group->example % modulus, group->key);
			assert_true(!j || group->retained_bytes <=
						  group[-1].retained_bytes);
			assert_int_equal(group->first, vertices);
			for (uint32_t k = 0; k < group->vertices; k++) {
				gr_vertex v = groups.members[group->first + k];
				assert_int_equal(v % modulus, group->key);
				assert_int_equal(g->idom[v], top);
				expected -= g->retained[v];
			}
			assert_int_equal(expected, 0);
			bytes += group->retained_bytes;
			vertices += group->vertices;
		}
		assert_int_equal(bytes, g->retained[top]);
		assert_int_equal(vertices, c.count);
		gr_child_groups_deinit(&groups);
		gr_graph_destroy(g);
	}
}

// -------------------------------------------------------------------- shapes

TEST(kinds)
{
	struct gr_budget budget = { 0 };
	struct build b = {
		.nobjects = 2,
		.nroots = 1,
		.ngroups = 2,
		.bytes = { 10, 20 },
		.holders = { 3, 4, 5 },
	};
	build_edge(&b, 2, 1);
	struct gr_graph *g = build(&budget, &b);

	assert_int_equal(gr_graph_kind(g, 0), GR_VERTEX_OBJECT);
	assert_int_equal(gr_graph_kind(g, 2), GR_VERTEX_ROOT);
	assert_int_equal(gr_graph_kind(g, 3), GR_VERTEX_GROUP);
	assert_int_equal(gr_graph_kind(g, 4), GR_VERTEX_GROUP);
	assert_int_equal(gr_graph_kind(g, 5), GR_VERTEX_TOP);
	assert_int_equal(gr_graph_own_bytes(g, 1), 20);
	assert_int_equal(gr_graph_own_bytes(g, 2), 0);
	assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
	check_all(&b, g);
	assert_int_equal(g->retained[4], 20);
	gr_graph_destroy(g);
}

GR_SUITE("graph")
