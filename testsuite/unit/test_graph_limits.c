// SPDX-License-Identifier: Apache-2.0
/* graph: memory that runs out, at each allocation; polls that end it, at each
 * poll; limits of bytes and numbers; several threads. */
#include "base/huge.h"
#include "graph/accumulate.h"
#include "graph/ahead.h"
#include "graph/children.h"
#include "graph/merged.h"
#include "graph/paths.h"
#include "graph/sets.h"

#include "graph_builder.h"

#include <pthread.h>

// --------------------------------------------------------------- out of memory

static bool is_armed;
static uint32_t left; /* allocations that succeed */
static bool has_failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

static bool fails(void)
{
	if (!is_armed || left--)
		return false;
	left = 0;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
	return fails() ? NULL : __real_realloc(p, bytes);
}

static uint64_t key_of(void *ctx, gr_vertex v)
{
	(void)ctx;
	return v % 3;
}

static bool is_weak(void *ctx, gr_vertex from, gr_vertex to)
{
	(void)ctx;
	return (from + to) % 4 == 0;
}

/* Each question once, and its answer given back. */
static struct gr_error *ask_paths(struct gr_graph *g,
				  const struct gr_poll *poll)
{
	const struct gr_edge_filter filter = { is_weak, NULL };
	const struct gr_merge_options options = { .key = key_of,
						  .max_rows = 100,
						  .filter = filter };
	struct gr_root_paths paths = { 0 };
	struct gr_merged_paths merged = { 0 };
	_cleanup_array_ uint64_t *all = gr_graph_bitmap(g);

	if (!all)
		return &gr_enomem;
	gr_bitmap_set_range(all, 0, g->nvertices);
	struct gr_error *err =
		gr_graph_root_paths(g, 0, UINT32_MAX, &filter, poll, &paths);
	gr_root_paths_deinit(&paths);
	if (!err)
		err = gr_graph_merge_paths(g, all, &options, poll, &merged);
	gr_merged_paths_deinit(&merged);
	return err;
}

static struct gr_error *ask_tree(struct gr_graph *g, const struct gr_poll *poll)
{
	const gr_vertex set[] = { 0, 1 };
	gr_vertex top = gr_graph_top(g);
	struct gr_child_groups groups = { 0 };
	struct gr_accumulation at;
	struct gr_kept kept;
	struct gr_error *err = gr_graph_need(g, GR_PART_CHILDREN, poll);

	if (!err)
		err = gr_graph_group_children(g, &top, 1, key_of, NULL, poll,
					      &groups);
	gr_child_groups_deinit(&groups);
	if (!err)
		err = gr_graph_accumulation(g, top, 70, poll, &at);
	if (!err)
		err = gr_graph_keeps(g, set, 2, poll, NULL, &kept);
	return err;
}

static struct gr_error *ask(struct gr_graph *g, const struct gr_poll *poll)
{
	struct gr_error *err = gr_graph_need(g, GR_PART_ALL, poll);

	if (!err)
		err = ask_paths(g, poll);
	return err ? err : ask_tree(g, poll);
}

static struct gr_error *live(struct gr_budget *budget, struct build *b,
			     uint64_t *retained)
{
	_cleanup_(gr_cleanup_graph) struct gr_graph *g = NULL;
	struct gr_error *err = build_parts(budget, b, 3, &g);

	if (!err)
		err = gr_objects_add_types(g->objects, budget);
	if (!err)
		err = ask(g, NULL);
	if (!err)
		*retained = g->retained[gr_graph_top(g)];
	return err;
}

/* Nothing leaks, the error is that of memory, and what was told is true. */
TEST(out_of_memory)
{
	uint64_t seed = 31, retained = 0;
	struct build b;
	uint32_t nfailed = 0;

	for (int i = 0; i < 20; i++) {
		do
			build_random(&b, &seed);
		while (b.nobjects < 2 || !b.nroots);
		for (uint32_t n = 0;; n++) {
			struct gr_budget budget = { 0 };
			left = n;
			has_failed = false;
			is_armed = true;
			struct gr_error *err = live(&budget, &b, &retained);
			is_armed = false;
			assert_int_equal(budget.held_bytes, 0);
			if (err)
				assert_error_code(err, GR_ERROR_NO_MEMORY);
			else
				assert_int_equal(
					retained,
					naive_bytes(&b, naive_mark(&b, 0)));
			gr_error_destroy(err);
			if (!has_failed)
				break;
			nfailed++;
		}
	}
	assert_true(nfailed > 500);
}

// ----------------------------------------------------------------- large ones

enum { N = 75000, NROOTS = 10 };

/* A target by chance, but the same each time. */
static gr_vertex target_of(gr_vertex source, uint32_t i)
{
	uint64_t seed = source * UINT64_C(0x9e3779b97f4a7c15) + i + 1;

	suite_random(&seed);
	return suite_random(&seed) % N;
}

/* The edges of a part's sources, in a thread of its own. */
static void *fill(void *ctx)
{
	struct gr_edges *part = ctx;

	for (gr_vertex v = part->start; v < part->end; v++) {
		uint32_t n = v == 7 ? 100000 : v % 4;
		gr_edges_begin(part, v);
		for (uint32_t i = 0; i < n; i++)
			gr_edges_add(part, target_of(v, i));
		if (v >= N)
			gr_edges_add(part, v % N);
	}
	return NULL;
}

static struct gr_graph *make_large(struct gr_budget *budget, size_t nthreads)
{
	gr_vertex holders[NROOTS], end = N + NROOTS;
	struct gr_edges parts[4];
	pthread_t threads[4];
	struct gr_graph *graph = NULL;

	for (uint32_t i = 0; i < NROOTS; i++)
		holders[i] = end;
	for (size_t i = 0; i < nthreads; i++) {
		assert_null(gr_edges_init(
			&parts[i], budget, (uint64_t)end * i / nthreads,
			(uint64_t)end * (i + 1) / nthreads, N, 0));
		assert_int_equal(
			pthread_create(&threads[i], NULL, fill, &parts[i]), 0);
	}
	for (size_t i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	const struct gr_graph_spec spec = {
		.budget = budget,
		.objects = build_equal_objects(budget, N, 16),
		.parts = parts,
		.nparts = nthreads,
		.nroots = NROOTS,
		.holders = holders,
	};
	assert_null(gr_graph_create(&spec, &graph));
	return graph;
}

static void assert_equal_graphs(const struct gr_graph *a,
				const struct gr_graph *b)
{
	size_t n = a->nvertices;

	assert_memory_equal(a->first, b->first, (n + 1) * 4);
	assert_memory_equal(a->to, b->to, a->first[n] * sizeof(*a->to));
	assert_memory_equal(a->order, b->order, a->nreached * 4);
	assert_memory_equal(a->from, b->from, a->first[n] * 4);
	assert_memory_equal(a->idom, b->idom, n * 4);
	assert_memory_equal(a->retained, b->retained, n * 8);
	assert_memory_equal(a->child, b->child, (a->nreached - 1) * 4);
}

TEST(threads)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *one = make_large(&budget, 1);

	assert_null(gr_graph_need(one, GR_PART_ALL, NULL));
	for (size_t i = 2; i <= 4; i++) {
		struct gr_graph *more = make_large(&budget, i);
		assert_null(gr_graph_need(more, GR_PART_ALL, NULL));
		assert_equal_graphs(one, more);
		gr_graph_destroy(more);
	}
	gr_graph_destroy(one);
	assert_int_equal(budget.held_bytes, 0);
}

/* The reverse edges are equal when a thread makes them while other parts are
 * made. When they are not wanted, they are whole or absent. */
TEST(ahead)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *one = make_large(&budget, 1);
	struct gr_graph *other = make_large(&budget, 1);
	struct gr_ahead ahead;

	assert_null(gr_graph_need(one, GR_PART_ALL, NULL));
	uint64_t whole_bytes = budget.held_bytes;
	gr_ahead_begin(&ahead, other);
	assert_true(ahead.is_started);
	assert_null(gr_graph_need(other, GR_PART_DOMINATORS | GR_PART_CHILDREN,
				  NULL));
	assert_null(gr_ahead_end(&ahead, true, NULL));
	assert_int_equal(gr_graph_parts(other), GR_PART_ALL);
	assert_equal_graphs(one, other);
	gr_graph_drop(other, GR_PART_REVERSE);
	uint64_t held_bytes = budget.held_bytes;
	for (int i = 0; i < 20; i++) {
		gr_ahead_begin(&ahead, other);
		assert_null(gr_ahead_end(&ahead, false, NULL));
		assert_true(!other->from == !other->rfirst);
		assert_null(gr_graph_need(other, GR_PART_ALL, NULL));
		assert_equal_graphs(one, other);
		gr_graph_drop(other, GR_PART_REVERSE);
		assert_int_equal(budget.held_bytes, held_bytes);
	}
	// Memory that is too short leaves the part absent, without an error.
	budget.limit_bytes = budget.held_bytes + 64;
	gr_ahead_begin(&ahead, other);
	assert_null(gr_ahead_end(&ahead, true, NULL));
	assert_null(other->from);
	assert_int_equal(budget.held_bytes, held_bytes);
	assert_true(whole_bytes < budget.peak_bytes);
	gr_graph_destroy(one);
	gr_graph_destroy(other);
	assert_int_equal(budget.held_bytes, 0);
}

// ---------------------------------------------------------------------- polls

static uint32_t polls_left;

static struct gr_error *poll_some(void *ctx)
{
	++*(uint32_t *)ctx;
	if (polls_left--)
		return NULL;
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

/* Ended at each poll in turn, all parts are whole or absent, and made again
 * they are equal. */
TEST(ended_by_poll)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *g = make_large(&budget, 1);
	struct gr_graph *whole = make_large(&budget, 1);
	uint32_t npolls = 0;
	const struct gr_poll poll = { poll_some, &npolls };

	assert_null(gr_graph_need(whole, GR_PART_ALL, NULL));
	for (uint32_t n = 0;; n++) {
		struct gr_budget before = budget;
		polls_left = n;
		npolls = 0;
		struct gr_error *err = ask(g, &poll);
		if (!err)
			break;
		assert_int_equal(npolls, n + 1);
		assert_error_code(err, GR_ERROR_INTERRUPTED);
		gr_error_destroy(err);
		if (n % 16 == 0) {
			assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
			assert_equal_graphs(g, whole);
		}
		gr_graph_drop(g, GR_PART_ALL);
		assert_int_equal(budget.held_bytes, before.held_bytes);
	}
	assert_in_range(g->nreached, N / 2, N);
	assert_true(npolls > 60);
	assert_equal_graphs(g, whole);
	gr_graph_destroy(g);
	gr_graph_destroy(whole);
	assert_int_equal(budget.held_bytes, 0);
}

// --------------------------------------------------------------------- limits

static void assert_rises(const uint64_t *array, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(array[i], i);
}

/* An array keeps its elements when it becomes large and when it no longer is,
 * and a limit that refuses leaves it as it was. */
TEST(array_lengths)
{
	static const uint64_t counts[] = { 10,	    3 << 20, 5 << 20,
					   100,	    4 << 20, 4 << 20,
					   2 << 20, 1,	     6 << 20 };
	struct gr_budget budget = { 0 };
	uint64_t *array = gr_array_calloc(&budget, 1, sizeof(*array));
	uint64_t before = 1;

	assert_non_null(array);
	for (size_t i = 0; i < GR_ARRAY_SIZE(counts); i++) {
		uint64_t count = counts[i];
		array = gr_array_resize(array, count, sizeof(*array));
		assert_non_null(array);
		assert_rises(array, before < count ? before : count);
		assert_true(budget.held_bytes >= count * sizeof(*array));
		for (uint64_t j = before; j < count; j++)
			array[j] = j;
		before = count;
	}
	budget.limit_bytes = budget.held_bytes;
	assert_null(gr_array_resize(array, 9 << 20, sizeof(*array)));
	assert_true(budget.is_exceeded);
	assert_rises(array, before);
	gr_array_free(array);
	assert_int_equal(budget.held_bytes, 0);
	gr_huge_hold();
	gr_array_free(gr_array_alloc(&budget, 3 << 20, sizeof(*array)));
	array = gr_array_calloc(&budget, 3 << 20, sizeof(*array));
	for (uint64_t j = 0; j < 3 << 20; j++)
		assert_int_equal(array[j], 0);
	gr_array_free(array);
	gr_huge_release();
}

/* A large array that becomes small is copied. It keeps its place if the limit
 * leaves no room for both. */
TEST(shrink)
{
	struct gr_budget budget = { .limit_bytes = 20 << 20 };
	uint32_t *array = gr_array_alloc(&budget, 4 << 20, sizeof(*array));

	assert_non_null(array);
	array[1 << 18] = 42;
	array = gr_array_resize(array, 2 << 20, sizeof(*array));
	assert_non_null(array);
	assert_int_equal(array[1 << 18], 42);
	assert_true(budget.held_bytes <= budget.limit_bytes);
	gr_array_free(array);
	assert_int_equal(budget.held_bytes, 0);
}

/* With any limit the answer is the right one or a clear line. */
TEST(memory_limit)
{
	struct gr_budget other = { 0 }, budget = { 0 };
	struct gr_graph *whole = make_large(&other, 1);
	struct gr_graph *g = make_large(&budget, 1);
	uint32_t ndropped = 0, nfailed = 0;

	assert_null(gr_graph_need(whole, GR_PART_ALL, NULL));
	for (uint64_t limit = other.peak_bytes; limit > budget.held_bytes;
	     limit -= other.peak_bytes / 50) {
		budget.limit_bytes = limit;
		struct gr_error *err = gr_graph_need(g, GR_PART_REVERSE, NULL);
		if (!err)
			err = gr_graph_need(g, GR_PART_DOMINATORS, NULL);
		assert_true(budget.held_bytes <= limit);
		if (err) {
			assert_error_code(err, GR_ERROR_NO_MEMORY);
			assert_non_null(strstr(err->message, "memory limit"));
			nfailed++;
		} else {
			ndropped += !g->from;
			assert_memory_equal(g->retained, whole->retained,
					    g->nvertices * 8);
		}
		gr_error_destroy(err);
		gr_graph_drop(g, GR_PART_ALL);
	}
	assert_true(ndropped && nfailed);
	budget.limit_bytes = 0;
	assert_null(gr_graph_need(g, GR_PART_ALL, NULL));
	assert_equal_graphs(g, whole);
	gr_graph_destroy(g);
	gr_graph_destroy(whole);
}

static void expect_limit(struct gr_error *err, const char *text)
{
	assert_error_code(err, GR_ERROR_LIMIT);
	assert_non_null(strstr(err->message, text));
	gr_error_destroy(err);
}

/* 2^32 - 1 edges, without the memory for them. */
TEST(too_many_edges)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *graph = NULL;
	struct gr_edges part;
	const gr_vertex top = N + 1;

	assert_null(gr_edges_init(&part, &budget, 0, N + 1, N, 0));
	gr_edges_begin(&part, 0);
	part.size = part.capacity = GR_VERTEX_NONE - 1;
	gr_edges_add(&part, 0);
	assert_true(part.is_too_many);
	gr_edges_add(&part, 0);
	const struct gr_graph_spec spec = {
		.budget = &budget,
		.objects = build_equal_objects(&budget, N, 16),
		.parts = &part,
		.nparts = 1,
		.nroots = 1,
		.holders = &top,
	};
	expect_limit(gr_graph_create(&spec, &graph), "too many pointers");
	assert_int_equal(budget.held_bytes, 0);
}

TEST(too_many_vertices)
{
	struct gr_budget budget = { 0 };
	struct gr_graph *graph = NULL;
	struct gr_edges part;
	const gr_vertex top = N;

	assert_null(gr_edges_init(&part, &budget, 0, N, N, 0));
	const struct gr_graph_spec spec = {
		.budget = &budget,
		.objects = build_equal_objects(&budget, N, 16),
		.parts = &part,
		.nparts = 1,
		.nroots = UINT32_MAX - N,
		.holders = &top,
	};
	expect_limit(gr_graph_create(&spec, &graph), "too many objects");
	assert_int_equal(budget.held_bytes, 0);
}

TEST(too_many_slots)
{
	struct gr_budget budget = { 0 };
	struct gr_objects *objects = NULL;
	const uint64_t none = 0;
	const struct gr_run_spec runs[] = {
		{ .base = 0, .elem_bytes = 8, .nslots = UINT32_C(1) << 31 },
		{ .base = UINT64_C(1) << 34,
		  .elem_bytes = 8,
		  .nslots = UINT32_C(1) << 31 },
	};

	expect_limit(gr_objects_create(&budget, runs, 2, 2, &none, &objects),
		     "too many object slots");
	assert_int_equal(budget.held_bytes, 0);
}

GR_SUITE("graph limits")
