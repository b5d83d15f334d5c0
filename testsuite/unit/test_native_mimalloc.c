// SPDX-License-Identifier: Apache-2.0
/*
 * mimalloc: a heap that is laid out by hand beside one of glibc, and crafted
 * ones. The first thread has a segment with two pages, whose blocks are free in
 * each way; another segment is abandoned, and one was freed. What does not agree
 * makes its arena unchecked.
 */
#include "native/allocators/mimalloc.h"

#include "native_builder.h"

#define LIBRARY "/lib/libmimalloc.so.2"
#define TEXT UINT64_C(0x7fffe0000000)
#define DATA UINT64_C(0x7fffe1000000)
#define HEAP (DATA + 0x100)
#define QUEUES (HEAP + 1040)
#define TLD (DATA + 0x1000)

/* Fields of the heap, of a segment and of a page, as 2.0.9 has them. */
#define DELAYED (HEAP + 2840)
#define HEAP_THREAD (HEAP + 2848)
#define COOKIE (HEAP + 2864)
#define PAGE_COUNT (HEAP + 3024)
#define SEGMENT UINT64_C(0x20000000000)
#define ABANDONED (SEGMENT + GR_MIMALLOC_SEGMENT_BYTES)
#define DEAD (ABANDONED + GR_MIMALLOC_SEGMENT_BYTES)
#define SLICE(segment, i) ((segment) + 264 + 80 * (uint64_t)(i))
#define SMALL_PAGE SLICE(SEGMENT, 1)
#define LARGE_PAGE SLICE(SEGMENT, 2)
#define FREE_SPAN SLICE(SEGMENT, 5)

#define BLOCK(i) (SEGMENT + 0x10000 + 384 + 64 * (uint64_t)(i))
#define LARGE_BLOCK (SEGMENT + 0x20000)
#define TINY(i) (ABANDONED + 0x10000 + 384 + 8 * (uint64_t)(i))

enum {
	DATA_BYTES = 0x3000,
	THREAD_ID = 0x7f001000,
	NSMALL = 64, /* blocks of 64 bytes; as many as were ever given out */
	NFREE = 6,   /* of these */
	NTINY = 100, /* blocks of 8 bytes */
	NTINY_FREE = 1,
	LARGE_BYTES = 81920,
	MOST_POLLS = 2000,
};
static const uint64_t cookie = UINT64_C(0x123456789abcdef1);

static void put_queues(struct native_world *w)
{
	uint64_t at = QUEUES + GR_MIMALLOC_BLOCK_SIZE, bytes = 8;

	for (unsigned int i = 0; i < 9; i++, at += GR_MIMALLOC_QUEUE_BYTES)
		put(w, at, i ? 8 * i : 8);
	for (unsigned int i = 0; i < 64; i++, at += GR_MIMALLOC_QUEUE_BYTES) {
		if (i % 4 == 0)
			bytes = UINT64_C(64) << i / 4;
		put(w, at, bytes + bytes / 4 * (i % 4 + 1));
	}
	put(w, at, 131072 + 8);
	put(w, at + GR_MIMALLOC_QUEUE_BYTES, 131072 + 16);
}

static void put_root(struct native_world *w)
{
	put(w, HEAP, TLD);
	for (unsigned int i = 0; i < 129; i++)
		put(w, HEAP + 8 + 8 * i, DATA + 0x2000);
	put_queues(w);
	put(w, DELAYED, BLOCK(9));
	put(w, HEAP_THREAD, THREAD_ID);
	put(w, COOKIE, cookie);
	put(w, PAGE_COUNT, 2);
	fake_words(&w->image, TLD + 16, HEAP, HEAP);
	put(w, TLD + 896, 1);
	put(w, TLD + 912, GR_MIMALLOC_SEGMENT_BYTES);
}

static void put_span(struct native_world *w, uint64_t slice, uint32_t count,
		     uint64_t bytes)
{
	put(w, slice, count);
	put(w, slice + 24, bytes << 32);
}

static void put_page(struct native_world *w, uint64_t page, uint64_t capacity,
		     uint64_t reserved, uint64_t used, uint64_t heap)
{
	put(w, page + 8, capacity << 16 | reserved << 32);
	put(w, page + 24, get(w, page + 24) | used);
	put(w, page + 48, heap);
	put(w, page + 56, page); /* the next one in its queue */
}

static void put_segment(struct native_world *w, uint64_t segment,
			uint64_t thread, uint64_t used, uint64_t abandoned)
{
	put(w, segment + 192, abandoned);
	fake_words(&w->image, segment + 208, used, segment ^ cookie, 512, 1, 0,
		   512, thread);
	put_span(w, SLICE(segment, 0), 1, 1);
}

static void put_segments(struct native_world *w)
{
	put_segment(w, SEGMENT, THREAD_ID, 2, 0);
	put_span(w, SMALL_PAGE, 1, 64);
	put_page(w, SMALL_PAGE, NSMALL, 1018, NSMALL - 4, HEAP);
	put(w, SMALL_PAGE + 16, BLOCK(1));
	fake_words(&w->image, BLOCK(1), BLOCK(3));
	put(w, SMALL_PAGE + 32, BLOCK(5));
	put(w, BLOCK(5), BLOCK(4));
	put(w, SMALL_PAGE + 40, BLOCK(7) | 2);
	put_span(w, LARGE_PAGE, 3, LARGE_BYTES);
	put_page(w, LARGE_PAGE, 1, 2, 1, HEAP);
	put_span(w, FREE_SPAN, 507, 0);
	put_segment(w, ABANDONED, 0, 1, 1);
	put_span(w, SLICE(ABANDONED, 1), 1, 8);
	put_page(w, SLICE(ABANDONED, 1), NTINY, 8144, NTINY, 0);
	put(w, SLICE(ABANDONED, 1) + 40, TINY(6) | 3);
	put_span(w, SLICE(ABANDONED, 2), 510, 0);
	put_segment(w, DEAD, 0, 0, 0);
	put_span(w, SLICE(DEAD, 1), 511, 0);
}

static struct native_world *create(void)
{
	struct native_world *w = native_create(true);

	native_map(w, TEXT, 0x1000, PF_R | PF_X, LIBRARY);
	native_map(w, DATA, DATA_BYTES, PF_R | PF_W, LIBRARY);
	native_map_anonymous(w, SEGMENT,
			     UINT64_C(3) * GR_MIMALLOC_SEGMENT_BYTES);
	put_root(w);
	put_segments(w);
	return w;
}

// -------------------------------------------------------------------- checks

enum { NOBODY, FIRST, NOWNERS }; /* arenas: by the numbers of threads */

static size_t count_blocks(const struct native_world *w, uint32_t arena)
{
	size_t count = 0;

	for (size_t i = 0; i < w->native.blocks.list.size; i++)
		count += w->native.blocks.list.data[i].arena == arena;
	return count;
}

static bool is_mimalloc(const struct native_world *w)
{
	const struct gr_native_allocator *of = &w->native.allocators.data[0];

	return w->native.allocators.size == 2 && !strcmp(of->name, "mimalloc");
}

/* Those of glibc are as they were. */
static void check_glibc(const struct native_world *w, unsigned int first)
{
	for (unsigned int i = 0; i < NARENAS; i++)
		check_blocks(w, i, i + first, true);
}

static void check_checked(const struct native_world *w, unsigned int arena)
{
	if (!w->native.arenas.data[arena].is_checked)
		fail_msg("%s", w->native.arenas.data[arena].reason);
}

static bool is_block(struct native_world *w, uint64_t addr)
{
	uint32_t i = gr_blocks_find(&w->native.blocks, addr);

	return i != GR_BLOCK_NONE && w->native.blocks.list.data[i].addr == addr;
}

TEST(blocks)
{
	static const unsigned int unused[NFREE] = { 1, 3, 4, 5, 7, 9 };
	struct native_world *w = create();

	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(is_mimalloc(w));
	assert_string_equal(w->native.allocators.data[0].version, "2.0.9");
	assert_int_equal(w->native.allocators.data[0].narenas, NOWNERS);
	check_checked(w, FIRST);
	check_checked(w, NOBODY);
	assert_int_equal(count_blocks(w, FIRST), NSMALL - NFREE + 1);
	assert_int_equal(count_blocks(w, NOBODY), NTINY - NTINY_FREE);
	for (size_t i = 0; i < GR_ARRAY_SIZE(unused); i++)
		assert_false(is_block(w, BLOCK(unused[i])));
	assert_true(is_block(w, BLOCK(0)) && is_block(w, BLOCK(NSMALL - 1)));
	assert_false(is_block(w, BLOCK(NSMALL)));
	assert_true(is_block(w, LARGE_BLOCK));
	assert_true(is_block(w, TINY(5)) && is_block(w, TINY(7)));
	assert_false(is_block(w, TINY(6)));
	native_destroy(w);
}

TEST(arenas)
{
	struct native_world *w = create();

	native_seal(w);
	assert_null(native_read(w, 0));
	const struct gr_native_arena *first = &w->native.arenas.data[FIRST];
	const struct gr_native_arena *nobody = &w->native.arenas.data[NOBODY];
	assert_string_equal(first->kind, "main");
	assert_int_equal(first->addr, HEAP);
	assert_int_equal(first->counted_blocks, NSMALL - 4 + 1);
	assert_int_equal(first->found_blocks, first->counted_blocks);
	assert_int_equal(first->found_bytes, first->counted_bytes);
	assert_int_equal(first->cached_bytes, 0);
	assert_string_equal(nobody->kind, "abandoned");
	assert_int_equal(nobody->mapped_bytes, 2 * GR_MIMALLOC_SEGMENT_BYTES);
	// That which was freed is free as a whole.
	assert_int_equal(nobody->largest_free_bytes, GR_MIMALLOC_SEGMENT_BYTES);
	check_bounds(w);
	check_glibc(w, NOWNERS);
	native_destroy(w);
}

// -------------------------------------------------------------------- damage

struct damage_case {
	const char *name;
	uint64_t at, word;
	unsigned int arena;
	const char *reason;
};

#define PAGES "its pages are damaged"
#define COUNTED "a segment has not as many pages as it counts"
#define HEADER "the header of a segment is damaged"
#define ANOTHER "a heap is another thread's"
#define GIVEN "the list of blocks that were given back to it is damaged"
#define SEGMENTS "its segments are not those that it counts"
#define MISSING "its memory is missing"
#define TAKEN "its memory is another allocator's, too"

static const struct damage_case damage_cases[] = {
	// Lists of a page.
	{ "a block that leads to itself", BLOCK(3), BLOCK(3), FIRST, PAGES },
	{ "a cycle", BLOCK(3), BLOCK(1), FIRST, PAGES },
	{ "a block of two lists", BLOCK(3), BLOCK(5), FIRST, PAGES },
	{ "a link into a block", BLOCK(3), BLOCK(8) + 8, FIRST, PAGES },
	{ "a link to another page", BLOCK(3), LARGE_BLOCK, FIRST, PAGES },
	{ "a link to nowhere", BLOCK(3), 0x123456789010, FIRST, PAGES },
	{ "a link before the page", BLOCK(3), BLOCK(0) - 64, FIRST, PAGES },
	{ "a link behind the last block", BLOCK(3), BLOCK(NSMALL), FIRST,
	  PAGES },
	{ "a list that ends early", BLOCK(1), 0, FIRST, PAGES },
	{ "a longer list", BLOCK(3), BLOCK(8), FIRST, PAGES },
	{ "a cycle of the owner's list", BLOCK(4), BLOCK(5), FIRST, PAGES },
	{ "a cycle of other threads' list", BLOCK(7), BLOCK(7), FIRST, PAGES },
	{ "a cycle of an abandoned page", TINY(6), TINY(6), NOBODY, PAGES },
	{ "a list of no page", SMALL_PAGE + 16, SEGMENT, FIRST, PAGES },
	// The list of the heap.
	{ "a cycle of the heap's list", BLOCK(9), BLOCK(9), FIRST, GIVEN },
	{ "a free block in the heap's list", BLOCK(9), BLOCK(1), FIRST, GIVEN },
	{ "an abandoned block", BLOCK(9), TINY(5), FIRST, GIVEN },
	{ "the heap's list of nothing", DELAYED, 0x1000, FIRST, GIVEN },
	{ "the heap's list into a block", DELAYED, BLOCK(9) + 8, FIRST, GIVEN },
	// Pages.
	{ "a page of no blocks", SMALL_PAGE + 24, UINT64_C(64) << 32, FIRST,
	  PAGES },
	{ "blocks of another size", SMALL_PAGE + 24,
	  UINT64_C(80) << 32 | (NSMALL - 4), FIRST, PAGES },
	{ "blocks of an odd size", SMALL_PAGE + 24,
	  UINT64_C(63) << 32 | (NSMALL - 4), FIRST, PAGES },
	{ "blocks larger than the page", SMALL_PAGE + 24,
	  UINT64_C(1) << 52 | (NSMALL - 4), FIRST, PAGES },
	{ "more blocks than fit", SMALL_PAGE + 8,
	  UINT64_C(0xffff) << 16 | UINT64_C(0xffff) << 32, FIRST, PAGES },
	{ "a page that is free", SMALL_PAGE + 24, 0, FIRST, COUNTED },
	{ "another thread's page", SMALL_PAGE + 48, 0, FIRST,
	  "a segment has not as many abandoned pages as it counts" },
	{ "a page of no heap", SMALL_PAGE + 48, 0x10000, FIRST, MISSING },
	// Segments.
	{ "a span of no slice", FREE_SPAN, 0, FIRST, PAGES },
	{ "a span that is too long", FREE_SPAN, 508, FIRST, PAGES },
	{ "a huge span", FREE_SPAN, 0x7fffffff, FIRST, PAGES },
	{ "a slice inside of a span", FREE_SPAN, UINT64_C(80) << 32 | 507,
	  FIRST, PAGES },
	{ "a count of pages", SEGMENT + 208, 3, FIRST, COUNTED },
	{ "a huge count of pages", SEGMENT + 208, UINT64_C(1) << 60, FIRST,
	  HEADER },
	{ "a count of slices", SEGMENT + 224, UINT64_C(1) << 60, FIRST,
	  HEADER },
	{ "an unknown kind", SEGMENT + 240, 7, FIRST, HEADER },
	{ "a huge segment", SEGMENT + 240, 1, FIRST, PAGES },
	{ "a count of entries", SEGMENT + 248, 511, FIRST, PAGES },
	{ "no entries", SEGMENT + 248, 0, FIRST, HEADER },
	{ "a large header", SEGMENT + 232, 9, FIRST, HEADER },
	{ "a list of abandoned segments", ABANDONED + 176, SEGMENT, NOBODY,
	  "the list of its segments leads elsewhere" },
	// Heaps and threads.
	{ "a count of a heap's pages", PAGE_COUNT, 3, FIRST,
	  "a heap has not as many pages as it counts" },
	{ "a heap of another thread", HEAP_THREAD, 0x1000, FIRST, ANOTHER },
	{ "a count of segments", TLD + 896, 2, FIRST, SEGMENTS },
	{ "bytes of segments", TLD + 912, 0, FIRST, SEGMENTS },
};

TEST_ROWS(damage, damage_cases, c)
{
	struct native_world *w = create();

	put(w, c->at, c->word);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	assert_true(is_mimalloc(w));
	const struct gr_native_arena *arena = &w->native.arenas.data[c->arena];
	assert_false(arena->is_checked);
	assert_string_equal(arena->reason, c->reason);
	assert_int_equal(count_blocks(w, c->arena), 0);
	check_checked(w, c->arena == FIRST ? NOBODY : FIRST);
	check_glibc(w, NOWNERS);
	native_destroy(w);
}

/* Blocks must be mapped: a small header may tell of millions. */
TEST(page_in_a_hole)
{
	struct native_world *w = create();
	struct gr_mapping_vector *list = &w->residency.mappings.list;
	struct gr_mapping *last = &list->data[list->size - 1];
	uint64_t end = last->end;

	assert_int_equal(last->start, SEGMENT);
	last->end = LARGE_BLOCK + LARGE_BYTES - GR_PAGE_BYTES;
	native_map(w, ABANDONED, end - ABANDONED, PF_R | PF_W, NULL);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(is_mimalloc(w));
	assert_false(w->native.arenas.data[FIRST].is_checked);
	assert_string_equal(w->native.arenas.data[FIRST].reason,
			    "a page has blocks that are not mapped");
	assert_int_equal(count_blocks(w, FIRST), 0);
	check_checked(w, NOBODY);
	native_destroy(w);
}

/* Without a root, or where no segment has its cookie, there is nothing. */
static const struct damage_case absent_cases[] = {
	{ .name = "a size of a queue", .at = QUEUES + 16 + 24 * 60, .word = 8 },
	{ .name = "no thread", .at = HEAP },
	{ .name = "another heap's thread", .at = TLD + 16, .word = DATA },
	{ .name = "a list of other heaps", .at = TLD + 24, .word = DATA },
	{ .name = "no page", .at = HEAP + 8 },
	{ .name = "no cookie", .at = COOKIE },
	{ .name = "another cookie", .at = COOKIE, .word = 1 },
};

TEST_ROWS(absent, absent_cases, c)
{
	struct native_world *w = create();

	put(w, c->at, c->word);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 1);
	check_glibc(w, 0);
	native_destroy(w);
}

TEST(layout_not_known)
{
	struct native_world *w = create();

	put(w, SMALL_PAGE, 0);
	put(w, SLICE(ABANDONED, 1), 0);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(is_mimalloc(w));
	assert_non_null(w->native.allocators.data[0].refusal);
	assert_int_equal(w->native.allocators.data[0].narenas, 0);
	native_destroy(w);
}

/* Blocks of some sizes begin elsewhere from 2.1.0 on, and these may be all. */
struct start_case {
	const char *name;
	uint32_t version;
	bool is_found;
	enum gr_mimalloc_starts starts;
};

static const struct start_case start_cases[] = {
	{ .name = "no version" },
	{ "2.0.9", 209, true, GR_MIMALLOC_STARTS_209 },
	{ "2.1.0", 210, true, GR_MIMALLOC_STARTS_210 },
};

static void check_layout(struct gr_mimalloc *m, const struct start_case *c)
{
	assert_null(gr_mimalloc_find_segments(m));
	assert_int_equal(m->segments.size, 3);
	assert_null(gr_mimalloc_find_page_layout(m));
	assert_int_equal(m->has_page_layout, c->is_found);
	if (c->is_found)
		assert_int_equal(m->page.starts, c->starts);
	gr_mimalloc_segment_vector_deinit(&m->segments);
}

TEST_ROWS(starts, start_cases, c)
{
	struct native_world *w = create();
	const struct gr_native_spec spec = { .rt = &w->rt,
					     .residency = &w->residency,
					     .go_arenas = &w->go_arenas,
					     .target = &w->target };
	struct gr_mimalloc_root_vector roots = { 0 };

	// 145 blocks of 448 bytes fit behind 384 bytes, and behind 448.
	put_span(w, SMALL_PAGE, 1, 448);
	put_page(w, SMALL_PAGE, 1, 145, 1, HEAP);
	put(w, SMALL_PAGE + 16, 0);
	put(w, SMALL_PAGE + 32, 0);
	put(w, SMALL_PAGE + 40, 0);
	put_span(w, SLICE(ABANDONED, 1), 1, 448);
	put_page(w, SLICE(ABANDONED, 1), 1, 145, 1, 0);
	put(w, SLICE(ABANDONED, 1) + 40, 0);
	native_seal(w);
	polls_set(&w->polls, &w->rt, 0);
	struct gr_native_reader r = { .spec = &spec,
				      .view = gr_view_of(&w->rt),
				      .native = &w->native };
	assert_null(gr_mimalloc_find(&r, &roots));
	assert_int_equal(roots.size, 1);
	struct gr_mimalloc m = { .r = &r,
				 .root = roots.data[0],
				 .version = c->version };
	check_layout(&m, c);
	gr_mimalloc_root_vector_deinit(&roots);
	native_destroy(w);
}

/* All memory is full of roots that are none. */
TEST(many_roots)
{
	struct native_world *w = create();
	const uint64_t start = DATA + DATA_BYTES, bytes = UINT64_C(4) << 20;

	native_map(w, start, bytes, PF_R | PF_W, LIBRARY);
	for (uint64_t at = start; at < start + bytes; at += 8)
		put(w, at, 8);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	assert_true(is_mimalloc(w));
	check_checked(w, FIRST);
	native_destroy(w);
}

/* Two roots have one cookie: the segments are those of the first. */
TEST(two_roots)
{
	enum { HEAP_BYTES = 3056 };
	const uint64_t heap = DATA + 0x1400, tld = DATA + 0x2100;
	struct native_world *w = create();

	for (uint64_t i = 0; i < HEAP_BYTES; i += GR_WORD_BYTES)
		put(w, heap + i, get(w, HEAP + i));
	put(w, heap, tld);
	fake_words(&w->image, tld + 16, heap, heap);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 3);
	check_checked(w, FIRST);
	check_checked(w, NOBODY);
	for (uint32_t i = NOWNERS; i < 2 * NOWNERS; i++) {
		const struct gr_native_arena *arena = &w->native.arenas.data[i];

		assert_false(arena->is_checked);
		assert_string_equal(arena->reason, TAKEN);
		assert_int_equal(arena->mapped_bytes, 0);
		assert_int_equal(count_blocks(w, i), 0);
	}
	check_bounds(w);
	check_glibc(w, 2 * NOWNERS);
	native_destroy(w);
}

/* Dead segments may say that they reach over all others. */
struct claim_case {
	const char *name;
	uint64_t slices;
	bool is_damaged; /* It reaches into memory of files. */
};

static const struct claim_case claim_cases[] = {
	{ "memory of no file", UINT64_C(1) << 27, false },
	{ "all memory", (UINT64_C(1) << 31) - 1, true },
};

TEST_ROWS(many_dead_segments, claim_cases, c)
{
	enum { NDEAD = 1 << 14, HEADER_WORDS = 64 };
	struct native_world *w = create();
	const uint64_t start = DEAD + GR_MIMALLOC_SEGMENT_BYTES;
	uint64_t *words = calloc(NDEAD * HEADER_WORDS, GR_WORD_BYTES);

	assert_non_null(words);
	for (uint64_t i = 0; i < NDEAD; i++) {
		uint64_t addr = start + i * GR_MIMALLOC_SEGMENT_BYTES;
		uint64_t *header = words + i * HEADER_WORDS;
		uint64_t end = addr + HEADER_WORDS * GR_WORD_BYTES;
		const struct gr_mapping mapping = { .start = addr,
						    .end = end,
						    .flags = PF_R | PF_W };
		const struct gr_range range = { addr, end, (uint8_t *)header };

		header[216 / GR_WORD_BYTES] = addr ^ cookie;
		header[224 / GR_WORD_BYTES] = c->slices;
		header[232 / GR_WORD_BYTES] = 1;
		header[240 / GR_WORD_BYTES] = 1;
		header[248 / GR_WORD_BYTES] = 2;
		assert_true(gr_mapping_vector_append(
			&w->residency.mappings.list, mapping));
		assert_true(gr_range_vector_append(&w->pieces, range));
	}
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < NDEAD);
	assert_true(is_mimalloc(w));
	check_checked(w, FIRST);
	const struct gr_native_arena *nobody = &w->native.arenas.data[NOBODY];
	assert_int_equal(nobody->is_checked, !c->is_damaged);
	if (c->is_damaged)
		assert_string_equal(nobody->reason, HEADER);
	native_destroy(w);
	free(words);
}

TEST(polls)
{
	struct native_world *w = create();

	native_seal(w);
	assert_null(native_read(w, 0));
	uint64_t seen = w->polls.seen;
	assert_true(seen > 0);
	for (uint64_t last = 1; last <= seen; last++)
		polls_check_ended(&w->polls, native_read(w, last));
	native_destroy(w);
}

GR_SUITE_WITH("crafted heaps of mimalloc", polls_set_alarm, NULL)
