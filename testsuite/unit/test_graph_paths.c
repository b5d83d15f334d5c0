// SPDX-License-Identifier: Apache-2.0
/* graph: chains from roots, all roots, edges left out, merged paths; each
 * against relaxation until nothing changes. */
#include "graph/merged.h"
#include "graph/paths.h"

#include "graph_builder.h"

enum { NGRAPHS = 3000 };

/* Edges that a filter leaves out: any rule that is the same each time. */
static bool is_weak(void *ctx, gr_vertex from, gr_vertex to)
{
	(void)ctx;
	return (from * 7 + to * 3) % 5 == 0;
}

static const struct gr_edge_filter no_filter, weak_filter = { is_weak, NULL };

/* Edges from each vertex to the target, over reached ones, without passing a
 * root; UINT32_MAX: no way. */
static void naive_lengths(const struct gr_graph *g, gr_vertex target,
			  const struct gr_edge_filter *filter, uint32_t *length)
{
	bool is_changed = true;

	for (gr_vertex v = 0; v < g->nvertices; v++)
		length[v] = UINT32_MAX;
	if (!gr_graph_is_reached(g, target))
		return;
	length[target] = 0;
	while (is_changed) {
		is_changed = false;
		for (gr_vertex v = 0; v < gr_graph_first_group(g); v++)
			for (uint32_t e = g->first[v]; e < g->first[v + 1];
			     e++) {
				gr_vertex w = g->to[e];
				if (!gr_graph_is_reached(g, v) ||
				    length[w] == UINT32_MAX ||
				    length[w] + 1 >= length[v] ||
				    (filter->is_excluded &&
				     is_weak(NULL, v, w)))
					continue;
				length[v] = length[w] + 1;
				is_changed = true;
			}
	}
}

static bool has_edge(const struct gr_graph *g, gr_vertex from, gr_vertex to,
		     const struct gr_edge_filter *filter)
{
	if (filter->is_excluded && is_weak(NULL, from, to))
		return false;
	for (uint32_t e = g->first[from]; e < g->first[from + 1]; e++)
		if (g->to[e] == to)
			return true;
	return false;
}

/* Every printed hop is an edge, and the chain is as long as it says. */
static void check_chain(const struct gr_graph *g, gr_vertex target,
			const struct gr_root_paths *paths,
			const struct gr_root_path *path,
			const struct gr_edge_filter *filter)
{
	uint32_t hop = path->hop, length = 0;

	assert_int_equal(paths->hops[hop].vertex, path->root);
	assert_int_equal(gr_graph_kind(g, path->root), GR_VERTEX_ROOT);
	while (hop) {
		uint32_t next = paths->hops[hop].next;
		assert_true(next < hop);
		assert_true(has_edge(g, paths->hops[hop].vertex,
				     paths->hops[next].vertex, filter));
		hop = next;
		length++;
	}
	assert_int_equal(paths->hops[0].vertex, target);
	assert_int_equal(length, path->length);
}

/* Does root @p a come before root @p b? */
static bool is_nearer(const struct gr_graph *g, const uint32_t *length,
		      gr_vertex a, gr_vertex b)
{
	if (length[a] == UINT32_MAX)
		return false;
	if (gr_graph_rank(g, a) != gr_graph_rank(g, b))
		return gr_graph_rank(g, a) < gr_graph_rank(g, b);
	return length[a] < length[b];
}

static void check_paths(struct gr_graph *g, gr_vertex target, uint32_t max,
			const struct gr_edge_filter *filter)
{
	uint32_t length[BUILD_MAX_VERTICES], nroots = 0;
	struct gr_root_paths paths;
	uint64_t roots = 0;

	assert_null(gr_graph_root_paths(g, target, max, filter, NULL, &paths));
	naive_lengths(g, target, filter, length);
	for (gr_vertex v = g->nobjects; v < gr_graph_first_group(g); v++)
		nroots += length[v] != UINT32_MAX;
	assert_int_equal(paths.npaths, nroots < max ? nroots : max);
	for (uint32_t i = 0; i < paths.npaths; i++) {
		const struct gr_root_path *path = &paths.paths[i];
		assert_false(roots >> path->root & 1);
		roots |= UINT64_C(1) << path->root;
		assert_int_equal(path->length, length[path->root]);
		assert_true(!i ||
			    !is_nearer(g, length, path->root, path[-1].root));
		check_chain(g, target, &paths, path, filter);
	}
	// No root that was left out is nearer.
	for (gr_vertex v = g->nobjects; v < gr_graph_first_group(g); v++)
		if (!(roots >> v & 1) && paths.npaths)
			assert_false(
				is_nearer(g, length, v,
					  paths.paths[paths.npaths - 1].root));
	if (paths.is_complete)
		assert_int_equal(paths.npaths, nroots);
	if (max == UINT32_MAX)
		assert_true(paths.is_complete);
	gr_root_paths_deinit(&paths);
}

TEST(root_paths)
{
	uint64_t seed = 11;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		if (i % 3)
			build_ranks(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		assert_null(gr_graph_need(g, GR_PART_NEAREST, NULL));
		for (int j = 0; j < 4; j++) {
			gr_vertex target = build_below(&seed, g->nvertices);
			check_paths(g, target, UINT32_MAX, &no_filter);
			check_paths(g, target, 1 + j, &no_filter);
			check_paths(g, target, UINT32_MAX, &weak_filter);
			check_paths(g, target, 1 + j, &weak_filter);
		}
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
}

// -------------------------------------------------------------------- merged

/* Distances from the top, by edges that are not weak if filtered. */
static void naive_depths(const struct gr_graph *g,
			 const struct gr_edge_filter *filter, uint32_t *depth)
{
	bool is_changed = true;

	for (gr_vertex v = 0; v < g->nvertices; v++)
		depth[v] = v == gr_graph_top(g) ? 0 : UINT32_MAX;
	while (is_changed) {
		is_changed = false;
		for (gr_vertex v = 0; v < g->nvertices; v++)
			for (uint32_t e = g->first[v]; e < g->first[v + 1];
			     e++) {
				gr_vertex w = g->to[e];
				if (depth[v] == UINT32_MAX ||
				    depth[w] <= depth[v] + 1 ||
				    (filter->is_excluded &&
				     is_weak(NULL, v, w)))
					continue;
				depth[w] = depth[v] + 1;
				is_changed = true;
			}
	}
}

static uint64_t key_of(void *ctx, gr_vertex v)
{
	(void)ctx;
	return v % 3;
}

/* Rows add up; without keys each is a vertex, at its true depth. */
static void check_merged(struct gr_graph *g, uint64_t targets,
			 const struct gr_merge_options *options)
{
	uint32_t depth[BUILD_MAX_VERTICES], ntargets = 0, unreached = 0;
	struct gr_merged_paths merged;
	uint64_t bytes = 0, cut = 0;

	naive_depths(g, &options->filter, depth);
	for (gr_vertex v = 0; v < g->nvertices; v++) {
		if (!(targets >> v & 1))
			continue;
		if (depth[v] == UINT32_MAX) {
			unreached++;
			continue;
		}
		ntargets++;
		bytes += gr_graph_own_bytes(g, v);
	}
	assert_null(gr_graph_merge_paths(g, &targets, options, NULL, &merged));
	assert_int_equal(merged.unreached, unreached);
	assert_true(merged.nrows >= 1 && merged.nrows <= options->max_rows);
	assert_int_equal(merged.rows[0].example, gr_graph_top(g));
	assert_int_equal(merged.rows[0].targets, ntargets);
	assert_int_equal(merged.rows[0].bytes, bytes);
	for (uint32_t i = 0; i < merged.nrows; i++) {
		const struct gr_merged_row *row = &merged.rows[i];
		const struct gr_merged_row *above = &merged.rows[row->parent];
		uint64_t below = row->cut;
		cut += row->cut;
		assert_int_equal(row->depth, depth[row->example]);
		assert_true(row->vertices >= 1);
		assert_true(row->targets >= 1 || !i);
		if (i) {
			assert_true(row->parent < i);
			assert_int_equal(row->depth, above->depth + 1);
		}
		if (options->key)
			assert_int_equal(row->key, row->example % 3);
		for (uint32_t j = i + 1; j < merged.nrows; j++)
			if (merged.rows[j].parent == i)
				below += merged.rows[j].targets;
		assert_true(below <= row->targets);
		assert_true(row->targets - below <= row->vertices);
		if (!options->key)
			assert_int_equal(row->targets - below,
					 targets >> row->example & 1);
	}
	if (options->max_rows > g->nvertices)
		assert_int_equal(cut, 0);
	gr_merged_paths_deinit(&merged);
}

/* Edges from the top to each vertex; UINT32_MAX: no way. */
static void naive_distances(const struct gr_graph *g,
			    const struct gr_edge_filter *filter,
			    uint32_t *distance)
{
	bool is_changed = true;

	memset(distance, 0xff, g->nvertices * sizeof(*distance));
	distance[gr_graph_top(g)] = 0;
	while (is_changed) {
		is_changed = false;
		for (gr_vertex v = 0; v < g->nvertices; v++)
			for (uint32_t e = g->first[v]; e < g->first[v + 1];
			     e++) {
				gr_vertex w = g->to[e];
				if (distance[v] == UINT32_MAX ||
				    distance[v] + 1 >= distance[w] ||
				    !has_edge(g, v, w, filter))
					continue;
				distance[w] = distance[v] + 1;
				is_changed = true;
			}
	}
}

static void check_parents(struct gr_graph *g,
			  const struct gr_edge_filter *filter)
{
	uint32_t distance[BUILD_MAX_VERTICES];
	gr_vertex *parent;

	naive_distances(g, filter, distance);
	assert_null(gr_graph_parents(g, filter, NULL, &parent));
	for (gr_vertex v = 0; v < g->nvertices; v++) {
		bool is_reached = parent[v] != GR_VERTEX_NONE;

		assert_int_equal(is_reached, distance[v] != UINT32_MAX);
		if (!is_reached || v == gr_graph_top(g))
			continue;
		assert_true(has_edge(g, parent[v], v, filter));
		if (!g->ranks)
			assert_int_equal(distance[parent[v]] + 1, distance[v]);
	}
	gr_array_free(parent);
}

TEST(parents)
{
	uint64_t seed = 12;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		if (i % 2)
			build_ranks(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		check_parents(g, &no_filter);
		check_parents(g, &weak_filter);
		assert_int_equal(gr_graph_parts(g), 0);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
}

TEST(merged_paths)
{
	uint64_t seed = 12;
	struct build b;

	for (int i = 0; i < NGRAPHS; i++) {
		struct gr_budget budget = { 0 };
		build_random(&b, &seed);
		struct gr_graph *g = build(&budget, &b);
		uint64_t all = (UINT64_C(2) << gr_graph_top(g)) - 1;
		struct gr_merge_options options = {
			.key = i % 2 ? key_of : NULL,
			.max_rows = i % 3 ? 1000 : 1 + build_below(&seed, 9),
			.filter = i % 5 ? no_filter : weak_filter,
		};
		check_merged(g, suite_random(&seed) & all, &options);
		check_merged(g, 0, &options);
		check_merged(g, all, &options);
		gr_graph_destroy(g);
		assert_int_equal(budget.held_bytes, 0);
	}
}

/* By the tens of the number: a stand-in for types. */
static uint64_t tens_of(void *ctx, gr_vertex v)
{
	(void)ctx;
	return (v + 9) / 10;
}

/* A map of ten boxes with a value each: one row for the boxes, one for the
 * values. */
TEST(merged_by_type)
{
	struct gr_budget budget = { 0 };
	struct build b = { .nobjects = 21, .nroots = 1, .holders = { 22 } };
	const struct gr_merge_options options = { .key = tens_of,
						  .max_rows = 1000 };
	struct gr_merged_paths merged;
	uint64_t targets = 0;

	build_edge(&b, 21, 0);
	for (gr_vertex v = 1; v <= 10; v++) {
		build_edge(&b, 0, v);
		build_edge(&b, v, v + 10);
		targets |= UINT64_C(1) << (v + 10);
	}
	for (gr_vertex v = 0; v < b.nobjects; v++)
		b.bytes[v] = 8;
	struct gr_graph *g = build(&budget, &b);
	assert_null(gr_graph_merge_paths(g, &targets, &options, NULL, &merged));
	assert_int_equal(merged.nrows, 5);
	assert_int_equal(merged.rows[2].vertices, 1);
	assert_int_equal(merged.rows[3].vertices, 10);
	assert_int_equal(merged.rows[3].example, 1);
	assert_int_equal(merged.rows[4].vertices, 10);
	assert_int_equal(merged.rows[4].depth, 4);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(merged.rows[i].targets, 10);
		assert_int_equal(merged.rows[i].bytes, 80);
	}
	gr_merged_paths_deinit(&merged);
	gr_graph_destroy(g);
}

GR_SUITE("graph paths")
