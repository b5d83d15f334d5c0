// SPDX-License-Identifier: Apache-2.0
/*
 * heapgraph: blocks of C beside random heaps. Edges and what is reached are
 * those that a naive search finds; the arrays are on account of the budget.
 */
#include "allocations.h"
#include "heapgraph_service.h"
#include "polls.h"

#include <elf.h>

#define BLOCKS UINT64_C(0x7f0000000000)
#define C_DATA UINT64_C(0x7f1000000000)
#define LARGE UINT64_C(0x7e0000000000)

enum {
	NBLOCKS = 400,
	MOST_BLOCK_BYTES = 128,
	AREA_BYTES = NBLOCKS * MOST_BLOCK_BYTES * 2,
	C_DATA_BYTES = 0x1000,
	NROUNDS = 20,
	MOST_FAILURES = 2000,
	LARGE_BYTES = 256 << 20,
	MOST_BYTES_OF_POLL = 16 << 20,
	EDGES = 4 << 20,
	MOST_EDGES_OF_POLL = 1 << 19,
};

struct fixture_c {
	struct service s;
	struct gr_range_vector pieces;
	struct gr_ranges ranges;
	struct gr_native native;
	struct gr_residency residency;
	struct gr_heap_arenas go_arenas;
	struct gr_sys_memory sys_memory;
	struct gr_c_threads threads;
	struct gr_c_roots_spec roots;
};

static uint64_t word_at(struct fixture_c *f, uint64_t addr)
{
	uint64_t word;

	memcpy(&word, fake_find(&f->s.w.f->image, addr, 8), 8);
	return word;
}

/* An address in some block, or in none; NULL mostly. */
static uint64_t random_block(struct fixture_c *f, unsigned int rarity)
{
	struct world *w = &f->s.w;
	const struct gr_block_vector *list = &f->native.blocks.list;

	if (below(w, rarity))
		return 0;
	uint64_t addr = list->data[below(w, list->size)].addr;
	return addr + below(w, 3) * below(w, MOST_BLOCK_BYTES);
}

static void make_blocks(struct fixture_c *f)
{
	struct world *w = &f->s.w;
	uint64_t addr = BLOCKS + 16, dropped;

	fake_add(&w->f->image, BLOCKS, AREA_BYTES);
	fake_add(&w->f->image, C_DATA, C_DATA_BYTES);
	for (unsigned int i = 0; i < NBLOCKS; i++) {
		const struct gr_block block = {
			.addr = addr,
			.units = 4 + 2 * below(w, MOST_BLOCK_BYTES / 16 - 2),
			.header_words = 1,
		};

		assert_true(
			gr_block_vector_append(&f->native.blocks.list, block));
		addr += gr_block_bytes(&block) + 16 * below(w, 2);
	}
	assert_null(gr_blocks_index(&f->native.blocks, &w->f->rt, &dropped));
	assert_int_equal(dropped, 0);
}

/* Words that were nil lead to blocks: no walk sees a difference. */
static void put_words(struct fixture_c *f, uint64_t start, uint64_t end,
		      unsigned int rarity)
{
	for (uint64_t at = start; at < end; at += 8)
		if (!word_at(f, at))
			fake_set(&f->s.w.f->image, at, random_block(f, rarity),
				 8);
}

static void make_ranges(struct fixture_c *f)
{
	struct gr_image *image = &f->s.w.f->image;
	static const struct gr_target target;

	for (size_t i = 0; i < image->npieces; i++)
		assert_true(gr_range_vector_append(
			&f->pieces,
			(struct gr_range){ image->pieces[i].addr,
					   image->pieces[i].addr +
						   image->pieces[i].bytes,
					   image->pieces[i].data }));
	assert_null(gr_ranges_init(&f->ranges, &f->pieces, &target));
	image->ranges = &f->ranges;
}

static struct fixture_c *fixture_create(uint64_t seed)
{
	struct fixture_c *f = suite_alloc(sizeof(*f));
	const struct gr_mapping data = { .start = C_DATA,
					 .end = C_DATA + C_DATA_BYTES,
					 .flags = PF_R | PF_W };

	service_init(&f->s, seed);
	make_blocks(f);
	put_words(f, HEAP, HEAP + NPAGES * PAGE, 40);
	put_words(f, BLOCKS, BLOCKS + AREA_BYTES, 20);
	put_words(f, C_DATA, C_DATA + C_DATA_BYTES, 50);
	make_ranges(f);
	assert_true(
		gr_mapping_vector_append(&f->residency.mappings.list, data));
	f->roots = (struct gr_c_roots_spec){ .rt = &f->s.w.f->rt,
					     .residency = &f->residency,
					     .go_arenas = &f->go_arenas,
					     .sys_memory = &f->sys_memory,
					     .native = &f->native,
					     .threads = &f->threads };
	return f;
}

static void fixture_destroy(struct fixture_c *f)
{
	gr_native_deinit(&f->native);
	gr_mapping_vector_deinit(&f->residency.mappings.list);
	gr_ranges_deinit(&f->ranges);
	gr_range_vector_deinit(&f->pieces);
	service_deinit(&f->s);
	free(f);
}

static struct gr_error *make(struct fixture_c *f, unsigned int nthreads,
			     uint64_t limit_bytes, struct gr_heap_graph **ret)
{
	const struct gr_heap_graph_spec spec = {
		.heap = f->s.w.heap,
		.sched = &f->s.w.f->sched,
		.roots = &f->s.w.roots,
		.marking = &f->s.m,
		.native = &f->native,
		.c_roots = &f->roots,
		.limit_bytes = limit_bytes,
		.nthreads = nthreads,
	};

	*ret = NULL;
	return gr_heap_graph_create(&spec, ret);
}

// ------------------------------------------------------------------- edges

/* The block that has the address, as the first search that comes to mind. */
static uint32_t naive_find(const struct fixture_c *f, uint64_t addr)
{
	const struct gr_block_vector *list = &f->native.blocks.list;

	for (size_t i = 0; i < list->size; i++)
		// A pointer to the end of a block leads to it, too.
		if (addr >= list->data[i].addr &&
		    addr - list->data[i].addr <
			    gr_block_usable_bytes(&list->data[i]) +
				    (list->data[i].header_words == 1))
			return i;
	return GR_BLOCK_NONE;
}

/* The words of [start, end) that lead to blocks are the edges of v, in their
 * order. Without v, they only say what is reached. */
static void check_words(struct fixture_c *f, const struct gr_heap_graph *hg,
			gr_vertex v, uint64_t start, uint64_t end)
{
	const struct gr_graph *g = hg->graph;
	gr_vertex second = gr_objects_second(g->objects);
	uint32_t e = v == GR_VERTEX_NONE ? 0 : g->first[v];

	for (uint64_t at = start; at < end; at += 8) {
		uint32_t block = naive_find(f, word_at(f, at));

		if (block == GR_BLOCK_NONE)
			continue;
		if (v == GR_VERTEX_NONE) {
			assert_true(gr_graph_is_reached(g, second + block));
			continue;
		}
		while (e < g->first[v + 1] && g->to[e] < second)
			e++;
		assert_true(e < g->first[v + 1]);
		assert_int_equal(g->to[e++], second + block);
		if (v < second)
			assert_true(gr_graph_is_reached(g, second + block));
	}
	for (; v != GR_VERTEX_NONE && e < g->first[v + 1]; e++)
		assert_true(g->to[e] < second);
}

/* A block is reached from Go, from data of C, or from a reached block. */
static void check_reached(struct fixture_c *f, const struct gr_heap_graph *hg)
{
	const struct gr_graph *g = hg->graph;
	gr_vertex second = gr_objects_second(g->objects);
	uint32_t nreached = 0;

	for (uint32_t i = 0; i < NBLOCKS; i++) {
		const struct gr_block *b = &f->native.blocks.list.data[i];
		bool is_reached = gr_graph_is_reached(g, second + i);

		nreached += is_reached;
		assert_true(gr_vertex_is_block(g, second + i));
		assert_ptr_equal(gr_vertex_block(hg, second + i), b);
		assert_int_equal(gr_objects_addr(g->objects, second + i),
				 b->addr);
		assert_int_equal(gr_objects_bytes(g->objects, second + i),
				 gr_block_bytes(b));
		check_words(f, hg, second + i, b->addr,
			    b->addr + gr_block_usable_bytes(b));
		if (is_reached)
			check_words(f, hg, GR_VERTEX_NONE, b->addr,
				    b->addr + gr_block_usable_bytes(b));
	}
	assert_in_range(nreached, 1, NBLOCKS - 1);
}

static void check_objects(struct fixture_c *f, const struct gr_heap_graph *hg)
{
	const struct gr_heap *heap = f->s.w.heap;
	const struct gr_objects *objects = hg->graph->objects;
	uint32_t nfound = 0;

	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		for (uint32_t k = 0; k < span->nelems; k++) {
			gr_vertex v =
				gr_object_vertex(objects, span->first_obj + k);
			uint64_t addr = gr_span_slot_addr(span, k);

			if (v == GR_VERTEX_NONE)
				continue;
			nfound++;
			check_words(f, hg, v,
				    addr + (gr_span_has_edges(span) ?
						    span->header_bytes :
						    0),
				    addr + span->elem_bytes);
		}
	}
	assert_int_equal(nfound, gr_objects_second(objects));
}

TEST(random)
{
	for (uint64_t seed = 200; seed < 200 + NROUNDS; seed++) {
		struct fixture_c *f = fixture_create(seed);
		struct gr_heap_graph *hg;

		for (unsigned int n = 1; n <= 3; n++) {
			assert_null(make(f, n, 0, &hg));
			assert_null(gr_graph_need(hg->graph, GR_PART_NEAREST,
						  NULL));
			check_objects(f, hg);
			check_reached(f, hg);
			check_words(f, hg, GR_VERTEX_NONE, C_DATA,
				    C_DATA + C_DATA_BYTES);
			gr_heap_graph_destroy(hg);
		}
		fixture_destroy(f);
	}
}

// ------------------------------------------------------------------- limits

/* With each limit, either there is a graph, or an error says what was missing;
 * no allocation is larger than the limit. */
TEST(limit)
{
	struct fixture_c *f = fixture_create(7);
	struct gr_heap_graph *hg;
	uint64_t limit = 1;

	do {
		f->s.w.f->image.limit_bytes = limit;
		allocations_begin();
		struct gr_error *err = make(f, 2, limit, &hg);
		uint64_t most = allocations_end();
		assert_true(!err == !!hg);
		// The pointer bits and their states are not the graph's.
		assert_true(most <= limit + 4096);
		assert_true(!err || err->code == GR_ERROR_NO_MEMORY ||
			    err->code == GR_ERROR_MEMORY_LIMIT);
		gr_error_destroy(err);
		limit = limit * 5 / 4 + 1;
	} while (!hg && limit < UINT64_C(1) << 40);
	assert_true(limit > 1024 && hg && hg->budget.peak_bytes < limit);
	gr_heap_graph_destroy(hg);
	fixture_destroy(f);
}

TEST(no_memory)
{
	struct fixture_c *f = fixture_create(8);
	struct gr_heap_graph *hg;
	uint64_t left = 0;

	do {
		allocations_limit(left++);
		struct gr_error *err = make(f, 1, 0, &hg);
		allocations_end();
		assert_true(!err == !!hg);
		assert_true(!err || err->code == GR_ERROR_NO_MEMORY);
		gr_error_destroy(err);
	} while (!hg && left < MOST_FAILURES);
	assert_true(hg && left > 20);
	gr_heap_graph_destroy(hg);
	fixture_destroy(f);
}

TEST(poll_ends_it)
{
	struct fixture_c *f = fixture_create(9);
	struct gr_heap_graph *hg;
	uint64_t allowed = 0, left;

	f->s.w.f->rt.poll = suite_refuse;
	f->s.w.f->rt.poll_ctx = &left;
	do {
		left = allowed;
		f->s.w.f->rt.steps = GR_POLL_STEPS;
		struct gr_error *err = make(f, 1, 0, &hg);
		assert_true(!err == !!hg);
		if (err)
			assert_string_equal(err->message, "interrupted");
		gr_error_destroy(err);
	} while (!hg && allowed++ < 1000);
	assert_true(allowed && hg);
	gr_heap_graph_destroy(hg);
	fixture_destroy(f);
}

/* The last span becomes one of large objects without pointers. Its first object
 * that was reached lies at LARGE, and no other has memory. */
static void enlarge(struct fixture_c *f)
{
	struct gr_heap *heap = f->s.w.heap;
	struct gr_span *span = &heap->spans[heap->nspans - 1];
	struct gr_heap_graph *hg;
	uint64_t i = 0;

	assert_null(make(f, 1, 0, &hg));
	while (gr_object_vertex(hg->graph->objects, span->first_obj + i) ==
	       GR_VERTEX_NONE)
		assert_true(++i < span->nelems);
	gr_heap_graph_destroy(hg);
	span->is_noscan = true;
	span->elem_bytes = LARGE_BYTES;
	span->base_addr = LARGE - i * LARGE_BYTES;
	span->limit_addr = 0; // no address leads to it
	fake_add(&f->s.w.f->image, LARGE, LARGE_BYTES);
	gr_ranges_deinit(&f->ranges);
	f->pieces.size = 0;
	make_ranges(f);
}

static uint64_t polls_of(struct fixture_c *f)
{
	struct polls polls;
	struct gr_heap_graph *hg;

	polls_set(&polls, &f->s.w.f->rt, 0);
	assert_null(make(f, 1, 0, &hg));
	f->s.w.f->rt.poll = NULL;
	gr_heap_graph_destroy(hg);
	return polls.seen;
}

/* An object of many megabytes is read with many polls. */
TEST(large_object)
{
	struct fixture_c *f = fixture_create(10);
	struct polls polls;
	struct gr_heap_graph *hg;
	uint64_t before = polls_of(f);

	enlarge(f);
	uint64_t seen = polls_of(f);
	assert_true(seen >= before + LARGE_BYTES / MOST_BYTES_OF_POLL);
	for (uint64_t last = 1; last <= seen; last++) {
		polls_set(&polls, &f->s.w.f->rt, last);
		polls_check_ended(&polls, make(f, 1, 0, &hg));
	}
	fixture_destroy(f);
}

/* So are its edges to blocks, of which it may have millions. */
TEST(many_edges)
{
	struct fixture_c *f = fixture_create(11);
	uint64_t block = f->native.blocks.list.data[0].addr;

	enlarge(f);
	uint64_t before = polls_of(f);
	for (uint64_t i = 0; i < EDGES; i++)
		fake_set(&f->s.w.f->image, LARGE + i * 8, block, 8);
	assert_true(polls_of(f) >= before + EDGES / MOST_EDGES_OF_POLL);
	fixture_destroy(f);
}

GR_SUITE("heapgraph with blocks of C")
