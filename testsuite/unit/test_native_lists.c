// SPDX-License-Identifier: Apache-2.0
/* glibc: crafted lists of free chunks, and crafted caches of threads. */
#include "native_crafted.h"

#include "inferior/elf.h"

#define FAST(arena, bin) ((arena) + GR_GLIBC_FASTBINS + 8 * (bin))
#define ENTRY(cache, bin) ((cache) + GR_CHUNK_USER + 128 + 8 * (bin))
#define NOWHERE UINT64_C(0x123456789010)

// ----------------------------------------------------------------- fast bins

/* The block has the size of the bin. */
CRAFT(fast_of_other_arena)
{
	put(w, FAST(MAIN_ARENA, 2), B2);
	put_link(w, B2 + 16, 0);
}

CRAFT(fast_of_main_in_thread)
{
	put(w, FAST(ARENA1, 1), A0);
	put_link(w, A0 + 16, 0);
}

CRAFT(fast_of_mapped)
{
	put_chunk(w, MAPPED0, 0x30, GR_CHUNK_IS_MMAPPED);
	put(w, FAST(MAIN_ARENA, 1), MAPPED0);
}

CRAFT(fast_and_cached)
{
	put_cached(w, CACHE, 1, FAST0 + 16, 1);
}

static const struct crafted_case fast_cases[] = {
	{ "a cycle", LINK(FAST1, FAST0), MAIN(LIST) },
	{ "a chunk that leads to itself", LINK(FAST0, FAST0), MAIN(LIST) },
	{ "into a block", LINK(FAST1, A2 + 0x20), MAIN(LIST) },
	{ "a misaligned link", LINK(FAST1, A1 + 8), MAIN(LIST) },
	{ "a chunk of another size", LINK(FAST1, A1), MAIN(LIST) },
	{ "to the top", LINK(FAST1, TOP), MAIN(LIST) },
	{ "to a free chunk", LINK(FAST1, SMALL), MAIN(LIST) },
	{ "outside of memory", PUT(FAST(MAIN_ARENA, 1), NOWHERE), MAIN(LIST) },
	{ "the last address", PUT(FAST(MAIN_ARENA, 1), UINT64_MAX - 7),
	  MAIN(LIST) },
	{ "a chunk of another bin", PUT(FAST(MAIN_ARENA, 0), FAST0),
	  MAIN(LIST) },
	{ "a block of another arena", CALL(fast_of_other_arena), MAIN(LIST) },
	{ "a block of main in a thread's", CALL(fast_of_main_in_thread),
	  THREAD(LIST) },
	{ "a block that is mapped by itself", CALL(fast_of_mapped),
	  EACH(LIST, NULL, OTHERS) },
	{ "a chunk that is in a cache, too", CALL(fast_and_cached),
	  ALL(THREADS) },
};

TEST_ROWS(fast_bin, fast_cases, c)
{
	crafted_check(c);
}

// ---------------------------------------------------------------------- bins

CRAFT(bins_one_cycle)
{
	put(w, UNSORTED + 16, SMALL);
	put(w, SMALL + 16, UNSORTED);
}

/* Nobody follows these: the list by sizes says nothing of its own. */
CRAFT(sizes_cycle)
{
	fake_words(&w->image, LARGER + 32, LARGER, LARGER);
	fake_words(&w->image, LARGE + 32, UINT64_MAX, A1);
}

static void put_bins(struct native_world *w, uint64_t chunk)
{
	for (unsigned int i = 0; i < GR_GLIBC_NBINS; i++) {
		uint64_t bin = BIN_CHUNK(MAIN_ARENA, i);
		uint64_t to = chunk ? chunk : bin;

		fake_words(&w->image, bin + 16, to, to);
	}
}

/* Free chunks that no list has are free all the same. */
CRAFT(bins_empty)
{
	put_bins(w, 0);
}

/* So many cannot be wrong in an arena. */
CRAFT(bins_all_wrong)
{
	put_bins(w, A1);
}

static const struct crafted_case bin_cases[] = {
	{ "a chunk that leads to itself", PUT(SMALL + 16, SMALL), MAIN(LIST) },
	{ "a block in use", PUT(SMALL + 16, A2), MAIN(LIST) },
	{ "into a block", PUT(SMALL + 16, A2 + 0x40), MAIN(LIST) },
	{ "a chunk of another arena", PUT(SMALL + 16, FREE1), MAIN(LIST) },
	{ "two that are one cycle", CALL(bins_one_cycle), MAIN(LIST) },
	{ "a cycle of large chunks", PUT(LARGE + 16, LARGER), MAIN(LIST) },
	{ "sizes that are a cycle", CALL(sizes_cycle), NONE },
	{ "outside of memory", PUT(BIN_WORD(MAIN_ARENA, BIN_SMALL), NOWHERE),
	  MAIN(LIST) },
	{ "zero", PUT(BIN_WORD(MAIN_ARENA, BIN_SMALL), 0), MAIN(LIST) },
	{ "the last address", PUT(SMALL + 16, UINT64_MAX - 15), MAIN(LIST) },
	{ "the top", PUT(BIN_WORD(MAIN_ARENA, BIN_SMALL), TOP), MAIN(LIST) },
	{ "another bin", PUT(SMALL + 16, BIN_CHUNK(MAIN_ARENA, BIN_LARGE)),
	  MAIN(LIST) },
	{ "a block in use in a thread's", PUT(FREE1 + 16, B3), THREAD(LIST) },
	{ "a chunk of main in a thread's",
	  PUT(BIN_WORD(ARENA1, BIN_FREE1), SMALL), THREAD(LIST) },
	{ "all empty", CALL(bins_empty), NONE },
	{ "all wrong", CALL(bins_all_wrong), GONE },
};

TEST_ROWS(bin, bin_cases, c)
{
	crafted_check(c);
}

// -------------------------------------------------------------------- caches

CRAFT(counts_most)
{
	memset(fake_find(&w->image, CACHE + 16, 128), 0xff, 128);
}

CRAFT(count_most)
{
	put_cached(w, CACHE, 3, CACHED0 + 16, UINT16_MAX);
}

CRAFT(count_without_list)
{
	put_cached(w, CACHE, 5, 0, 7);
}

CRAFT(count_less)
{
	put_cached(w, CACHE, 3, CACHED0 + 16, 1);
}

/* A block in use that has the size of the list. */
CRAFT(link_in_use)
{
	put_link(w, CACHED1 + 16, A6 + 16);
	put_link(w, A6 + 16, CACHED2 + 16);
	put_cached(w, CACHE, 3, CACHED0 + 16, 2);
}

CRAFT(of_nobody)
{
	put_cached(w, LIKE_CACHE, 1, A0 + 16, 1);
	put_link(w, A0 + 16, 0);
}

CRAFT(has_itself)
{
	put_cached(w, CACHE, 39, CACHE + 16, 1);
}

CRAFT(has_other_cache)
{
	put_cached(w, CACHE, 40, CACHE1 + 16, 1);
	put_link(w, CACHE1 + 16, 0);
}

/* Two caches have one list. */
CRAFT(has_list_of_other)
{
	put_cached(w, CACHE1, 3, CACHED0 + 16, 3);
}

CRAFT(base_last_address)
{
	w->threads[0].regs.fs_base = UINT64_MAX;
}

CRAFT(base_small)
{
	w->threads[0].regs.fs_base = 8;
}

CRAFT(base_in_cached)
{
	w->threads[0].regs.fs_base = CACHED0;
}

/* A child of fork() has one thread, and what the others had. */
CRAFT(gone)
{
	w->image.nthreads = 1;
	fake_words(&w->image, FS1, FS1, 0, FS1);
}

CRAFT(gone_without_thread)
{
	gone(w);
	put(w, FS1 + 16, FS0);
}

CRAFT(gone_with_damage)
{
	gone(w);
	put_link(w, CACHED3 + 16, A2 + 0x40);
}

CRAFT(gone_and_other_variable)
{
	gone(w);
	put(w, FS1 - VARIABLE, CACHE + 16);
}

/* A mapping with all but the last byte of the address space. */
CRAFT(gone_and_last_addresses)
{
	gone(w);
	native_map_anonymous(w, -GR_PAGE_BYTES, GR_PAGE_BYTES - 1);
}

static const struct crafted_case cache_cases[] = {
	{ "of a thread that is gone", CALL(gone), NONE },
	{ "of a thread that is gone, to the last address",
	  CALL(gone_and_last_addresses), NONE },
	{ "of no thread that is gone", CALL(gone_without_thread),
	  ALL(THREADS) },
	{ "damaged, of a thread that is gone", CALL(gone_with_damage),
	  ALL(THREADS) },
	{ "of nobody, and a thread is gone", CALL(gone_and_other_variable),
	  ALL(THREADS) },
	{ "a count of 65,535", CALL(count_most), ALL(THREADS) },
	{ "counts of 65,535", CALL(counts_most), ALL(THREADS) },
	{ "a count without a list", CALL(count_without_list), ALL(THREADS) },
	{ "a count that is too small", CALL(count_less), ALL(THREADS) },
	{ "into a block", PUT(ENTRY(CACHE, 3), A2 + 0x40), ALL(THREADS) },
	{ "outside of memory", PUT(ENTRY(CACHE, 3), NOWHERE), ALL(THREADS) },
	{ "a block of another size", PUT(ENTRY(CACHE, 3), A2 + 16),
	  ALL(THREADS) },
	{ "a cycle", LINK(CACHED2, CACHED0 + 16), ALL(THREADS) },
	{ "a block that leads to itself", LINK(CACHED0, CACHED0 + 16),
	  ALL(THREADS) },
	{ "a block that leads into one", LINK(CACHED2, A2 + 0x40),
	  ALL(THREADS) },
	{ "a block that leads outside", LINK(CACHED2, UINT64_MAX - 15),
	  ALL(THREADS) },
	{ "a block in use", CALL(link_in_use), ALL(THREADS) },
	{ "no thread names it", CALL(of_nobody), ALL(THREADS) },
	{ "itself", CALL(has_itself), ALL(THREADS) },
	{ "another cache", CALL(has_other_cache), ALL(THREADS) },
	{ "the list of another one", CALL(has_list_of_other), ALL(THREADS) },
	{ "a variable with a small number", PUT(FS0 - VARIABLE, 16),
	  ALL(THREADS) },
	{ "a variable that leads to itself",
	  PUT(FS0 - VARIABLE, FS0 - VARIABLE), ALL(THREADS) },
	{ "a variable that leads to a block", PUT(FS0 - VARIABLE, A1 + 16),
	  ALL(THREADS) },
	{ "one of two threads", PUT(FS1 - VARIABLE, CACHE + 16), ALL(THREADS) },
	{ "a base at the last address", CALL(base_last_address), ALL(THREADS) },
	{ "a base of a small number", CALL(base_small), ALL(THREADS) },
	{ "a base in a cached block", CALL(base_in_cached), ALL(THREADS) },
};

TEST_ROWS(cache, cache_cases, c)
{
	crafted_check(c);
}

GR_SUITE_WITH("crafted lists of glibc", polls_set_alarm, NULL)
