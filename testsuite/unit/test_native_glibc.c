// SPDX-License-Identifier: Apache-2.0
/* glibc: the blocks of a healthy heap, whose truth is known. */
#include "native_builder.h"

#include "inferior/elf.h"

struct healthy_case {
	const char *name;
	bool is_mangled;
	void (*change)(struct native_world *w);
};

static void check_all(struct native_world *w)
{
	assert_int_equal(w->native.arenas.size, NARENAS);
	for (unsigned int i = 0; i < NARENAS; i++) {
		const struct gr_native_arena *a = &w->native.arenas.data[i];

		if (!a->is_checked)
			fail_msg("%s: %s", a->kind, a->reason);
		check_blocks(w, i, i, true);
	}
	check_bounds(w);
}

/* A core without fs_base: caches are known by what they have. */
static void forget_bases(struct native_world *w)
{
	w->threads[0].regs.fs_base = w->threads[1].regs.fs_base = 0;
}

/* A kernel may tell the name that glibc gives to anonymous memory
 * (glibc.mem.decorate_maps). */
static void name_memory(struct native_world *w)
{
	struct gr_mapping_vector *list = &w->residency.mappings.list;

	for (size_t i = 0; i < list->size; i++)
		if (!list->data[i].path)
			list->data[i].path = "[anon: glibc: malloc]";
}

static const struct healthy_case healthy_cases[] = {
	{ "plain links", false, NULL },
	{ "mangled links", true, NULL },
	{ "plain links, no bases", false, forget_bases },
	{ "mangled links, no bases", true, forget_bases },
	{ "memory with a name", true, name_memory },
};

TEST_ROWS(healthy, healthy_cases, c)
{
	struct native_world *w = native_create(c->is_mangled);

	if (c->change)
		c->change(w);
	native_seal(w);
	assert_null(native_read(w, 0));
	check_all(w);
	native_destroy(w);
}

static const struct gr_native_arena *arena_of(struct native_world *w,
					      unsigned int i)
{
	return &w->native.arenas.data[i];
}

TEST(counters)
{
	struct native_world *w = native_create(true);

	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 1);
	assert_string_equal(w->native.allocators.data[0].name, "glibc");
	assert_string_equal(w->native.allocators.data[0].version, "2.36");
	assert_true(w->native.allocators.data[0].is_checked);
	assert_int_equal(arena_of(w, 0)->in_use_blocks, 8);
	assert_int_equal(arena_of(w, 0)->mapped_bytes, 0x21000);
	assert_int_equal(arena_of(w, 0)->top_bytes, 0x16000);
	// Fast chunks are free, too; the cache itself is neither.
	assert_int_equal(arena_of(w, 0)->cached_bytes, 3 * 0x50 + 2 * 0x30);
	assert_int_equal(arena_of(w, 0)->other_bytes, CACHE_BYTES);
	assert_int_equal(arena_of(w, 0)->largest_free_bytes, A6 - LARGER);
	assert_int_equal(arena_of(w, 1)->in_use_blocks, 4);
	assert_int_equal(arena_of(w, 1)->mapped_bytes, 0x24000);
	assert_int_equal(arena_of(w, 1)->cached_bytes, 0x20);
	assert_int_equal(arena_of(w, 1)->other_bytes,
			 (B0 - HEAP0) + 0x20 + (B2 - HEAP1));
	assert_int_equal(arena_of(w, 2)->mapped_bytes, MMAP_BYTES);
	assert_int_equal(arena_of(w, 2)->in_use_bytes, MMAP_BYTES - 0xff0);
	assert_int_equal(arena_of(w, 2)->resident_bytes, MMAP_BYTES);
	native_destroy(w);
}

/* Only some of what is free is resident: one page of the top chunk, and the page
 * with the small chunks. */
TEST(resident_part)
{
	struct native_world *w = native_create(true);
	const struct gr_resident pages[] = {
		{ .start = BREAK, .end = BREAK + GR_PAGE_BYTES },
		{ .start = TOP + 2 * GR_PAGE_BYTES,
		  .end = TOP + 3 * GR_PAGE_BYTES },
	};
	const uint64_t small = (A1 - FAST0) + (A2 - SMALL) + (A3 - UNSORTED) +
			       (LIKE_CACHE - CACHED0) +
			       (BREAK + GR_PAGE_BYTES - LARGE);

	native_seal(w);
	assert_null(native_read(w, 0));
	for (unsigned int i = 0; i < NARENAS; i++) // all is resident
		assert_int_equal(arena_of(w, i)->free_resident_bytes,
				 arena_of(w, i)->free_bytes);
	w->residency.ranges.size = 0;
	for (size_t i = 0; i < GR_ARRAY_SIZE(pages); i++)
		assert_true(gr_resident_vector_append(&w->residency.ranges,
						      pages[i]));
	assert_null(native_read(w, 0));
	assert_int_equal(arena_of(w, 0)->free_resident_bytes,
			 GR_PAGE_BYTES + small);
	assert_int_equal(arena_of(w, 1)->free_resident_bytes, 0);
	w->residency.kind = GR_RESIDENCY_UNKNOWN;
	assert_null(native_read(w, 0));
	assert_int_equal(arena_of(w, 0)->free_resident_bytes, UINT64_MAX);
	native_destroy(w);
}

/* The walk finds the blocks behind foreign memory, and takes none of that memory
 * for a block. */
TEST(foreign_memory)
{
	struct native_world *w = native_create(true);
	uint64_t fences = BREAK + 0x7fe0;

	put_chunk(w, A7, fences - A7, GR_CHUNK_PREV_IN_USE);
	put_chunk(w, fences, 16, GR_CHUNK_PREV_IN_USE);
	put_chunk(w, fences + 16, 16, GR_CHUNK_PREV_IN_USE);
	put_chunk(w, BREAK + 0xa000, TOP - BREAK - 0xa000,
		  GR_CHUNK_PREV_IN_USE);
	native_seal(w);
	assert_null(native_read(w, 0));
	check_bounds(w);
	assert_true(arena_of(w, 0)->is_checked);
	assert_int_equal(arena_of(w, 0)->in_use_blocks, 9);
	assert_int_equal(arena_of(w, 0)->other_bytes,
			 CACHE_BYTES + 0xa000 - 0x7fe0);
	uint64_t of;
	assert_int_equal(gr_native_gap_at(&w->native, BREAK + 0x9000, &of),
			 GR_GAP_NONE);
	native_destroy(w);
}

struct gap_case {
	const char *name;
	uint64_t addr;
	enum gr_native_gap gap;
	uint64_t of; /* the arena, or the block */
};

static const struct gap_case gap_cases[] = {
	{ "in a bin", SMALL + 16, GR_GAP_FREE, MAIN_ARENA },
	{ "the last byte of it", A2 - 1, GR_GAP_FREE, MAIN_ARENA },
	{ "in a fast bin", FAST1 + 16, GR_GAP_FREE, MAIN_ARENA },
	{ "in a cache", CACHED2 + 40, GR_GAP_FREE, MAIN_ARENA },
	{ "in a cache of another arena", CACHED3 + 16, GR_GAP_FREE, ARENA1 },
	{ "top", BREAK_END - 1, GR_GAP_FREE, MAIN_ARENA },
	{ "header", A2 + 8, GR_GAP_HEADER, A2 + 16 },
	{ "the last byte of a header", A6 + 15, GR_GAP_HEADER, A6 + 16 },
	{ "header of a mapping", ALIGNED1, GR_GAP_HEADER, ALIGNED1 + 16 },
	{ "the cache itself", CACHE + 16, GR_GAP_NONE, 0 },
	{ "the structure of an arena", ARENA1, GR_GAP_NONE, 0 },
	{ "fenceposts", FENCES + 16, GR_GAP_NONE, 0 },
	{ "the start of a mapping", MAPPED1, GR_GAP_NONE, 0 },
	{ "memory of no allocator", TLS, GR_GAP_NONE, 0 },
};

TEST_ROWS(gap, gap_cases, c)
{
	struct native_world *w = native_create(true);
	uint64_t of = 0;

	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(gr_blocks_find(&w->native.blocks, c->addr),
			 GR_BLOCK_NONE);
	assert_int_equal(gr_native_gap_at(&w->native, c->addr, &of), c->gap);
	assert_true(c->gap == GR_GAP_NONE || of == c->of);
	native_destroy(w);
}

TEST(gap_of_an_arena_that_is_not_checked)
{
	struct native_world *w = native_create(true);
	uint64_t of;

	put(w, SMALL + GR_CHUNK_SIZE, 0x1000);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_false(arena_of(w, 0)->is_checked);
	assert_int_equal(gr_native_gap_at(&w->native, SMALL + 16, &of),
			 GR_GAP_NONE);
	native_destroy(w);
}

TEST(nothing)
{
	struct native_world *w = native_create(true);

	memset(fake_find(&w->image, LIBC_DATA, LIBC_BYTES), 0, LIBC_BYTES);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 0);
	assert_int_equal(w->native.blocks.list.size, 0);
	native_destroy(w);
}

GR_SUITE("heap of glibc")
