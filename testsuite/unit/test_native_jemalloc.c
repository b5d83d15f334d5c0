// SPDX-License-Identifier: Apache-2.0
/*
 * jemalloc 5.3.0: the blocks of a heap that is laid out by hand, and damage of
 * its structures: loops, counts and trees that have no end. An arena that does
 * not fit its counters is not checked.
 */
#include "native/allocators/jemalloc.h"
#include "native/allocators/read.h"

#include "fake_image.h"
#include "polls.h"
#include "suite.h"

#include <elf.h>

/* The library: its text, and its data. */
#define TEXT UINT64_C(0x7ffff7a00000)
#define DATA UINT64_C(0x7ffff7800000)
#define FIRST_BASE (DATA + 0x50)
#define ARENAS (DATA + 0x100)
#define BIN_INFOS (DATA + 0x9000)
#define ROOT (DATA + 0xa000 + 120)
#define DATA_BYTES 0x60000

/* A base block: the base, an arena, extents, a node and a leaf. */
#define BLOCK UINT64_C(0x7ffff6000000)
#define BASE (BLOCK + 192)
#define ARENA (BLOCK + 0x2000)
#define EXTENT(i) (BLOCK + 0x20000 + 128 * (uint64_t)(i))
#define NODE (BLOCK + 0x40000)
#define LEAF (BLOCK + 0x80000)

/* Two slabs, a large extent, a dirty one and a retained one. */
#define HEAP UINT64_C(0x7ffff5000000)
#define SMALL HEAP
#define SLAB (HEAP + 0x1000)
#define LARGE (HEAP + 0x2000)
#define DIRTY (HEAP + 0x7000)
#define RETAINED (HEAP + 0x9000)
#define HEAP_BYTES 0x10000
#define STACKS (SLAB + 64 * 9)

/* Blocks like the first one of a base. */
#define DECOYS UINT64_C(0x7ffff8000000)

/* A thread's cache. */
#define TLS UINT64_C(0x7ffff4000000)
#define FAST (TLS + 0x100)
#define SLOW (TLS + 0xa00)
#define DESCRIPTOR (SLOW + 16)

enum {
	BIN_BYTES = 224,
	STATS = 112,
	SLABCUR = 192,
	NACTIVE = 10656,
	NDIRTY = 10728 + 9752,
	NRETAINED = 49608 + 9752,
	LSTATS = 976,
	RING = 10400,
	CLASS8 = 0,    /* of SMALL */
	CLASS64 = 4,   /* of SLAB */
	CLASS16K = 36, /* of LARGE */
	NONE = GR_JE_NSIZES,
	USED8 = 3,   /* regions of SMALL, from its start on */
	USED64 = 10, /* of SLAB; the last one has the stacks */
	CACHED = 2,  /* regions of SLAB in the cache, the first ones */
	NBLOCKS = USED8 + USED64 - CACHED - 1 + 1,
};

struct world {
	struct gr_image image;
	struct gr_range_vector pieces;
	struct gr_ranges ranges;
	struct gr_runtime rt;
	struct gr_arena arena;
	struct gr_target target;
	struct gr_residency residency;
	struct gr_heap_arenas go_arenas;
	struct polls polls;
	struct gr_native native;
};

static void put(struct world *w, uint64_t addr, uint64_t word)
{
	fake_set(&w->image, addr, word, 8);
}

static void map(struct world *w, uint64_t start, uint64_t bytes, uint32_t flags,
		const char *path)
{
	struct gr_mapping m = { .start = start,
				.end = start + bytes,
				.flags = flags,
				.path = path };

	assert_true(gr_mapping_vector_append(&w->residency.mappings.list, m));
	fake_add(&w->image, start, bytes);
}

/* The first word of an extent. */
static uint64_t bits_of(unsigned int state, unsigned int szind, bool is_slab,
			unsigned int nfree)
{
	return (uint64_t)nfree << 28 | (uint64_t)szind << 20 | state << 17 |
	       is_slab << 12;
}

/* An extent, with the entry of its first page. */
static void put_extent(struct world *w, unsigned int i, uint64_t addr,
		       uint64_t bytes, uint64_t bits)
{
	uint64_t entry = LEAF + 16 * (addr >> 12 & 0x7fff);
	unsigned int szind = bits >> 20 & 0xff, state = bits >> 17 & 7;

	fake_words(&w->image, EXTENT(i), bits, addr, bytes);
	fake_words(&w->image, entry, EXTENT(i),
		   szind << 5 | state << 2 | (bits >> 12 & 1));
}

/* The regions from number @p used on are free. */
static void put_map(struct world *w, unsigned int i, unsigned int nregs,
		    unsigned int used)
{
	for (unsigned int k = used; k < nregs; k++) {
		uint64_t at = EXTENT(i) + GR_JE_EXTENT_MAP + k / 64 * 8, word;

		memcpy(&word, fake_find(&w->image, at, 8), 8);
		put(w, at, word | UINT64_C(1) << k % 64);
	}
}

static void put_bin(struct world *w, unsigned int bin, uint64_t slab,
		    uint64_t regions)
{
	uint64_t at = ARENA + 78952 + bin * BIN_BYTES;

	put(w, at + SLABCUR, slab);
	fake_words(&w->image, at + STATS, regions + 5, 5, 0, regions, 0, 0, 1,
		   0, 1);
}

static void put_roots(struct world *w)
{
	put(w, FIRST_BASE, BASE);
	put(w, ARENAS, ARENA);
	put(w, ROOT - 120, BASE);
	put(w, ROOT + 8 * (HEAP >> 42), NODE);
	put(w, NODE + 8 * (HEAP >> 27 & 0x7fff), LEAF);
	fake_words(&w->image, BLOCK, 2 << 20, 0);
	put(w, BASE + 160, BLOCK);
	put(w, BASE + 3896, 2 << 20);
	put(w, ARENA + 78936, BASE);
	for (unsigned int i = 0; i < GR_JE_NBINS; i++) {
		uint64_t bytes = gr_jemalloc_class_bytes(i);
		uint64_t slab = bytes > 4096 ? 4 * bytes : 4096;

		slab = (slab + 4095) & ~UINT64_C(4095);
		fake_words(&w->image, BIN_INFOS + 40 * i, bytes, slab,
			   slab / bytes | UINT64_C(1) << 32);
	}
}

/* A cache with the first regions of SLAB. Its smaller bins have no room. */
static void put_cache(struct world *w)
{
	uint64_t low = STACKS + 8, head = low + 8, end = head + 8 * CACHED;

	put(w, ARENA + RING, DESCRIPTOR);
	put(w, FAST, SLOW);
	fake_words(&w->image, DESCRIPTOR, DESCRIPTOR, DESCRIPTOR);
	put(w, SLOW + 40, ARENA);
	fake_words(&w->image, SLOW + 160, STACKS, FAST);
	fake_words(&w->image, STACKS, UINT64_C(0x7a7a7a7a7a7a7a7a), SLAB + 64,
		   SLAB, SLAB + 64, UINT64_C(0xa7a7a7a7a7a7a7a7));
	for (unsigned int i = 0; i <= CLASS64; i++) {
		uint64_t at = i < CLASS64 ? low : end;

		fake_words(&w->image, FAST + 8 + 24 * i,
			   i < CLASS64 ? low : head, 0,
			   (low & 0xffff) << 16 | (at & 0xffff) << 32);
	}
}

static struct world *create(void)
{
	static const char text[] =
		"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
	struct world *w = suite_alloc(sizeof(*w));

	map(w, TLS, 0x2000, PF_R | PF_W, NULL);
	map(w, HEAP, HEAP_BYTES, PF_R | PF_W, NULL);
	map(w, BLOCK, 2 << 20, PF_R | PF_W, NULL);
	map(w, DATA, DATA_BYTES, PF_R | PF_W, "/lib/libjemalloc.so.2");
	map(w, TEXT, 0x1000, PF_R | PF_X, "/lib/libjemalloc.so.2");
	memcpy(fake_find(&w->image, TEXT + 64, sizeof(text)), text,
	       sizeof(text));
	put_roots(w);
	put_extent(w, 0, SMALL, 0x1000,
		   bits_of(GR_JE_ACTIVE, CLASS8, true, 512 - USED8));
	put_map(w, 0, 512, USED8);
	put_extent(w, 1, SLAB, 0x1000,
		   bits_of(GR_JE_ACTIVE, CLASS64, true, 64 - USED64));
	put_map(w, 1, 64, USED64);
	put_extent(w, 2, LARGE + 0x40, 0x5000,
		   bits_of(GR_JE_ACTIVE, CLASS16K, false, 0));
	put_extent(w, 3, DIRTY, 0x2000, bits_of(GR_JE_DIRTY, NONE, false, 0));
	put_extent(w, 4, RETAINED, 0x7000,
		   bits_of(GR_JE_RETAINED, NONE, false, 0));
	put_bin(w, CLASS8, EXTENT(0), USED8);
	put_bin(w, CLASS64, EXTENT(1), USED64);
	put(w, ARENA + NACTIVE, 7);
	put(w, ARENA + NDIRTY, 2);
	put(w, ARENA + NRETAINED, 7);
	fake_words(&w->image, ARENA + LSTATS, 4, 3);
	put_cache(w);
	w->residency.kind = GR_RESIDENCY_EXACT;
	w->rt.image = &w->image;
	w->rt.arena = &w->arena;
	return w;
}

/* All that is mapped is at hand and resident. */
static void seal(struct world *w)
{
	const struct gr_mapping_vector *list = &w->residency.mappings.list;

	for (size_t i = 0; i < list->size; i++) {
		const struct gr_mapping *m = &list->data[i];
		const struct gr_resident row = { m->start, m->end, i, true,
						 false };
		const struct gr_range range = { m->start, m->end,
						fake_find(&w->image, m->start,
							  m->end - m->start) };

		assert_true(
			gr_resident_vector_append(&w->residency.ranges, row));
		assert_true(gr_range_vector_append(&w->pieces, range));
	}
	assert_null(gr_ranges_init(&w->ranges, &w->pieces, &w->target));
	w->image.ranges = &w->ranges;
}

static void destroy(struct world *w)
{
	gr_native_deinit(&w->native);
	gr_ranges_deinit(&w->ranges);
	gr_range_vector_deinit(&w->pieces);
	gr_mapping_vector_deinit(&w->residency.mappings.list);
	gr_resident_vector_deinit(&w->residency.ranges);
	gr_arena_deinit(&w->arena);
	fake_deinit(&w->image);
	free(w);
}

/* Read the allocator. Poll number @p last refuses; 0: none does. */
static struct gr_error *read_it(struct world *w, uint64_t last)
{
	const struct gr_native_spec spec = { .rt = &w->rt,
					     .residency = &w->residency,
					     .go_arenas = &w->go_arenas,
					     .target = &w->target };

	gr_native_deinit(&w->native);
	polls_set(&w->polls, &w->rt, last);
	return gr_native_read(&spec, &w->native);
}

static void check_healthy(const struct world *w)
{
	const struct gr_block_vector *list = &w->native.blocks.list;

	assert_int_equal(w->native.allocators.size, 1);
	assert_string_equal(w->native.allocators.data[0].name, "jemalloc");
	assert_string_equal(w->native.allocators.data[0].version, "5.3.0");
	assert_int_equal(w->native.arenas.size, 1);
	const struct gr_native_arena *a = &w->native.arenas.data[0];
	if (!a->is_checked)
		fail_msg("%s", a->reason);
	assert_int_equal(list->size, NBLOCKS);
	for (unsigned int i = 0; i < USED8; i++) {
		assert_int_equal(list->data[i].addr, SMALL + 8 * i);
		assert_int_equal(gr_block_bytes(&list->data[i]), 8);
	}
	for (unsigned int i = CACHED; i < USED64 - 1; i++)
		assert_int_equal(list->data[USED8 + i - CACHED].addr,
				 SLAB + 64 * i);
	assert_int_equal(list->data[NBLOCKS - 1].addr, LARGE + 0x40);
	assert_int_equal(gr_block_bytes(&list->data[NBLOCKS - 1]), 16384);
	assert_int_equal(a->cached_bytes, 64 * CACHED);
	assert_int_equal(a->counted_bytes, 7 * 4096);
	assert_int_equal(a->mapped_bytes, HEAP_BYTES + (2 << 20));
	assert_int_equal(a->trimmable_bytes, 0x2000);
	assert_int_equal(a->in_use_bytes + a->free_bytes + a->other_bytes,
			 a->mapped_bytes);
}

TEST(healthy)
{
	struct world *w = create();

	seal(w);
	assert_null(read_it(w, 0));
	check_healthy(w);
	destroy(w);
}

/* Without statistics the rings are empty, and the cache is found by its pair. */
TEST(no_statistics)
{
	struct world *w = create();

	for (unsigned int i = 0; i < 9; i++) {
		put(w, ARENA + 78952 + CLASS8 * BIN_BYTES + STATS + 8 * i, 0);
		put(w, ARENA + 78952 + CLASS64 * BIN_BYTES + STATS + 8 * i, 0);
	}
	fake_words(&w->image, ARENA + LSTATS, 0, 0);
	put(w, BASE + 3896, 0);
	put(w, ARENA + RING, 0);
	seal(w);
	assert_null(read_it(w, 0));
	check_healthy(w);
	assert_null(w->native.arenas.data[0].blocks_counter);
	destroy(w);
}

// -------------------------------------------------------------------- damage

enum outcome { UNCHECKED, REFUSED, IGNORED };

struct damage_case {
	const char *name;
	void (*damage)(struct world *w);
	enum outcome outcome;
};

static void loop_of_base_blocks(struct world *w)
{
	put(w, BLOCK + 8, BLOCK);
}

static void block_without_end(struct world *w)
{
	put(w, BLOCK, UINT64_MAX << 21);
}

static void no_arena(struct world *w)
{
	put(w, ARENAS + 8 * 100, HEAP);
}

static void everything_is_arena(struct world *w)
{
	for (uint64_t at = DATA; at < ROOT - 120; at += 8)
		put(w, at, ARENA);
	put(w, FIRST_BASE, BASE);
}

static void no_bins(struct world *w)
{
	put(w, BIN_INFOS + 40 * 7, 1);
}

static void many_shards(struct world *w)
{
	fake_set(&w->image, BIN_INFOS + 20, UINT32_MAX, 4);
}

static void no_root(struct world *w)
{
	put(w, ROOT + 8 * (HEAP >> 42), 0);
}

static void root_of_one_node(struct world *w)
{
	for (uint64_t i = 0; i < 1 << 15; i++)
		put(w, ROOT + 8 * i, NODE);
}

static void node_of_one_leaf(struct world *w)
{
	for (uint64_t i = 0; i < 1 << 15; i++)
		put(w, NODE + 8 * i, LEAF);
}

static void leaf_of_one_extent(struct world *w)
{
	put(w, EXTENT(2) + 16, 0);
	for (uint64_t i = 0; i < 1 << 15; i++)
		put(w, LEAF + 16 * i, EXTENT(2));
}

static void leaf_outside(struct world *w)
{
	put(w, NODE, HEAP);
}

static void huge_slab(struct world *w)
{
	put(w, EXTENT(0) + 16, UINT64_C(1) << 60);
}

static void huge_extent(struct world *w)
{
	put(w, EXTENT(4) + 16, UINT64_MAX);
}

static void overlapping_extents(struct world *w)
{
	put(w, EXTENT(3) + 16, 0x4000);
}

static void other_free_regions(struct world *w)
{
	put(w, EXTENT(1) + GR_JE_EXTENT_MAP, UINT64_MAX);
}

static void slab_as_large(struct world *w)
{
	put(w, EXTENT(1), bits_of(GR_JE_ACTIVE, CLASS64, false, 0));
}

static void other_state(struct world *w)
{
	put(w, EXTENT(3), bits_of(GR_JE_MUZZY, NONE, false, 0));
}

static void lost_extent(struct world *w)
{
	put(w, EXTENT(2) + 8, 0);
}

static void other_count(struct world *w)
{
	put(w, ARENA + LSTATS, UINT64_C(1) << 60);
}

static void ring_without_end(struct world *w)
{
	put(w, DESCRIPTOR, DESCRIPTOR + 8);
}

static void ring_elsewhere(struct world *w)
{
	put(w, ARENA + RING, HEAP);
}

static void stack_without_end(struct world *w)
{
	put(w, FAST + 8 + 24 * CLASS64, STACKS + (UINT64_C(1) << 40));
}

static void no_last_mark(struct world *w)
{
	put(w, STACKS + 32, 0);
}

static void cached_twice(struct world *w)
{
	put(w, STACKS + 16, SLAB + 64);
}

static void cached_and_free(struct world *w)
{
	put(w, STACKS + 16, SLAB + 64 * 20);
}

static void cached_of_other_class(struct world *w)
{
	put(w, STACKS + 16, SMALL);
}

/* An extent of an arena that the array lacks. */
static void unknown_arena(struct world *w)
{
	put_extent(w, 5, HEAP + HEAP_BYTES, 0x1000,
		   bits_of(GR_JE_RETAINED, NONE, false, 0) | 3);
}

/* All counters fit, that of base memory included. */
static void huge_base_block(struct world *w)
{
	put(w, BLOCK, 1 << 28);
	put(w, BASE + 3896, 1 << 28);
}

static void extent_in_base_block(struct world *w)
{
	put_extent(w, 5, BLOCK + 0x1f0000, 0x1000,
		   bits_of(GR_JE_RETAINED, NONE, false, 0));
	put(w, ARENA + NRETAINED, 8);
}

static void odd_large_block(struct world *w)
{
	put(w, EXTENT(2) + 8, LARGE + 0x48);
}

/* A page slab has all extents; the last one ends a page behind it. */
static void extent_behind_page_slab(struct world *w)
{
	static const uint64_t page_slab = BLOCK + 0x30000;
	uint64_t bytes = (2 << 20) - (RETAINED - HEAP) + 0x1000, bits;

	for (unsigned int i = 0; i < 5; i++) {
		memcpy(&bits, fake_find(&w->image, EXTENT(i), 8), 8);
		put(w, EXTENT(i), bits | 1 << 14);
		put(w, EXTENT(i) + GR_JE_EXTENT_PS, page_slab);
	}
	put(w, page_slab, HEAP);
	put(w, EXTENT(4) + 16, bytes);
	put(w, ARENA + NRETAINED, bytes >> 12);
}

/* Words of the data look like bases, and the text of the version is missing. */
static void put_decoys(struct world *w, unsigned int count)
{
	memset(fake_find(&w->image, TEXT, 0x1000), 0, 0x1000);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t block = DECOYS + i * (UINT64_C(2) << 20);

		map(w, block, 0x1000, PF_R | PF_W, NULL);
		put(w, block, 2 << 20);
		put(w, DATA + 8 * i, block + 192);
	}
}

static void many_decoys(struct world *w)
{
	put_decoys(w, 8);
}

/* The base is found behind a few of them. */
TEST(few_decoys)
{
	struct world *w = create();

	put_decoys(w, 7);
	seal(w);
	assert_null(read_it(w, 0));
	check_healthy(w);
	destroy(w);
}

static const struct damage_case damage_cases[] = {
	{ "a loop of base blocks", loop_of_base_blocks, IGNORED },
	{ "a base block without an end", block_without_end, IGNORED },
	{ "another word among the arenas", no_arena, REFUSED },
	{ "all words lead to the arena", everything_is_arena, REFUSED },
	{ "no table of bins", no_bins, REFUSED },
	{ "many shards", many_shards, REFUSED },
	{ "no root", no_root, REFUSED },
	{ "a root of one node", root_of_one_node, UNCHECKED },
	{ "a node of one leaf", node_of_one_leaf, UNCHECKED },
	{ "a leaf of one extent", leaf_of_one_extent, REFUSED },
	{ "a leaf outside of base blocks", leaf_outside, UNCHECKED },
	{ "a huge slab", huge_slab, UNCHECKED },
	{ "a huge extent", huge_extent, UNCHECKED },
	{ "extents that overlap", overlapping_extents, UNCHECKED },
	{ "other free regions", other_free_regions, UNCHECKED },
	{ "a slab as a large extent", slab_as_large, UNCHECKED },
	{ "another state", other_state, UNCHECKED },
	{ "an extent that is lost", lost_extent, UNCHECKED },
	{ "another count", other_count, UNCHECKED },
	{ "a ring without an end", ring_without_end, UNCHECKED },
	{ "a ring elsewhere", ring_elsewhere, UNCHECKED },
	{ "a stack without an end", stack_without_end, UNCHECKED },
	{ "no mark behind the stacks", no_last_mark, UNCHECKED },
	{ "a block that is cached twice", cached_twice, UNCHECKED },
	{ "a cached block that is free", cached_and_free, UNCHECKED },
	{ "a cached block of another class", cached_of_other_class, UNCHECKED },
	{ "an arena that is not known", unknown_arena, UNCHECKED },
	{ "a huge base block", huge_base_block, UNCHECKED },
	{ "an extent in a base block", extent_in_base_block, UNCHECKED },
	{ "an odd large block", odd_large_block, UNCHECKED },
	{ "an extent behind its page slab", extent_behind_page_slab,
	  UNCHECKED },
	{ "many words that look like bases", many_decoys, IGNORED },
};

TEST_ROWS(damage, damage_cases, c)
{
	struct world *w = create();

	c->damage(w);
	seal(w);
	assert_null(read_it(w, 0));
	assert_int_equal(w->native.blocks.list.size, 0);
	if (c->outcome == IGNORED) {
		assert_int_equal(w->native.allocators.size, 0);
	} else {
		assert_int_equal(w->native.allocators.size, 1);
		const struct gr_native_allocator *allocator =
			&w->native.allocators.data[0];

		assert_true(!allocator->refusal == (c->outcome == UNCHECKED));
		assert_true(allocator->refusal || !allocator->is_checked);
		assert_int_equal(allocator->narenas, c->outcome == UNCHECKED);
	}
	// Reading ends at once when it is refused.
	uint64_t polls = w->polls.seen, step = polls / 16 + 1;
	for (uint64_t last = 1; last <= polls; last += step)
		polls_check_ended(&w->polls, read_it(w, last));
	destroy(w);
}

/* Read with a recorder, and keep only what was recorded, as a saved file does. */
static void save(struct world *w)
{
	const struct gr_mapping_vector *list = &w->residency.mappings.list;
	struct gr_recorder recorder = { 0 };
	struct gr_word_set words = { 0 };

	w->rt.recorder = &recorder;
	assert_null(read_it(w, 0));
	w->rt.recorder = NULL;
	assert_true(gr_recorder_list_words(&recorder, &words));
	gr_recorder_deinit(&recorder);
	for (size_t i = 0; i < list->size; i++)
		for (uint64_t at = list->data[i].start; at < list->data[i].end;
		     at += 8)
			if (!gr_word_set_has(&words, at, 8))
				put(w, at, 0);
	gr_word_set_deinit(&words);
}

/* A saved file has the damage, too. */
TEST_ROWS(saved_damage, damage_cases, c)
{
	struct world *w = create();

	c->damage(w);
	seal(w);
	save(w);
	assert_null(read_it(w, 0));
	assert_int_equal(w->native.blocks.list.size, 0);
	assert_int_equal(w->native.allocators.size, c->outcome != IGNORED);
	for (size_t i = 0; i < w->native.allocators.size; i++) {
		const struct gr_native_allocator *allocator =
			&w->native.allocators.data[i];

		assert_true(!allocator->refusal == (c->outcome == UNCHECKED));
		assert_true(allocator->refusal || !allocator->is_checked);
	}
	destroy(w);
}

TEST(saved)
{
	struct world *w = create();

	seal(w);
	save(w);
	assert_null(read_it(w, 0));
	check_healthy(w);
	destroy(w);
}

/* A limit is found before the memory is taken. */
TEST(memory_limit)
{
	struct world *w = create();

	seal(w);
	w->image.limit_bytes = 1024;
	struct gr_error *err = read_it(w, 0);

	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_MEMORY_LIMIT);
	gr_error_destroy(err);
	destroy(w);
}

GR_SUITE("jemalloc")
