/* SPDX-License-Identifier: Apache-2.0 */
/**
 * native_builder: a program with a heap of glibc that is laid out by hand, and
 * what is in use of it. Each kind of chunk and of list is there: the main arena
 * with fast, small, unsorted and large bins; an arena with two heaps, the older
 * of which ends with fenceposts; two blocks that are mapped one by one, of which
 * one is aligned; and two threads with caches.
 */
#pragma once

#include "native/allocators/glibc.h"
#include "native/allocators/read.h"

#include "fake_image.h"
#include "polls.h"
#include "suite.h"

#include <elf.h>

/* The C library: its text, and its data with main_arena and malloc_par. */
#define LIBC_TEXT UINT64_C(0x7ffff7c00000)
#define LIBC_DATA UINT64_C(0x7ffff7e00000)
#define MAIN_ARENA (LIBC_DATA + 0x400)
#define PAR (LIBC_DATA + 0x40)

/* The break. */
#define BREAK UINT64_C(0x555555600000)
#define CACHE (BREAK + 0x0)
#define A0 (BREAK + 0x290)
#define FAST0 (BREAK + 0x2c0)
#define FAST1 (BREAK + 0x2f0)
#define A1 (BREAK + 0x320)
#define SMALL (BREAK + 0x360)
#define A2 (BREAK + 0x400)
#define UNSORTED (BREAK + 0x500)
#define A3 (BREAK + 0x700)
#define CACHED0 (BREAK + 0x720)
#define CACHED1 (BREAK + 0x770)
#define CACHED2 (BREAK + 0x7c0)
#define LIKE_CACHE (BREAK + 0x810)
#define LARGE (BREAK + 0xaa0)
#define A5 (BREAK + 0x2000)
#define LARGER (BREAK + 0x3000)
#define A6 (BREAK + 0x4580)
#define A7 (BREAK + 0x45d0)
#define TOP (BREAK + 0xb000)
#define BREAK_END (BREAK + 0x21000)

/* The heaps of a thread's arena: the older one has the arena. */
#define HEAP0 UINT64_C(0x7ffff0000000)
#define HEAP1 UINT64_C(0x7fffec000000)
#define ARENA1 (HEAP0 + 0x30)
#define CACHE1 (HEAP0 + 0x8d0)
#define B0 (CACHE1 + CACHE1_BYTES)
#define B1 (HEAP0 + 0xc60)
#define FENCES (HEAP0 + 0x2fe0)
#define B2 (HEAP1 + 0x30)
#define CACHED3 (HEAP1 + 0x70)
#define FREE1 (HEAP1 + 0x90)
#define B3 (HEAP1 + 0x200)
#define TOP1 (HEAP1 + 0x1000)

/* Blocks that are mapped one by one, side by side. */
#define MAPPED0 UINT64_C(0x7ffff6000000)
#define MAPPED1 (MAPPED0 + 0x22000)
#define ALIGNED1 (MAPPED1 + 0xff0)

/* Variables of two threads; the arena of Go's heap. */
#define TLS UINT64_C(0x7ffff5000000)
#define FS0 (TLS + 0x800)
#define FS1 (TLS + 0xc00)
#define GO_HEAP UINT64_C(0xc000000000)

enum {
	LIBC_BYTES = 0x2000,
	MMAP_BYTES = 0x45000,
	TLS_PAGE_BYTES = 0x1000,
	CACHE_BYTES = 0x290,
	CACHE1_BYTES = CACHE_BYTES + 16, /* the rest of a chunk is in it */
	VARIABLE = 0x48,		 /* below fs_base */
	MAX_WANT = 16,
	NARENAS = 3,
	/* malloc_par from 2.35 on */
	PAR_COUNTS = 60,
	PAR_MAPPED = 80,
	PAR_BREAK = 96,
	PAR_CACHES = 104,
	/* the bins of the sizes of the free chunks */
	BIN_UNSORTED = 0,
	BIN_SMALL = 9,
	BIN_FREE1 = 22,
	BIN_LARGE = 100,
};

struct fake_block {
	uint64_t addr, bytes;
	unsigned int arena;
};

struct native_world {
	struct gr_image image;
	struct gr_range_vector pieces;
	struct gr_ranges ranges;
	struct gr_runtime rt;
	struct gr_arena arena;
	struct gr_target target;
	struct gr_target_thread threads[2];
	struct gr_residency residency;
	struct gr_heap_arena go;
	struct gr_heap_arenas go_arenas;
	bool is_mangled;
	bool is_removed; /* the memory of the break is not at hand */
	struct polls polls;
	struct gr_native native;
};

/** The blocks that the program has, by address. */
static const struct fake_block fake_blocks[] = {
	{ A0, 0x30, 0 },	  { A1, 0x40, 0 },
	{ A2, 0x100, 0 },	  { A3, 0x20, 0 },
	{ LIKE_CACHE, 0x290, 0 }, { A5, 0x1000, 0 },
	{ A6, 0x50, 0 },	  { A7, 0x6a30, 0 },
	{ B2, 0x40, 1 },	  { B3, 0xe00, 1 },
	{ B0, 0xf0, 1 },	  { B1, 0x2380, 1 },
	{ MAPPED0, 0x22000, 2 },  { ALIGNED1, 0x23000 - 0xff0, 2 },
};

// -------------------------------------------------------------------- memory

static inline void put(struct native_world *w, uint64_t addr, uint64_t word)
{
	fake_set(&w->image, addr, word, 8);
}

static inline uint64_t get(struct native_world *w, uint64_t addr)
{
	uint64_t word;

	memcpy(&word, fake_find(&w->image, addr, 8), 8);
	return word;
}

/** A mapping, and its memory unless it is of a file's text. */
static inline void native_map(struct native_world *w, uint64_t start,
			      uint64_t bytes, uint32_t flags, const char *path)
{
	struct gr_mapping_vector *list = &w->residency.mappings.list;
	struct gr_mapping m = { .start = start,
				.end = start + bytes,
				.flags = flags,
				.path = path };

	assert_true(gr_mapping_vector_append(list, m));
	fake_add(&w->image, start, bytes);
}

static inline void native_map_anonymous(struct native_world *w, uint64_t start,
					uint64_t bytes)
{
	native_map(w, start, bytes, PF_R | PF_W, NULL);
}

static inline int native_compare_mappings(const void *a, const void *b)
{
	const struct gr_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/** All that is mapped is at hand and resident. */
static inline void native_seal(struct native_world *w)
{
	struct gr_mapping_vector *list = &w->residency.mappings.list;

	qsort(list->data, list->size, sizeof(*list->data),
	      native_compare_mappings);
	for (size_t i = 0; i < list->size; i++)
		assert_true(gr_resident_vector_append(
			&w->residency.ranges,
			(struct gr_resident){ .start = list->data[i].start,
					      .end = list->data[i].end,
					      .mapping = i,
					      .is_anonymous = true }));
	for (size_t i = 0; i < w->image.npieces; i++) {
		uint64_t addr = w->image.pieces[i].addr;
		struct gr_range range = { addr, addr + w->image.pieces[i].bytes,
					  w->image.pieces[i].data };

		if (!w->is_removed || addr != BREAK)
			assert_true(gr_range_vector_append(&w->pieces, range));
	}
	assert_null(gr_ranges_init(&w->ranges, &w->pieces, &w->target));
	w->image.ranges = &w->ranges;
}

// -------------------------------------------------------------------- chunks

/** The header of a chunk of @p bytes; the one before it is in use. */
static inline void put_chunk(struct native_world *w, uint64_t chunk,
			     uint64_t bytes, unsigned int flags)
{
	put(w, chunk + 8, bytes | flags);
}

/** A free chunk: its size is at its end, too, and the next one's header says
 * that it is free. It is alone in its bin. */
static inline void put_free(struct native_world *w, uint64_t chunk,
			    uint64_t bytes, uint64_t arena, unsigned int bin)
{
	uint64_t head = arena + GR_GLIBC_BINS + 16 * bin - GR_CHUNK_USER;

	put_chunk(w, chunk, bytes, GR_CHUNK_PREV_IN_USE);
	put(w, chunk + bytes, bytes);
	put(w, chunk + bytes + 8,
	    get(w, chunk + bytes + 8) & ~(uint64_t)GR_CHUNK_PREV_IN_USE);
	fake_words(&w->image, chunk + 16, head, head);
	fake_words(&w->image, head + 16, chunk, chunk);
}

/** A link of a list of the fast bins or caches, as glibc writes it. */
static inline void put_link(struct native_world *w, uint64_t at, uint64_t to)
{
	put(w, at, w->is_mangled ? to ^ at >> 12 : to);
}

static inline void put_arena(struct native_world *w, uint64_t arena,
			     uint64_t top, uint64_t next, uint64_t system_mem)
{
	for (unsigned int i = 0; i < GR_GLIBC_NBINS; i++) {
		uint64_t at = arena + GR_GLIBC_BINS + 16 * i;

		fake_words(&w->image, at, at - 16, at - 16);
	}
	put(w, arena + GR_GLIBC_TOP, top);
	put(w, arena + GR_GLIBC_NEXT, next);
	put(w, arena + GR_GLIBC_SYSTEM_MEM, system_mem);
}

/** A list of a cache begins with @p first and has @p count blocks. */
static inline void put_cached(struct native_world *w, uint64_t cache,
			      unsigned int bin, uint64_t first, uint16_t count)
{
	fake_set(&w->image, cache + 16 + 2 * bin, count, 2);
	put(w, cache + 16 + 128 + 8 * bin, first);
}

static inline void put_par(struct native_world *w, uint32_t count,
			   uint64_t bytes, uint64_t sbrk_base)
{
	fake_set(&w->image, PAR + PAR_COUNTS, count, 4);
	fake_set(&w->image, PAR + PAR_COUNTS + 4, 65536, 4);
	fake_set(&w->image, PAR + PAR_COUNTS + 8, count, 4);
	fake_words(&w->image, PAR + PAR_MAPPED, bytes, bytes);
	put(w, PAR + PAR_BREAK, sbrk_base);
	fake_words(&w->image, PAR + PAR_CACHES, 64, 1032);
}

/* The chunks of the break, each with the one before it in use. */
static inline void put_break(struct native_world *w)
{
	static const uint64_t chunks[] = {
		CACHE,	  A0,	  FAST0,   FAST1,   A1,	     SMALL,	 A2,
		UNSORTED, A3,	  CACHED0, CACHED1, CACHED2, LIKE_CACHE, LARGE,
		A5,	  LARGER, A6,	   A7,	    TOP,     BREAK_END,
	};

	for (size_t i = 0; i + 1 < GR_ARRAY_SIZE(chunks); i++)
		put_chunk(w, chunks[i], chunks[i + 1] - chunks[i],
			  GR_CHUNK_PREV_IN_USE);
	put_free(w, SMALL, A2 - SMALL, MAIN_ARENA, BIN_SMALL);
	put_free(w, UNSORTED, A3 - UNSORTED, MAIN_ARENA, BIN_UNSORTED);
	put_free(w, LARGE, A5 - LARGE, MAIN_ARENA, BIN_LARGE);
	put_free(w, LARGER, A6 - LARGER, MAIN_ARENA, BIN_LARGE);
	// Both are in one bin, the larger one first.
	uint64_t bin = MAIN_ARENA + GR_GLIBC_BINS + 16 * BIN_LARGE - 16;
	fake_words(&w->image, LARGER + 16, LARGE, bin, LARGE, LARGE);
	fake_words(&w->image, LARGE + 16, bin, LARGER, LARGER, LARGER);
	fake_words(&w->image, bin + 16, LARGER, LARGE);
	put(w, MAIN_ARENA + GR_GLIBC_FASTBINS + 8, FAST0);
	put_link(w, FAST0 + 16, FAST1);
	put_link(w, FAST1 + 16, 0);
	put_cached(w, CACHE, 3, CACHED0 + 16, 3);
	put_link(w, CACHED0 + 16, CACHED1 + 16);
	put_link(w, CACHED1 + 16, CACHED2 + 16);
	put_link(w, CACHED2 + 16, 0);
}

static inline void put_heaps(struct native_world *w)
{
	const unsigned int flags = 4 | GR_CHUNK_PREV_IN_USE;

	fake_words(&w->image, HEAP0, ARENA1, 0, 0x3000, 0x3000);
	put_arena(w, ARENA1, TOP1, MAIN_ARENA, 0x24000);
	put_chunk(w, CACHE1, B0 - CACHE1, flags);
	put_chunk(w, B0, B1 - B0, flags);
	put_chunk(w, B1, FENCES - B1, flags);
	put_chunk(w, FENCES, 16, GR_CHUNK_PREV_IN_USE);
	put_chunk(w, FENCES + 16, 0, GR_CHUNK_PREV_IN_USE);
	fake_words(&w->image, HEAP1, ARENA1, HEAP0, 0x21000, 0x21000);
	put_chunk(w, B2, CACHED3 - B2, flags);
	put_chunk(w, CACHED3, FREE1 - CACHED3, flags);
	put_chunk(w, B3, TOP1 - B3, flags);
	put_chunk(w, TOP1, HEAP1 + 0x21000 - TOP1, GR_CHUNK_PREV_IN_USE);
	put_free(w, FREE1, B3 - FREE1, ARENA1, BIN_FREE1);
	put_cached(w, CACHE1, 0, CACHED3 + 16, 1);
	put_link(w, CACHED3 + 16, 0);
}

/** The program as its allocator has left it. */
static inline struct native_world *native_create(bool is_mangled)
{
	struct native_world *w = suite_alloc(sizeof(*w));

	w->is_mangled = is_mangled;
	native_map(w, LIBC_TEXT, 0x1000, PF_R | PF_X, "/lib/libc.so.6");
	native_map(w, LIBC_DATA, LIBC_BYTES, PF_R | PF_W, "/lib/libc.so.6");
	native_map_anonymous(w, BREAK, BREAK_END - BREAK);
	native_map_anonymous(w, HEAP0, 0x3000);
	native_map_anonymous(w, HEAP1, 0x21000);
	native_map_anonymous(w, MAPPED0, MMAP_BYTES);
	native_map_anonymous(w, TLS, TLS_PAGE_BYTES);
	memcpy(fake_find(&w->image, LIBC_TEXT, 64),
	       "stable release version 2.36.", 28);
	put_arena(w, MAIN_ARENA, TOP, ARENA1, BREAK_END - BREAK);
	put_par(w, 2, MMAP_BYTES, BREAK);
	put_break(w);
	put_heaps(w);
	put_chunk(w, MAPPED0, 0x22000, GR_CHUNK_IS_MMAPPED);
	put_chunk(w, MAPPED1, 0x23000, GR_CHUNK_IS_MMAPPED);
	fake_words(&w->image, ALIGNED1, 0xff0,
		   (0x23000 - 0xff0) | GR_CHUNK_IS_MMAPPED);
	put(w, FS0 - VARIABLE, CACHE + 16);
	put(w, FS1 - VARIABLE, CACHE1 + 16);
	for (unsigned int i = 0; i < 2; i++) {
		w->threads[i].lwp = 100 + i;
		w->threads[i].regs.fs_base = i ? FS1 : FS0;
	}
	w->image.threads = w->threads;
	w->image.nthreads = 2;
	w->go.index = GO_HEAP >> GR_ARENA_SHIFT;
	w->go_arenas = (struct gr_heap_arenas){ &w->go, 1, 1 };
	w->residency.kind = GR_RESIDENCY_EXACT;
	w->rt.image = &w->image;
	w->rt.arena = &w->arena;
	return w;
}

static inline void native_destroy(struct native_world *w)
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

/** Read the allocator. Poll number @p last refuses; 0: none does. */
static inline struct gr_error *native_read(struct native_world *w,
					   uint64_t last)
{
	const struct gr_native_spec spec = { .rt = &w->rt,
					     .residency = &w->residency,
					     .go_arenas = &w->go_arenas,
					     .target = &w->target };

	gr_native_deinit(&w->native);
	polls_set(&w->polls, &w->rt, last);
	return gr_native_read(&spec, &w->native);
}

// -------------------------------------------------------------------- checks

/** The blocks of arena number @p index are those that the program has of
 * @p arena, or none. */
static inline void check_blocks(const struct native_world *w,
				unsigned int arena, unsigned int index,
				bool are_there)
{
	const struct gr_block_vector *list = &w->native.blocks.list;
	size_t n = 0;

	for (size_t i = 0; i < list->size; i++) {
		if (list->data[i].arena != index)
			continue;
		while (n < GR_ARRAY_SIZE(fake_blocks) &&
		       fake_blocks[n].arena != arena)
			n++;
		assert_true(are_there && n < GR_ARRAY_SIZE(fake_blocks));
		assert_int_equal(list->data[i].addr, fake_blocks[n].addr + 16);
		assert_int_equal(gr_block_bytes(&list->data[i]),
				 fake_blocks[n].bytes);
		n++;
	}
	while (are_there && n < GR_ARRAY_SIZE(fake_blocks))
		assert_true(fake_blocks[n++].arena != arena);
}

/** Each block lies in memory of its own arena, which is checked, and no two
 * overlap; bytes of arenas add up. */
static inline void check_bounds(struct native_world *w)
{
	const struct gr_native *native = &w->native;
	const struct gr_block_vector *list = &native->blocks.list;
	uint64_t end = 0;

	for (size_t i = 0; i < list->size; i++) {
		const struct gr_block *block = &list->data[i];
		uint64_t start = block->addr - GR_CHUNK_USER;
		const struct gr_native_range *range =
			gr_native_memory_at(native, start);

		assert_true(start >= end);
		end = start + gr_block_bytes(block);
		assert_true(range && range->arena == block->arena &&
			    end <= range->end);
		assert_true(native->arenas.data[block->arena].is_checked);
		assert_false(gr_heap_arenas_have(&w->go_arenas, start) ||
			     gr_heap_arenas_have(&w->go_arenas, end - 1));
	}
	for (size_t i = 0; i < native->arenas.size; i++) {
		const struct gr_native_arena *a = &native->arenas.data[i];
		uint64_t other_bytes = 0;

		for (size_t k = 0; k < native->others.size; k++)
			if (native->others.data[k].arena == i)
				other_bytes += native->others.data[k].end -
					       native->others.data[k].start;
		assert_true(!a->is_checked || other_bytes == a->other_bytes);
		assert_true(a->is_checked == !a->reason);
		assert_true(!a->is_checked ||
			    a->in_use_bytes + a->free_bytes + a->other_bytes ==
				    a->mapped_bytes);
		assert_true(!a->is_checked ||
			    a->trimmable_bytes <= a->free_bytes);
	}
}
