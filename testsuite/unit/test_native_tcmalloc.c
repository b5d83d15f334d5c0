// SPDX-License-Identifier: Apache-2.0
/*
 * tcmalloc: a page heap that is laid out by hand beside a heap of glibc, and
 * crafted ones. It has a span of slots, some of which are free in each way, a
 * large block and a free span. What does not agree makes its arena unchecked.
 */
#include "native/allocators/tcmalloc.h"

#include "native_builder.h"

#define LIBRARY "/lib/libtcmalloc.so.4"
#define TEXT UINT64_C(0x7fffe0000000)
#define DATA UINT64_C(0x7fffe1000000)
#define COUNT (DATA + 0xf8)  /* thread_heap_count_ */
#define HEADS (DATA + 0x100) /* thread_heaps_ */
#define CENTRAL (DATA + 0x1000)
#define SIZES (CENTRAL + 128 * 1216)
#define PAGE_HEAP (SIZES + 0x2000)
#define ROOT (PAGE_HEAP + 524288)
#define ALLOCATOR (PAGE_HEAP + 1572864)
#define SETS (PAGE_HEAP + 1572872)
#define FREE (PAGE_HEAP + 1572968)
#define STATS (PAGE_HEAP + 1585256)

/* Metadata: the leaf for all spans, these, and the cache of a thread. */
#define LEAF UINT64_C(0x7fffe4000000)
#define SPANS (LEAF + 0x200000)
#define CACHED (LEAF + 0x210000)
#define SPAN(i) (SPANS + 48 * (i))

/* The memory of the spans: slots of 64 bytes, a large block, and free pages. */
#define MEMORY UINT64_C(0x7fffe8000000)
#define SLOT(i) (MEMORY + 64 * (i))
#define LARGE_BLOCK (MEMORY + 0x2000)
#define LIST (CENTRAL + 1216 * CLASS)

enum {
	DATA_BYTES = 0x1c0000,
	SHIFT = 13,
	CLASSES = 17, /* the powers of two from 8 on */
	CLASS = 4,
	SLOTS = 128,
	NFREE = 7, /* two of the span, a batch of two, three of a cache */
	PAGES = 6,
	LEAF_BYTES = 1 << 21,
	CHUNK_BYTES = 8 << 20,
	MOST_POLLS = 1000,
};

#define WORD(page) (LEAF + 8 * (((page) + (MEMORY >> SHIFT)) & 0x3ffff))
#define ROOT_WORD (ROOT + 8 * (MEMORY >> SHIFT >> 18))

static void put_ring(struct native_world *w, uint64_t at)
{
	fake_words(&w->image, at, 0, 0, at, at, 0, 0);
}

/* The table names the first class that is large enough. */
static void put_sizes(struct native_world *w)
{
	for (unsigned int i = 1; i < CLASSES; i++) {
		uint64_t bytes = UINT64_C(4) << i;

		fake_set(&w->image, SIZES + 2172 + 4 * i, 2, 4);
		fake_set(&w->image, SIZES + 2684 + 4 * i, bytes, 4);
		put(w, SIZES + 3200 + 8 * i,
		    bytes >> SHIFT ? bytes >> SHIFT : 1);
	}
	put(w, SIZES + 4224, CLASSES);
	for (uint64_t bytes = 0, class = 1; bytes <= 262144;
	     bytes += bytes < 1024 ? 8 : 128) {
		uint64_t at = bytes <= 1024 ? (bytes + 7) / 8 :
					      (bytes + 127 + (120 << 7)) / 128;

		while (UINT64_C(4) << class < bytes)
			class ++;
		fake_set(&w->image, SIZES + at, class, 1);
	}
}

static void put_heap(struct native_world *w)
{
	for (unsigned int i = 0; i < 128; i++) {
		put(w, CENTRAL + 1216 * i + 8, i);
		put_ring(w, CENTRAL + 1216 * i + 16);
		put_ring(w, CENTRAL + 1216 * i + 64);
	}
	for (unsigned int i = 0; i < 256; i++)
		put_ring(w, FREE + 48 * i);
	for (uint64_t set = SETS; set < FREE; set += 48)
		fake_words(&w->image, set, 0, 0, 0, set + 8, set + 8, 0);
	put(w, ALLOCATOR, TEXT + 0x10);
	put(w, ROOT_WORD, LEAF);
	fake_words(&w->image, STATS, PAGES << SHIFT, 2 << SHIFT, 0,
		   PAGES << SHIFT);
	put(w, STATS + 80, PAGES << SHIFT);
}

static void put_span(struct native_world *w, unsigned int i, uint64_t page,
		     uint64_t pages, uint64_t flags)
{
	fake_words(&w->image, SPAN(i), (MEMORY >> SHIFT) + page, pages, SPAN(i),
		   SPAN(i), 0, flags);
	put(w, WORD(page), SPAN(i));
	put(w, WORD(page + pages - 1), SPAN(i));
}

static void put_spans(struct native_world *w)
{
	put_span(w, 0, 0, 1, CLASS << 16 | (SLOTS - 2));
	put_span(w, 1, 1, 3, 0);
	put_span(w, 2, 4, 2, 1 << 24);
	put(w, SPAN(0) + 32, SLOT(5));
	put(w, SLOT(5), SLOT(9));
	fake_words(&w->image, LIST + 112, 1, 2);
	fake_words(&w->image, LIST + 128, SLOT(20), SLOT(30));
	put(w, SLOT(20), SLOT(30));
	put(w, LIST + 1152, 1 | UINT64_C(8) << 32); /* used, and the limits */
	put(w, LIST + 1160, 64);
}

static void put_cache(struct native_world *w)
{
	for (unsigned int i = 1; i < CLASSES; i++)
		put(w, CACHED + 32 * i + 24, UINT64_C(4) << i);
	fake_words(&w->image, CACHED + 32 * CLASS, SLOT(40), 3);
	put(w, SLOT(40), SLOT(50));
	put(w, SLOT(50), SLOT(60));
	put(w, CACHED + 4096, 3 * 64);
	put(w, HEADS, CACHED);
	put(w, COUNT, 1);
}

/* The program, with so many bytes that have the metadata. */
static struct native_world *create_with(uint64_t metadata_bytes)
{
	static const char version[] = "\0gperftools 2.10";
	struct native_world *w = native_create(true);

	native_map(w, TEXT, 0x1000, PF_R | PF_X, LIBRARY);
	native_map(w, DATA, DATA_BYTES, PF_R | PF_W, LIBRARY);
	native_map_anonymous(w, LEAF, metadata_bytes);
	native_map_anonymous(w, MEMORY, PAGES << SHIFT);
	memcpy(fake_find(&w->image, TEXT, 64), version, sizeof(version));
	put_sizes(w);
	put_heap(w);
	put_spans(w);
	put_cache(w);
	return w;
}

static struct native_world *create(void)
{
	return create_with(CHUNK_BYTES);
}

// -------------------------------------------------------------------- checks

static bool is_tcmalloc(const struct gr_native_allocator *of)
{
	return !strcmp(of->name, "tcmalloc");
}

/* Its arena. */
static const struct gr_native_arena *arena_of(const struct native_world *w)
{
	const struct gr_native *native = &w->native;

	assert_int_equal(native->allocators.size, 2);
	assert_true(is_tcmalloc(&native->allocators.data[0]));
	assert_null(native->allocators.data[0].refusal);
	assert_int_equal(native->allocators.data[0].narenas, 1);
	return &native->arenas.data[0];
}

static size_t count_blocks(const struct native_world *w)
{
	size_t count = 0;

	for (size_t i = 0; i < w->native.blocks.list.size; i++)
		count += w->native.blocks.list.data[i].arena == 0;
	return count;
}

/* That of glibc is as it was. */
static void check_glibc(const struct native_world *w)
{
	for (unsigned int i = 0; i < NARENAS; i++)
		check_blocks(w, i, i + 1, true);
}

TEST(blocks)
{
	static const unsigned int cached[] = { 5, 9, 20, 30, 40, 50, 60 };
	struct native_world *w = create();

	native_seal(w);
	assert_null(native_read(w, 0));
	const struct gr_native_arena *arena = arena_of(w);
	if (!arena->is_checked)
		fail_msg("%s", arena->reason);
	assert_int_equal(count_blocks(w), SLOTS - NFREE + 1);
	assert_int_equal(arena->free_blocks, NFREE + 1);
	assert_int_equal(arena->cached_bytes, 3 * 64);
	assert_int_equal(arena->largest_free_bytes, 2 << SHIFT);
	assert_int_equal(arena->trimmable_bytes, 2 << SHIFT);
	assert_int_equal(arena->counted_blocks, arena->found_blocks);
	for (size_t i = 0; i < GR_ARRAY_SIZE(cached); i++)
		assert_int_equal(gr_blocks_find(&w->native.blocks,
						SLOT(cached[i])),
				 GR_BLOCK_NONE);
	assert_int_not_equal(gr_blocks_find(&w->native.blocks, LARGE_BLOCK),
			     GR_BLOCK_NONE);
	// The structures hold nothing.
	assert_non_null(gr_native_memory_at(&w->native, LEAF));
	assert_non_null(gr_native_memory_at(&w->native, CACHED));
	assert_non_null(gr_native_memory_at(&w->native, SPAN(2)));
	check_glibc(w);
	native_destroy(w);
}

// ----------------------------------------------------------------- metadata

#define CHUNK_WORDS (DATA + 0x200)
#define ALLOC (LEAF + 0x220000) /* metadata_chunk_alloc_ */
#define LEFT (LEAF + CHUNK_BYTES - ALLOC)
#define BETWEEN (SPANS + 0x1000) /* spans and the cache */
#define UNUSED (LEAF + 0x300000)

/* Words that may tell the newest chunk. */
static const struct {
	const char *name;
	uint64_t left, alloc, bytes;
	bool is_chunk;
} chunk_cases[] = {
	{ "the words of the chunk", LEFT, ALLOC, ALLOC - LEAF, true },
	{ "more bytes in older chunks", LEFT, ALLOC, 0x400000, true },
	{ "bytes that are left at no alignment", LEFT - 8, ALLOC + 8,
	  ALLOC - LEAF, false },
	{ "a count of threads and two pointers", 13, LEAF + 0x7ffff0, SPANS,
	  false },
	{ "an end in a page", LEFT, ALLOC + 16, ALLOC - LEAF, false },
	{ "a pointer for the bytes", LEFT, ALLOC, SPANS, false },
	{ "fewer bytes than the structures have", CHUNK_BYTES - 0x1000,
	  LEAF + 0x1000, 0x200000, false },
	{ "a whole chunk", CHUNK_BYTES, LEAF + CHUNK_BYTES, 0x400000, false },
	{ "a chunk behind the structures", LEFT, ALLOC + CHUNK_BYTES,
	  ALLOC - LEAF, false },
};

TEST_ROWS(chunks, chunk_cases, c)
{
	struct native_world *w = create_with(CHUNK_BYTES + 0x100000);

	fake_words(&w->image, CHUNK_WORDS, c->left, c->alloc, c->bytes);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(arena_of(w)->is_checked);
	assert_int_equal(gr_native_memory_at(&w->native, UNUSED) != NULL,
			 c->is_chunk);
	assert_int_equal(gr_native_memory_at(&w->native, BETWEEN) != NULL,
			 c->is_chunk);
	assert_non_null(gr_native_memory_at(&w->native, CACHED));
	assert_null(gr_native_memory_at(&w->native, LEAF + CHUNK_BYTES));
	native_destroy(w);
}

/* Memory between structures is metadata only where all is chunks. */
TEST(between)
{
	for (unsigned int more = 0; more < 2; more++) {
		struct native_world *w =
			create_with(CHUNK_BYTES + more * GR_PAGE_BYTES);

		native_seal(w);
		assert_null(native_read(w, 0));
		assert_true(arena_of(w)->is_checked);
		assert_int_equal(gr_native_memory_at(&w->native, BETWEEN) !=
					 NULL,
				 !more);
		assert_null(gr_native_memory_at(&w->native, UNUSED));
		native_destroy(w);
	}
}

// ------------------------------------------------------------------- damage

struct damage_case {
	const char *name;
	uint64_t at, word;
	const char *reason; /* NULL: it has no arena, or nothing is checked */
};

#define DAMAGED_LIST "a list of its free blocks is damaged"
#define DAMAGED_SPANS "its spans are damaged"
#define DAMAGED_MAP "its pagemap is damaged"
#define OTHER_MEMORY "it counts other memory than was found"
#define OTHER_SPANS "a size class counts other spans than were found"
#define NO_CACHES "the caches of its threads were not found"
#define NOT_HERE "its memory is missing"

static const struct damage_case damage_cases[] = {
	// Lists of free slots.
	{ "a span's slot that leads to itself", SLOT(9), SLOT(9),
	  DAMAGED_LIST },
	{ "a cycle of a span", SLOT(9), SLOT(5), DAMAGED_LIST },
	{ "a slot of two lists", SLOT(9), SLOT(40), NULL },
	{ "a link into a slot", SLOT(9), SLOT(9) + 8, DAMAGED_LIST },
	{ "a link to another span", SLOT(9), LARGE_BLOCK, DAMAGED_LIST },
	{ "a link to nowhere", SLOT(9), 0x123456789010, DAMAGED_LIST },
	{ "a link behind the last slot", SLOT(9), MEMORY + 0x2000,
	  DAMAGED_LIST },
	{ "a list that ends early", SLOT(5), 0,
	  "a span counts other free blocks than it has" },
	{ "a cycle of a transfer slot", SLOT(30), SLOT(20), DAMAGED_LIST },
	{ "a batch that is too small", SLOT(20), 0,
	  "a transfer slot does not have a batch" },
	{ "too many transfer slots", LIST + 1152, 9 | UINT64_C(8) << 32,
	  "its transfer slots are damaged" },
	{ "a cycle of a cache", SLOT(60), SLOT(40), DAMAGED_LIST },
	{ "a cache that leads to another class", CACHED + 32 * CLASS,
	  LARGE_BLOCK, DAMAGED_LIST },
	{ "a length of a cache", CACHED + 32 * CLASS + 8, 2,
	  "the cache of a thread counts other blocks than it has" },
	{ "the bytes of a cache", CACHED + 4096, 2 * 64,
	  "the cache of a thread counts other bytes than it has" },
	// Caches.
	{ "a cache that leads to itself", CACHED + 4144, CACHED, NO_CACHES },
	{ "a cache that leads nowhere", CACHED + 4144, 0x1000, NO_CACHES },
	{ "another size of a cache", CACHED + 32 * 3 + 24, 48, NO_CACHES },
	{ "the count of caches", COUNT, 2, NO_CACHES },
	{ "no cache", HEADS, 0, NO_CACHES },
	// Spans.
	{ "a leaf that is not at hand", ROOT_WORD, 0x10000, OTHER_SPANS },
	{ "no leaf", ROOT_WORD, 0, OTHER_SPANS },
	{ "the same leaf twice", ROOT_WORD + 8, LEAF, DAMAGED_MAP },
	{ "leaves that overlap", ROOT_WORD + 8, LEAF + 0x1000, DAMAGED_MAP },
	{ "a leaf at the last address", ROOT_WORD + 8, UINT64_MAX - 7,
	  DAMAGED_MAP },
	{ "a leaf at an odd address", ROOT_WORD + 8, LEAF + 0x200001,
	  DAMAGED_MAP },
	{ "a span that is not at hand", WORD(1), 0x10000, NOT_HERE },
	{ "a span at an odd address", WORD(1), SPAN(1) + 1, DAMAGED_SPANS },
	{ "a page that leads to another span", WORD(1), SPAN(0),
	  DAMAGED_SPANS },
	{ "a page without a span", WORD(1), 0, NULL },
	{ "another last page", WORD(3), SPAN(2), DAMAGED_SPANS },
	{ "a huge span", SPAN(1) + 8, UINT64_C(1) << 60, DAMAGED_SPANS },
	{ "an empty span", SPAN(1) + 8, 0, DAMAGED_SPANS },
	{ "a span of another start", SPAN(1), 12, DAMAGED_SPANS },
	{ "an unknown place", SPAN(1) + 40, 3 << 24, DAMAGED_SPANS },
	{ "an unknown class", SPAN(1) + 40, 200 << 16,
	  "a span of it is damaged" },
	{ "a class of other spans", SPAN(1) + 40, CLASS << 16,
	  "a span of it is damaged" },
	{ "a free span in use", SPAN(2) + 40, 0, OTHER_MEMORY },
	{ "a span in use that is free", SPAN(1) + 40, 1 << 24, OTHER_MEMORY },
	{ "a reference count", SPAN(0) + 40, CLASS << 16 | 3,
	  "a span counts other free blocks than it has" },
	// Classes and the page heap.
	{ "a count of spans", LIST + 112, 2, OTHER_SPANS },
	{ "a count of free slots", LIST + 120, 1, OTHER_SPANS },
	{ "a lock of a class", LIST, 1, "a thread has one of its locks" },
	{ "a list of spans", LIST + 32, 0x1000,
	  "its lists of spans are damaged" },
	{ "all memory", STATS, UINT64_C(1) << 60, NULL },
	{ "free memory", STATS + 8, 0, OTHER_MEMORY },
	{ "returned memory", STATS + 16, 1 << SHIFT, OTHER_MEMORY },
	{ "committed memory", STATS + 24, 0, "its lists of spans are damaged" },
	{ "a list of free spans", FREE + 48 * 7 + 16, 0x1000,
	  "its lists of spans are damaged" },
};

TEST_ROWS(damage, damage_cases, c)
{
	struct native_world *w = create();

	put(w, c->at, c->word);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	const struct gr_native_arena *arena = arena_of(w);
	assert_false(arena->is_checked);
	assert_int_equal(count_blocks(w), 0);
	if (c->reason)
		assert_string_equal(arena->reason, c->reason);
	check_glibc(w);
	native_destroy(w);
}

/* The arena is damaged; no block of it is kept. */
static void check_damaged(struct native_world *w, const char *reason)
{
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	assert_string_equal(arena_of(w)->reason, reason);
	assert_int_equal(count_blocks(w), 0);
	check_glibc(w);
}

/* The blocks of a class are larger than its spans. */
TEST(large_class)
{
	struct native_world *w = create();

	put(w, SIZES + 3200 + 8 * 15, 3);
	put(w, SPAN(1) + 40, 15 << 16);
	check_damaged(w, "a span of it is damaged");
	native_destroy(w);
}

/* A small span says that it has many slots, and there is no memory for them. */
TEST(not_mapped)
{
	struct native_world *w = create();

	put(w, SIZES + 3200 + 8 * 1, 32);
	put_span(w, 2, 4, 32, 1 << 16);
	put(w, STATS, 36 << SHIFT);
	check_damaged(w, "its memory is not mapped");
	assert_int_equal(arena_of(w)->in_use_blocks, SLOTS - NFREE + 1);
	native_destroy(w);
}

/* Where a structure is not found, or the version is not known, the allocator is
 * refused. */
static const struct damage_case refused_cases[] = {
	{ "a table of sizes", SIZES + 2684 + 4 * 6, 250, NULL },
	{ "a look-up of sizes", SIZES + 72, 0, NULL },
	{ "no code", ALLOCATOR, MEMORY, NULL },
	{ "a set of spans", SETS + 16, 0x1000, NULL },
	{ "no version", TEXT, 0, NULL },
	{ "another version", TEXT + 14, 0x303030, NULL },
};

TEST_ROWS(refused, refused_cases, c)
{
	struct native_world *w = create();

	put(w, c->at, c->word);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 2);
	assert_true(is_tcmalloc(&w->native.allocators.data[0]));
	assert_non_null(w->native.allocators.data[0].refusal);
	assert_int_equal(w->native.allocators.data[0].narenas, 0);
	for (unsigned int i = 0; i < NARENAS; i++)
		check_blocks(w, i, i, true);
	native_destroy(w);
}

/* A second page heap that looks as good: none is the one. */
TEST(two_heaps)
{
	struct native_world *w = create();
	uint64_t end = DATA + DATA_BYTES, bytes = DATA_BYTES;
	uint64_t shift = end - DATA;

	native_map(w, end, bytes, PF_R | PF_W, LIBRARY);
	for (unsigned int i = 0; i < 256; i++)
		put_ring(w, FREE + shift + 48 * i);
	for (uint64_t set = SETS + shift; set < FREE + shift; set += 48)
		fake_words(&w->image, set, 0, 0, 0, set + 8, set + 8, 0);
	put(w, ALLOCATOR + shift, TEXT + 0x10);
	fake_words(&w->image, STATS + shift, 1 << SHIFT, 0, 0, 1 << SHIFT);
	put(w, STATS + shift + 80, 1 << SHIFT);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(is_tcmalloc(&w->native.allocators.data[0]));
	assert_string_equal(w->native.allocators.data[0].refusal,
			    "has structures that were not found");
	native_destroy(w);
}

// ----------------------------------------------------------------- several

#define OTHER_TEXT UINT64_C(0x7fffe2000000)
#define OTHER_DATA UINT64_C(0x7fffe3000000)

/* A copy of the library, whose page heap has the same spans. */
static void put_copy(struct native_world *w, const char *path)
{
	native_map(w, OTHER_TEXT, 0x1000, PF_R | PF_X, path);
	native_map(w, OTHER_DATA, DATA_BYTES, PF_R | PF_W, path);
	memcpy(fake_find(&w->image, OTHER_TEXT, 0x1000),
	       fake_find(&w->image, TEXT, 0x1000), 0x1000);
	memcpy(fake_find(&w->image, OTHER_DATA, DATA_BYTES),
	       fake_find(&w->image, DATA, DATA_BYTES), DATA_BYTES);
	for (uint64_t at = OTHER_DATA; at < OTHER_DATA + DATA_BYTES; at += 8)
		if (get(w, at) - DATA < DATA_BYTES)
			put(w, at, get(w, at) - DATA + OTHER_DATA);
}

/* Two instances have the same memory: only the first one may have it. */
TEST(same_memory)
{
	struct native_world *w = create();

	put_copy(w, "/opt/libtcmalloc.so.4");
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 3);
	assert_true(w->native.arenas.data[0].is_checked);
	assert_int_equal(count_blocks(w), SLOTS - NFREE + 1);
	assert_true(is_tcmalloc(&w->native.allocators.data[1]));
	assert_false(w->native.arenas.data[1].is_checked);
	assert_string_equal(w->native.arenas.data[1].reason,
			    "another allocator has its memory, too");
	assert_int_equal(gr_native_memory_at(&w->native, MEMORY)->arena, 0);
	native_destroy(w);
}

/* They cannot be told from each other by their file. */
TEST(same_file)
{
	struct native_world *w = create();

	put_copy(w, LIBRARY);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 2);
	assert_string_equal(w->native.allocators.data[0].refusal,
			    "is in one file twice");
	native_destroy(w);
}

/* There are more arrays of lists than are read. */
TEST(many_instances)
{
	enum { LISTS = 32, COPIES = 17 };
	struct native_world *w = create();

	native_map(w, OTHER_DATA, COPIES * LISTS * 1216, PF_R | PF_W, "/x");
	for (unsigned int i = 0; i < COPIES * LISTS; i++) {
		put(w, OTHER_DATA + 1216 * i + 8, i % LISTS);
		put_ring(w, OTHER_DATA + 1216 * i + 16);
		put_ring(w, OTHER_DATA + 1216 * i + 64);
	}
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	assert_int_equal(w->native.allocators.size, 2);
	assert_string_equal(w->native.allocators.data[0].refusal,
			    "is there more than 16 times");
	native_destroy(w);
}

// ------------------------------------------------------------------- limits

/* Memory directly above data may be bss, but not much of it. */
static const struct {
	const char *name;
	uint64_t offset;
	bool is_found;
} bss_cases[] = {
	{ "in bss", 0x100, true },
	{ "at the end of what may be bss", 0xffffe0, true },
	{ "behind what may be bss", 0x1000100, false },
};

TEST_ROWS(bss, bss_cases, c)
{
	struct native_world *w = create();
	uint64_t bss = DATA + DATA_BYTES;

	native_map_anonymous(w, bss, 0x1200000);
	put(w, HEADS, 0);
	put(w, bss + c->offset, CACHED);
	put(w, bss + c->offset - 8, 1);
	native_seal(w);
	assert_null(native_read(w, 0));
	const struct gr_native_arena *arena = arena_of(w);
	assert_int_equal(arena->is_checked, c->is_found);
	if (!c->is_found)
		assert_string_equal(arena->reason, NO_CACHES);
	native_destroy(w);
}

/* All words of the root lead to the same leaf: it is not walked so often. */
TEST(many_leaves)
{
	struct native_world *w = create();

	for (uint64_t i = 0; i < 1 << 17; i++)
		put(w, ROOT + 8 * i, LEAF);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->polls.seen < MOST_POLLS);
	assert_string_equal(arena_of(w)->reason, DAMAGED_MAP);
	native_destroy(w);
}

TEST(polls)
{
	struct native_world *w = create();

	native_seal(w);
	assert_null(native_read(w, 0));
	uint64_t seen = w->polls.seen;
	assert_true(seen > 10);
	for (uint64_t last = 1; last <= seen; last++)
		polls_check_ended(&w->polls, native_read(w, last));
	native_destroy(w);
}

GR_SUITE_WITH("crafted heaps of tcmalloc", polls_set_alarm, NULL)
