// SPDX-License-Identifier: Apache-2.0
/* glibc: crafted heaps, rings of arenas, blocks that are mapped one by one, and
 * mappings. */
#include "native_crafted.h"

#include "inferior/elf.h"

// --------------------------------------------------------------------- heaps

CRAFT(fences_early)
{
	put_chunk(w, B1, 16, 1);
	put_chunk(w, B1 + 16, 0, 1);
}

/* Another arena whose heap lies in memory that this one claims. */
CRAFT(heaps_overlap)
{
	uint64_t inner = HEAP0 + 0x100000;

	native_map_anonymous(w, inner, 0x2000);
	fake_words(&w->image, inner, inner + 48, 0, 0x2000, 0x2000);
	put_arena(w, inner + 48, inner + 0x1000, MAIN_ARENA, 0x2000);
	put_chunk(w, inner + 0x8d0, 0x730, 1 | 4);
	put_chunk(w, inner + 0x1000, 0x1000, 1);
	put(w, ARENA1 + GR_GLIBC_NEXT, inner + 48);
	put(w, HEAP0 + 16, 0x200000);
	put(w, ARENA1 + GR_GLIBC_SYSTEM_MEM, 0x221000);
}

CRAFT(heap_in_go)
{
	w->go.index = HEAP1 >> GR_ARENA_SHIFT;
}

/* The older heap has a cache, which is lost with it. */
#define LOST(reason) EACH(THREADS, reason, THREADS)

static const struct crafted_case heap_cases[] = {
	{ "a cycle", PUT(HEAP0 + 8, HEAP1), THREAD(HEAPS) },
	{ "leads to itself", PUT(HEAP1 + 8, HEAP1), LOST(HEAPS) },
	{ "has lost the one before", PUT(HEAP1 + 8, 0), LOST(HEAPS) },
	{ "leads outside of memory", PUT(HEAP1 + 8, 0x123000000000),
	  LOST(HEAPS) },
	{ "leads to the last heap", PUT(HEAP1 + 8, -(UINT64_C(64) << 20)),
	  LOST(HEAPS) },
	{ "leads into a heap", PUT(HEAP1 + 8, HEAP0 + 16), LOST(HEAPS) },
	{ "of another arena", PUT(HEAP1, MAIN_ARENA), LOST(NO_HEAPS) },
	{ "of nobody", PUT(HEAP0, MAIN_ARENA), GONE },
	{ "no size", PUT(HEAP1 + 16, 0), LOST(NO_HEAPS) },
	{ "ends in a page", PUT(HEAP1 + 16, 0x21008), LOST(NO_HEAPS) },
	{ "2^64 bytes", PUT(HEAP1 + 16, -UINT64_C(0x1000)), LOST(NO_HEAPS) },
	{ "ends before its top", PUT(HEAP1 + 16, 0x1000), LOST(NO_HEAPS) },
	{ "older, no size", PUT(HEAP0 + 16, 0), LOST(HEAPS) },
	{ "longer than memory", PUT(HEAP1 + 16, 64 << 20), THREAD(COUNTS) },
	{ "a fencepost in the middle", HEAD(B1, 0x15), THREAD(CHUNKS) },
	{ "fenceposts in the middle", CALL(fences_early), THREAD(CHUNKS) },
	{ "no fenceposts", HEAD(B1, (HEAP0 + 0x3000 - B1) | 5),
	  THREAD(TO_TOP) },
	{ "two that overlap", CALL(heaps_overlap), THREAD(CHUNKS) },
	{ "in the heap of Go", CALL(heap_in_go), LOST(IN_GO) },
};

TEST_ROWS(heap, heap_cases, c)
{
	crafted_check(c);
}

/* The arena inside of the other one is not checked, either. */
TEST(overlap)
{
	struct native_world *w = native_create(true);

	heaps_overlap(w);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.arenas.size, NARENAS + 1);
	assert_int_equal(w->native.arenas.data[2].addr, HEAP0 + 0x100030);
	assert_string_equal(w->native.arenas.data[2].reason, OVERLAP);
	native_destroy(w);
}

/* With huge pages, heaps are aligned to four of them, and one page long at
 * least. The top chunk is in the first of the pages. */
TEST(huge_pages)
{
	struct native_world *w = native_create(true);
	const uint64_t heap = HEAP0 + 0x800000, arena = heap + 48;

	native_map_anonymous(w, heap, 0x200000);
	fake_words(&w->image, heap, arena, 0, 0x200000, 0x200000, 0x200000);
	put_arena(w, arena, heap + 0x1000, MAIN_ARENA, 0x200000);
	put_chunk(w, heap + 0x8d0, 0x730, 1 | 4);
	put_chunk(w, heap + 0x1000, 0x1ff000, 1);
	put(w, ARENA1 + GR_GLIBC_NEXT, arena);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.arenas.size, NARENAS + 1);
	assert_int_equal(w->native.arenas.data[2].addr, arena);
	assert_null(w->native.arenas.data[2].reason);
	assert_int_equal(w->native.arenas.data[2].in_use_bytes, 0x730);
	native_destroy(w);
}

// -------------------------------------------------------------------- pieces

#define PIECE UINT64_C(0x7ffff4000000)
#define IN_PIECES (UINT64_C(2) << 32) /* NONCONTIGUOUS_BIT of the flags */

/* A piece with a block and fenceposts, above the one with the top. */
CRAFT(piece)
{
	native_map_anonymous(w, PIECE, 0x3000);
	put_chunk(w, PIECE, 0x1fe0, 1);
	put_chunk(w, PIECE + 0x1fe0, 16, 1);
	put_chunk(w, PIECE + 0x1ff0, 16, 1);
	put(w, MAIN_ARENA, IN_PIECES);
	put(w, MAIN_ARENA + GR_GLIBC_SYSTEM_MEM, BREAK_END - BREAK + 0x2000);
	put_par(w, 2, MMAP_BYTES, PIECE);
}

CRAFT(piece_without_end)
{
	piece(w);
	put_chunk(w, PIECE + 0x1ff0, 32, 1);
}

CRAFT(piece_with_odd_end)
{
	piece(w);
	put_chunk(w, PIECE, 0x1fd0, 1);
	put_chunk(w, PIECE + 0x1fd0, 16, 1);
	put_chunk(w, PIECE + 0x1fe0, 16, 1);
}

CRAFT(piece_of_mapping)
{
	piece(w);
	put_chunk(w, PIECE, 0x4000, 1);
}

CRAFT(piece_of_break)
{
	piece(w);
	put(w, MAIN_ARENA, 0);
	put_par(w, 2, MMAP_BYTES, BREAK);
}

/* A top of no bytes at the start of a page. */
CRAFT(piece_with_empty_top)
{
	piece(w);
	put(w, MAIN_ARENA + GR_GLIBC_TOP, PIECE + 0x2000);
	put_chunk(w, PIECE + 0x2000, 0, 1);
}

/* Pieces are looked for in all memory, and so in the last mapping. */
CRAFT(piece_and_last_addresses)
{
	put(w, MAIN_ARENA, IN_PIECES);
	put(w, MAIN_ARENA + GR_GLIBC_SYSTEM_MEM, UINT64_C(1) << 40);
	native_map_anonymous(w, -GR_PAGE_BYTES, GR_PAGE_BYTES - 1);
}

/* No page begins in this mapping. */
CRAFT(piece_and_half_a_page)
{
	put(w, MAIN_ARENA, IN_PIECES);
	put(w, MAIN_ARENA + GR_GLIBC_SYSTEM_MEM, UINT64_C(1) << 40);
	native_map_anonymous(w, -(GR_PAGE_BYTES / 2), GR_PAGE_BYTES / 2 - 1);
}

static const struct crafted_case piece_cases[] = {
	{ "the break alone", PUT(MAIN_ARENA, IN_PIECES), NONE },
	{ "two", CALL(piece), NONE, .is_other = true },
	{ "no fenceposts", CALL(piece_without_end), MAIN(COUNTS) },
	{ "ends in a page", CALL(piece_with_odd_end), MAIN(COUNTS) },
	{ "longer than memory", CALL(piece_of_mapping), MAIN(COUNTS) },
	{ "two, and no flag", CALL(piece_of_break), MAIN(COUNTS) },
	{ "a top of no bytes", CALL(piece_with_empty_top),
	  EACH(COUNTS, THREADS, THREADS) },
	{ "to the last address", CALL(piece_and_last_addresses), MAIN(COUNTS) },
	{ "to the last address from a half of its page on",
	  CALL(piece_and_half_a_page), MAIN(COUNTS) },
};

TEST_ROWS(piece, piece_cases, c)
{
	crafted_check(c);
}

TEST(piece_blocks)
{
	struct native_world *w = native_create(true);

	piece(w);
	native_seal(w);
	assert_null(native_read(w, 0));
	const struct gr_block_vector *list = &w->native.blocks.list;
	size_t n = gr_count_before(list->size, i, list->data[i].addr < PIECE);
	assert_true(n < list->size);
	assert_int_equal(list->data[n].addr, PIECE + GR_CHUNK_USER);
	assert_int_equal(gr_block_bytes(&list->data[n]), 0x1fe0);
	assert_int_equal(list->size, GR_ARRAY_SIZE(fake_blocks) + 1);
	native_destroy(w);
}

// ---------------------------------------------------------------------- ring

/* Arenas that lie in each other, a few bytes apart. */
static void put_ring(struct native_world *w, uint64_t count, uint64_t last)
{
	const uint64_t start = UINT64_C(0x7ff000000000), step = 64;
	uint64_t at = start + 48;

	native_map_anonymous(w, start, (count * step + 0x2000) & ~0xfffull);
	put(w, MAIN_ARENA + GR_GLIBC_NEXT, at);
	for (uint64_t i = 0; i < count; i++, at += step) {
		put(w, at - 48, at);
		put(w, at + GR_GLIBC_NEXT, i + 1 < count ? at + step : last);
	}
}

CRAFT(ring_of_thousands)
{
	put_ring(w, 20000, ARENA1);
}

CRAFT(ring_of_thousands_to_itself)
{
	put_ring(w, 20000, UINT64_C(0x7ff000000030));
}

CRAFT(ring_of_a_million)
{
	put_ring(w, 1000000, ARENA1);
}

/* The C library has many words that may begin such a ring. */
CRAFT(rings_everywhere)
{
	put_ring(w, 50000, UINT64_C(0x7ff000000030));
	for (uint64_t at = LIBC_DATA + 0x1000; at < LIBC_DATA + LIBC_BYTES;
	     at += 8)
		put(w, at, UINT64_C(0x7ff000000030));
}

static const struct crafted_case ring_cases[] = {
	{ "does not return", PUT(ARENA1 + GR_GLIBC_NEXT, 0), GONE },
	{ "without main", PUT(ARENA1 + GR_GLIBC_NEXT, ARENA1), GONE },
	{ "outside of memory", PUT(ARENA1 + GR_GLIBC_NEXT, 0x123400000030),
	  GONE },
	// The other arena is lost, and so is the cache that lies in it.
	{ "main alone", PUT(MAIN_ARENA + GR_GLIBC_NEXT, MAIN_ARENA),
	  EACH(THREADS, NULL, THREADS), .is_other = true },
	{ "thousands", CALL(ring_of_thousands), NONE },
	{ "thousands that do not return", CALL(ring_of_thousands_to_itself),
	  GONE },
	{ "a million", CALL(ring_of_a_million), GONE },
	{ "everywhere", CALL(rings_everywhere), GONE },
};

TEST_ROWS(ring, ring_cases, c)
{
	crafted_check(c);
}

// -------------------------------------------------------------------- mapped

#define COUNT_CRAFT(name, count, bytes)              \
	CRAFT(name)                                  \
	{                                            \
		put_par(w, (count), (bytes), BREAK); \
	}                                            \
	_Static_assert(1, "a semicolon may follow")

COUNT_CRAFT(count_huge, UINT32_MAX, MMAP_BYTES);
COUNT_CRAFT(count_more, 3, MMAP_BYTES);
COUNT_CRAFT(count_less, 1, MMAP_BYTES);
COUNT_CRAFT(count_zero, 0, MMAP_BYTES);
COUNT_CRAFT(bytes_huge, 2, UINT64_C(1) << 63);
COUNT_CRAFT(bytes_odd, 2, MMAP_BYTES + 8);

CRAFT(count_over_most)
{
	fake_set(&w->image, PAR + PAR_COUNTS, 1000, 4);
}

/* Memory of the program in front of them, full of headers. */
CRAFT(mapped_everywhere)
{
	enum { PAGES = 4096 };
	uint64_t start = MAPPED0 - PAGES * GR_PAGE_BYTES;

	native_map_anonymous(w, start, PAGES * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < PAGES; i++)
		put_chunk(w, start + i * GR_PAGE_BYTES, GR_PAGE_BYTES,
			  GR_CHUNK_IS_MMAPPED);
}

/* Each page has the header of a block that has been aligned. */
CRAFT(mapped_moved)
{
	enum { PAGES = 4096 };
	uint64_t start = MAPPED0 - PAGES * GR_PAGE_BYTES;

	native_map_anonymous(w, start, PAGES * GR_PAGE_BYTES);
	for (uint64_t i = 0; i < PAGES; i++)
		fake_words(&w->image, start + i * GR_PAGE_BYTES, 0,
			   GR_CHUNK_IS_MMAPPED, 16, 2, 32, 2, 48, 2);
}

/* It would end in the heap of Go. */
CRAFT(mapped_into_go)
{
	native_map_anonymous(w, GO_HEAP - 0x1000, 0x3000);
	put_chunk(w, GO_HEAP - 0x1000, 0x2000, GR_CHUNK_IS_MMAPPED);
	put_par(w, 3, MMAP_BYTES + 0x2000, BREAK);
}

/* It would have the heap of a thread. */
CRAFT(mapped_over_heap)
{
	uint64_t start = HEAP1 - 0x1000;

	native_map_anonymous(w, start, 0x1000);
	put_chunk(w, start, 0x22000, GR_CHUNK_IS_MMAPPED);
	put_par(w, 3, MMAP_BYTES + 0x22000, BREAK);
}

/* malloc_par ends where the limits of caches would be. */
CRAFT(par_without_caches)
{
	put(w, PAR + 24, 8);
	fake_words(&w->image, PAR + PAR_CACHES, 1, 0);
}

CRAFT(par_of_debug)
{
	par_without_caches(w);
	for (size_t i = 0; i < 2; i++)
		w->residency.mappings.list.data[i].path =
			"/lib/libc_malloc_debug.so.0";
}

CRAFT(par_of_debug_without_break)
{
	par_of_debug(w);
	put(w, PAR + PAR_BREAK, 0);
}

static const struct crafted_case mapped_cases[] = {
	{ "of libc_malloc_debug.so", CALL(par_of_debug), NONE },
	{ "of libc_malloc_debug.so, no break", CALL(par_of_debug_without_break),
	  MAPPED(NOT_COUNTED) },
	{ "no limits of caches", CALL(par_without_caches),
	  MAPPED(NOT_COUNTED) },
	{ "2^32 blocks", CALL(count_huge), MAPPED(OTHERS) },
	{ "one block too many", CALL(count_more), MAPPED(OTHERS) },
	{ "one block too few", CALL(count_less), MAPPED(OTHERS) },
	{ "bytes without blocks", CALL(count_zero), MAPPED(NOT_COUNTED) },
	{ "more blocks than at most", CALL(count_over_most),
	  MAPPED(NOT_COUNTED) },
	{ "2^63 bytes", CALL(bytes_huge), MAPPED(OTHERS) },
	{ "bytes that are no pages", CALL(bytes_odd), MAPPED(NOT_COUNTED) },
	{ "limits of caches of all ones", PUT(PAR + PAR_CACHES, UINT64_MAX),
	  MAPPED(NOT_COUNTED) },
	{ "past its mapping", HEAD(MAPPED0, 0x100002), MAPPED(OTHERS) },
	{ "wraps", HEAD(MAPPED0, UINT64_MAX - 0xffd), MAPPED(OTHERS) },
	{ "no size", HEAD(MAPPED0, 2), MAPPED(OTHERS) },
	{ "less than a page", HEAD(MAPPED0, 0x802), MAPPED(OTHERS) },
	{ "flag of the one before", HEAD(MAPPED0, 0x22003), MAPPED(OTHERS) },
	// The header that the alignment has left says the same bytes.
	{ "far behind its mapping", PUT(ALIGNED1, UINT64_C(1) << 60), NONE,
	  .is_other = true },
	{ "begins in the one before", PUT(ALIGNED1, 0x23ff0), NONE,
	  .is_other = true },
	{ "over all others", HEAD(MAPPED0, MMAP_BYTES | 2), MAPPED(OTHERS) },
	{ "on all pages", CALL(mapped_everywhere), MAPPED(OTHERS) },
	{ "moved on all pages", CALL(mapped_moved), NONE },
	{ "into the heap of Go", CALL(mapped_into_go), MAPPED(OTHERS) },
	{ "over the heap of a thread", CALL(mapped_over_heap), MAPPED(OTHERS) },
};

TEST_ROWS(mapped, mapped_cases, c)
{
	crafted_check(c);
}

// ------------------------------------------------------------------ mappings

/* Many mappings of the same memory, as a damaged core may have them. */
static void overlap(struct native_world *w, uint64_t start, uint32_t flags,
		    const char *path)
{
	enum { MANY = 1 << 14, BYTES = 1 << 20 };
	struct gr_mapping_vector *list = &w->residency.mappings.list;

	native_map(w, start, BYTES, flags, path);
	for (unsigned int i = 1; i < MANY; i++) {
		const struct gr_mapping m = { .start = start,
					      .end = start + BYTES,
					      .flags = flags,
					      .path = path };

		assert_true(gr_mapping_vector_append(list, m));
	}
}

/* Before main_arena. */
CRAFT(overlapping_data)
{
	overlap(w, LIBC_DATA - 0x100000, PF_R | PF_W, "/lib/libc.so.6");
}

/* Before the text with the version. */
CRAFT(overlapping_text)
{
	overlap(w, LIBC_TEXT - 0x100000, PF_R | PF_X, "/lib/libc.so.6");
}

/* A cache of a thread that is gone has threads looked for. */
CRAFT(overlapping_stacks)
{
	w->image.nthreads = 1;
	fake_words(&w->image, FS1, FS1, 0, FS1);
	overlap(w, PIECE, PF_R | PF_W, NULL);
}

CRAFT(overlapping_pieces)
{
	piece_without_end(w);
	overlap(w, PIECE + 0x100000, PF_R | PF_W, NULL);
}

static const struct crafted_case mapping_cases[] = {
	{ "data of the library", CALL(overlapping_data), NONE },
	{ "text of the library", CALL(overlapping_text), NONE },
	{ "stacks", CALL(overlapping_stacks), NONE },
	{ "pieces of the main arena", CALL(overlapping_pieces), MAIN(COUNTS) },
};

/* Memory is searched once, however many mappings have it. */
TEST_ROWS(overlapping_mappings, mapping_cases, c)
{
	crafted_check(c);
}

/* Pages in swap that are not at hand are counted with polls. */
TEST(swapped_pages)
{
	enum { PAGES = 1 << 20 };
	const struct gr_mapping m = { .start = PIECE,
				      .end = PIECE + PAGES * GR_PAGE_BYTES,
				      .flags = PF_R | PF_W };
	struct native_world *w = native_create(true);
	struct gr_residency *r = &w->residency;
	struct gr_resident page = { .start = PIECE };

	assert_true(gr_mapping_vector_append(&r->mappings.list, m));
	native_seal(w);
	while (r->mappings.list.data[page.mapping].start != PIECE)
		page.mapping++;
	assert_null(native_read(w, 0));
	uint64_t before = w->polls.seen;
	for (unsigned int i = 0; i < PAGES; i++) {
		page.end = page.start + GR_PAGE_BYTES;
		assert_true(gr_resident_vector_append(&r->swapped, page));
		page.start = page.end;
	}
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen >= before + PAGES / GR_POLL_STEPS);
	gr_resident_vector_deinit(&r->swapped);
	native_destroy(w);
}

GR_SUITE_WITH("crafted arenas of glibc", polls_set_alarm, NULL)
