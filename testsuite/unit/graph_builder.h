/* SPDX-License-Identifier: Apache-2.0 */
/**
 * graph_builder: small graphs from lists of edges, and what follows from them
 * by the plainest of algorithms, to hold the fast ones against.
 */
#pragma once

#include "graph/graph.h"
#include "graph/internal.h"

#include "suite.h"

enum { BUILD_MAX_VERTICES = 64, BUILD_MAX_EDGES = 512 };

struct build_edge {
	gr_vertex from, to;
};

/** A graph as a list. Edges are sorted by source when a graph is made. */
struct build {
	gr_vertex nobjects, nroots, ngroups;
	gr_vertex nsecond; /* objects in the second sequence of runs */
	uint64_t bytes[BUILD_MAX_VERTICES];
	struct build_edge edges[BUILD_MAX_EDGES];
	uint32_t nedges;
	gr_vertex holders[BUILD_MAX_VERTICES];
	bool has_ranks;
	uint8_t ranks[BUILD_MAX_VERTICES];
};

static inline gr_vertex build_top(const struct build *b)
{
	return b->nobjects + b->nroots + b->ngroups;
}

static inline uint32_t build_below(uint64_t *seed, uint32_t n)
{
	return (suite_random(seed) >> 16) % n;
}

/** @p n objects of @p bytes in one run. */
static inline struct gr_objects *
build_equal_objects(struct gr_budget *budget, gr_vertex n, uint32_t bytes)
{
	const struct gr_run_spec run = { .base = 0x10000,
					 .elem_bytes = bytes,
					 .nslots = n };
	struct gr_objects *objects = NULL;
	uint64_t *slots = calloc(n / 64 + 1, sizeof(*slots));

	assert_non_null(slots);
	gr_bitmap_set_range(slots, 0, n);
	assert_null(gr_objects_create(budget, &run, 1, 1, slots, &objects));
	free(slots);
	return objects;
}

/** A run for each object: sizes differ. The last @p nsecond are a second
 * sequence. */
static inline struct gr_error *build_two_sequences(struct gr_budget *budget,
						   const uint64_t *bytes,
						   gr_vertex nobjects,
						   gr_vertex nsecond,
						   struct gr_objects **ret)
{
	struct gr_run_spec *runs = calloc(nobjects + 1, sizeof(*runs));
	uint64_t *slots = calloc(nobjects / 64 + 1, sizeof(*slots));
	uint64_t base = 0x1000;
	struct gr_error *err = &gr_enomem;

	for (gr_vertex v = 0; runs && slots && v < nobjects; v++) {
		runs[v] = (struct gr_run_spec){ .base = base,
						.elem_bytes = bytes[v],
						.nslots = 1 };
		base += bytes[v];
		gr_bitmap_set(slots, v);
	}
	if (runs && slots)
		err = gr_objects_create(budget, runs, nobjects - nsecond,
					nobjects, slots, ret);
	free(runs);
	free(slots);
	return err;
}

static inline struct gr_error *build_objects(struct gr_budget *budget,
					     const uint64_t *bytes,
					     gr_vertex nobjects,
					     struct gr_objects **ret)
{
	return build_two_sequences(budget, bytes, nobjects, 0, ret);
}

static inline int build_compare(const void *a, const void *b)
{
	const struct build_edge *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/** The edges of sources [start, end). */
static inline struct gr_error *build_part(struct gr_budget *budget,
					  const struct build *b,
					  gr_vertex start, gr_vertex end,
					  struct gr_edges *ret)
{
	struct gr_error *err =
		gr_edges_init(ret, budget, start, end, b->nobjects, 0);

	for (uint32_t i = 0; !err && i < b->nedges; i++) {
		const struct build_edge *edge = &b->edges[i];
		if (edge->from < start || edge->from >= end)
			continue;
		if (!i || edge[-1].from != edge->from)
			gr_edges_begin(ret, edge->from);
		gr_edges_add(ret, edge->to);
	}
	return err;
}

/** The graph, its edges from @p nparts parts. */
static inline struct gr_error *build_parts(struct gr_budget *budget,
					   struct build *b, size_t nparts,
					   struct gr_graph **ret)
{
	struct gr_edges parts[8] = { 0 };
	struct gr_objects *objects = NULL;
	gr_vertex n = b->nobjects + b->nroots;
	struct gr_error *err = build_two_sequences(
		budget, b->bytes, b->nobjects, b->nsecond, &objects);

	assert_true(nparts <= GR_ARRAY_SIZE(parts));
	qsort(b->edges, b->nedges, sizeof(*b->edges), build_compare);
	for (size_t i = 0; !err && i < nparts; i++)
		err = build_part(budget, b, n * i / nparts,
				 n * (i + 1) / nparts, &parts[i]);
	if (err) {
		for (size_t i = 0; i < nparts; i++)
			gr_edges_deinit(&parts[i]);
		gr_objects_destroy(objects);
		return err;
	}
	const struct gr_graph_spec spec = {
		.budget = budget,
		.objects = objects,
		.parts = parts,
		.nparts = nparts,
		.nroots = b->nroots,
		.ngroups = b->ngroups,
		.holders = b->holders,
		.ranks = b->has_ranks ? b->ranks : NULL,
	};
	return gr_graph_create(&spec, ret);
}

static inline struct gr_graph *build(struct gr_budget *budget, struct build *b)
{
	struct gr_graph *graph = NULL;

	assert_null(build_parts(budget, b, 1, &graph));
	return graph;
}

static inline void build_edge(struct build *b, gr_vertex from, gr_vertex to)
{
	assert_true(b->nedges < BUILD_MAX_EDGES);
	b->edges[b->nedges++] = (struct build_edge){ from, to };
}

/** A graph by chance: loops, parallel edges, garbage, empty groups. */
static inline void build_random(struct build *b, uint64_t *seed)
{
	*b = (struct build){
		.nobjects = build_below(seed, 40),
		.nroots = build_below(seed, 8),
		.ngroups = build_below(seed, 4),
	};
	b->nsecond = b->nobjects % 4 ? b->nobjects / 3 : 0;
	uint32_t density = build_below(seed, 30);
	uint32_t nedges = (b->nobjects + b->nroots) * density / 10;
	uint32_t nheld = b->nroots + b->ngroups;

	if (!b->nobjects)
		nedges = 0;
	for (gr_vertex v = 0; v < b->nobjects; v++)
		b->bytes[v] = (UINT64_C(1) + build_below(seed, 1000))
			      << build_below(seed, 30);
	for (uint32_t i = 0; i < nedges; i++)
		build_edge(b, build_below(seed, b->nobjects + b->nroots),
			   build_below(seed, b->nobjects));
	for (uint32_t i = 0; i < nheld; i++) {
		// A group behind its own number, or the top.
		gr_vertex low = i < b->nroots ? 0 : i - b->nroots + 1;
		uint32_t ngroups = b->ngroups + 1 - low;
		b->holders[i] = b->nobjects + b->nroots + low +
				build_below(seed, ngroups);
	}
}

/** Give the roots ranks by chance. */
static inline void build_ranks(struct build *b, uint64_t *seed)
{
	b->has_ranks = true;
	for (gr_vertex i = 0; i < b->nroots; i++)
		b->ranks[i] = build_below(seed, GR_RANKS);
}

/**
 * A mark from the top and from @p begin, which never enters @p without. Bits
 * are of one word: all vertices have numbers below 64.
 */
static inline uint64_t naive_mark_from(const struct build *b, uint64_t begin,
				       uint64_t without)
{
	uint64_t marked = ((UINT64_C(1) << build_top(b)) & ~without) | begin;
	uint64_t before;

	do {
		before = marked;
		for (uint32_t i = 0; i < b->nedges; i++)
			if (marked >> b->edges[i].from & 1)
				marked |= UINT64_C(1) << b->edges[i].to &
					  ~without;
		for (uint32_t i = 0; i < b->nroots + b->ngroups; i++)
			if (marked >> b->holders[i] & 1)
				marked |= UINT64_C(1) << (b->nobjects + i) &
					  ~without;
	} while (marked != before);
	return marked;
}

static inline uint64_t naive_mark(const struct build *b, uint64_t without)
{
	return naive_mark_from(b, 0, without);
}

static inline uint64_t naive_bytes(const struct build *b, uint64_t vertices)
{
	uint64_t bytes = 0;

	for (gr_vertex v = 0; v < b->nobjects; v++)
		if (vertices >> v & 1)
			bytes += b->bytes[v];
	return bytes;
}

/** The bytes of those that are in the second sequence of runs. */
static inline uint64_t naive_second_bytes(const struct build *b,
					  uint64_t vertices)
{
	uint64_t first = (UINT64_C(1) << (b->nobjects - b->nsecond)) - 1;

	return naive_bytes(b, vertices & ~first);
}
