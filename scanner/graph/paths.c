// SPDX-License-Identifier: Apache-2.0
/*
 * The nearest roots of a vertex: breadth-first search (Moore, 1959) along the
 * reverse edges. A root is met after all that are nearer, and is not passed:
 * the first K of a rank that are met are the K shortest chains from distinct
 * roots of this rank, each the shortest of its root. The search ends with K
 * roots of the first rank, or when nothing is left.
 *
 * Vertices that are met go into a list, not into arrays of the heap's size,
 * because the nearest roots are mostly near.
 */
#include "graph/paths.h"

#include "base/vector.h"
#include "graph/internal.h"

GR_VECTOR(hop_vector, struct gr_graph_hop);
GR_VECTOR(path_vector, struct gr_root_path);

struct search {
	const struct gr_graph *g;
	const struct gr_edge_filter *filter;
	uint64_t *seen;
	struct hop_vector hops;
	struct path_vector paths;
	uint32_t level_end; /* hops of the level that is searched end here */
	uint32_t length;    /* of chains that begin in the next level */
	uint32_t max_paths;
	uint32_t nfirst; /* paths from roots of rank 0 */
};

static void search_deinit(struct search *s)
{
	gr_array_free(s->seen);
	hop_vector_deinit(&s->hops);
	path_vector_deinit(&s->paths);
}

void gr_root_paths_deinit(struct gr_root_paths *paths)
{
	free(paths->hops);
	free(paths->paths);
	memset(paths, 0, sizeof(*paths));
}

/* Enter a vertex that leads to @p next; a root is a path. */
static struct gr_error *meet(struct search *s, gr_vertex v, uint32_t next)
{
	uint32_t index = s->hops.size;

	if (!hop_vector_append(&s->hops, (struct gr_graph_hop){ v, next }))
		return &gr_enomem;
	if (gr_graph_kind(s->g, v) != GR_VERTEX_ROOT)
		return NULL;
	const struct gr_root_path path = { v, index, s->length };
	s->nfirst += !gr_graph_rank(s->g, v);
	return path_vector_append(&s->paths, path) ? NULL : &gr_enomem;
}

static bool is_passable(const struct search *s, gr_vertex from, gr_vertex to)
{
	const struct gr_edge_filter *filter = s->filter;

	if (!gr_graph_is_reached(s->g, from) || gr_bitmap_test(s->seen, from))
		return false;
	return !filter || !filter->is_excluded ||
	       !filter->is_excluded(filter->ctx, from, to);
}

/* All that lead to a hop; roots are ends. */
static struct gr_error *expand(struct search *s, uint32_t hop,
			       struct gr_ticker *ticker)
{
	const struct gr_graph *g = s->g;
	gr_vertex v = s->hops.data[hop].vertex;
	struct gr_error *err = NULL;

	if (gr_graph_kind(g, v) != GR_VERTEX_OBJECT)
		return NULL;
	for (uint32_t e = g->rfirst[v];
	     !err && e < g->rfirst[v + 1] && s->nfirst < s->max_paths; e++) {
		gr_vertex from = g->from[e];
		err = gr_tick(ticker);
		if (err || !is_passable(s, from, v))
			continue;
		gr_bitmap_set(s->seen, from);
		err = meet(s, from, hop);
	}
	return err;
}

/* @return with *is_complete, whether the search came to its end. */
static struct gr_error *run(struct search *s, gr_vertex target,
			    const struct gr_poll *poll, bool *is_complete)
{
	struct gr_ticker ticker = { .poll = poll };
	struct gr_error *err = NULL;
	uint32_t hop = 0;

	*is_complete = !gr_graph_is_reached(s->g, target);
	if (*is_complete)
		return NULL;
	gr_bitmap_set(s->seen, target);
	err = meet(s, target, 0);
	while (!err && hop < s->hops.size && s->nfirst < s->max_paths) {
		if (hop == s->level_end) {
			s->level_end = s->hops.size;
			s->length++;
		}
		err = expand(s, hop++, &ticker);
	}
	*is_complete = hop == s->hops.size && s->paths.size <= s->max_paths;
	return err;
}

/* Put the paths in the order of their roots' ranks, and cut them to those that
 * are wanted. */
static struct gr_error *sort_paths(struct search *s)
{
	struct path_vector sorted = { 0 };

	if (!path_vector_reserve(&sorted, s->paths.size))
		return &gr_enomem;
	for (uint8_t rank = 0; rank < GR_RANKS; rank++)
		for (size_t i = 0; i < s->paths.size; i++)
			if (gr_graph_rank(s->g, s->paths.data[i].root) == rank)
				sorted.data[sorted.size++] = s->paths.data[i];
	path_vector_deinit(&s->paths);
	s->paths = sorted;
	if (s->paths.size > s->max_paths)
		s->paths.size = s->max_paths;
	return NULL;
}

struct gr_error *gr_graph_root_paths(struct gr_graph *g, gr_vertex target,
				     uint32_t max_paths,
				     const struct gr_edge_filter *filter,
				     const struct gr_poll *poll,
				     struct gr_root_paths *ret)
{
	struct gr_error *err =
		gr_graph_need(g, GR_PART_NEAREST | GR_PART_REVERSE, poll);

	if (err)
		return err;
	assert(target < g->nvertices);
	_cleanup_(search_deinit) struct search s = {
		.g = g,
		.filter = filter,
		.max_paths = max_paths,
		.seen = gr_graph_bitmap(g),
	};
	if (!s.seen)
		return gr_budget_error(g->budget);
	err = run(&s, target, poll, &ret->is_complete);
	if (!err)
		err = sort_paths(&s);
	if (err)
		return err;
	ret->nhops = s.hops.size;
	ret->npaths = s.paths.size;
	ret->hops = steal_ptr(s.hops.data);
	ret->paths = steal_ptr(s.paths.data);
	return NULL;
}

struct gr_error *gr_graph_parents(struct gr_graph *g,
				  const struct gr_edge_filter *filter,
				  const struct gr_poll *poll, gr_vertex **ret)
{
	uint64_t n = g->nvertices;
	_cleanup_array_ gr_vertex *parent =
		gr_array_alloc(g->budget, n, sizeof(*parent));
	_cleanup_array_ gr_vertex *order =
		gr_array_alloc(g->budget, n, sizeof(*order));
	gr_vertex nreached;

	if (!parent || !order)
		return gr_budget_error(g->budget);
	memset(parent, 0xff, n * sizeof(*parent));
	struct gr_error *err = gr_graph_search(g, filter->is_excluded,
					       filter->ctx, parent, order,
					       &nreached, poll);
	if (!err)
		*ret = steal_ptr(parent);
	return err;
}
