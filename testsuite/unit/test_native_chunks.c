// SPDX-License-Identifier: Apache-2.0
/* glibc: crafted chunks, tops and counters. */
#include "native_crafted.h"

#define TOP_OF(arena) ((arena) + GR_GLIBC_TOP)
#define SYSTEM_OF(arena) ((arena) + GR_GLIBC_SYSTEM_MEM)
#define HIGH_BIT (UINT64_C(1) << 63)
#define LAST UINT64_MAX

// -------------------------------------------------------------------- chunks

/* It says its size as a free chunk would not. */
CRAFT(before_free)
{
	put_chunk(w, CACHED0, CACHED1 - CACHED0, 0);
}

CRAFT(zeros)
{
	memset(fake_find(&w->image, BREAK, TOP - BREAK), 0, TOP - BREAK);
}

CRAFT(ones)
{
	memset(fake_find(&w->image, BREAK, TOP - BREAK), 0xff, TOP - BREAK);
}

CRAFT(no_memory)
{
	w->is_removed = true;
}

static const struct crafted_case chunk_cases[] = {
	{ "size of zero", HEAD(A1, 0), MAIN(CHUNKS) },
	{ "size of 2^63", HEAD(A1, HIGH_BIT | 1), MAIN(CHUNKS) },
	{ "size of all ones", HEAD(A1, LAST - GR_CHUNK_IS_MMAPPED),
	  MAIN(CHUNKS) },
	{ "size past the end of memory", HEAD(A1, 0x40001), MAIN(CHUNKS) },
	{ "size to the end of memory", HEAD(A1, (BREAK_END - A1) | 1),
	  MAIN(TO_TOP) },
	{ "size past the top", HEAD(A1, (TOP + 0x100 - A1) | 1), MAIN(CHUNKS) },
	{ "size that is no multiple of 16", HEAD(A1, 0x49), MAIN(CHUNKS) },
	{ "size of a fencepost", HEAD(A1, 0x11), MAIN(CHUNKS) },
	{ "size that ends in a block", HEAD(A2, 0xf0), MAIN(CHUNKS) },
	{ "size of two chunks", HEAD(FAST0, 0x61), MAIN(LIST) },
	{ "flag of a mapping", HEAD(A1, 0x43), MAIN(CHUNKS) },
	// It says nothing of what is in use.
	{ "flag of a thread's arena", HEAD(A1, 0x45), NONE },
	{ "free chunk that seems in use", HEAD(A2, (UNSORTED - A2) | 1),
	  MAIN(LIST) },
	{ "block that seems free", CALL(before_free), MAIN(FREE) },
	{ "free chunk with another size at its end", PUT(A2, 0xa8),
	  MAIN(FREE) },
	{ "free chunk with all ones at its end", PUT(A2, LAST), MAIN(FREE) },
	{ "cached chunk that seems free", HEAD(CACHED2, CACHED2 - CACHED1),
	  MAIN(FREE) },
	{ "all zeros", CALL(zeros), EACH(CHUNKS, THREADS, THREADS) },
	{ "all ones", CALL(ones), EACH(CHUNKS, THREADS, THREADS) },
	{ "no memory", CALL(no_memory), EACH(MISSING, THREADS, THREADS) },
};

TEST_ROWS(chunk, chunk_cases, c)
{
	crafted_check(c);
}

// ----------------------------------------------------------- top and counters

CRAFT(top_in_middle)
{
	put(w, TOP_OF(MAIN_ARENA), A5);
	put(w, SYSTEM_OF(MAIN_ARENA), LARGER - BREAK);
}

CRAFT(top_inside_block)
{
	put(w, TOP_OF(MAIN_ARENA), A7 + 0x1000);
	put_chunk(w, A7 + 0x1000, BREAK_END - A7 - 0x1000, 1);
}

static const struct crafted_case top_cases[] = {
	{ "no size", HEAD(TOP, 0), MAIN(COUNTS) },
	{ "2^63", HEAD(TOP, HIGH_BIT | 1), EACH(MISSING, THREADS, THREADS) },
	{ "longer than memory", HEAD(TOP, (BREAK_END + 0x1000 - TOP) | 1),
	  MAIN(COUNTS) },
	{ "misaligned", PUT(TOP_OF(MAIN_ARENA), TOP + 8), MAIN(COUNTS) },
	{ "in the middle", PUT(TOP_OF(MAIN_ARENA), A5), MAIN(COUNTS) },
	{ "in the middle, as counted", CALL(top_in_middle), MAIN(LIST) },
	{ "inside of a block", CALL(top_inside_block), MAIN(TO_TOP) },
	{ "outside of memory", PUT(TOP_OF(MAIN_ARENA), 0x123456789000),
	  EACH(MISSING, THREADS, NOT_COUNTED) },
	{ "the last address", PUT(TOP_OF(MAIN_ARENA), LAST - 15),
	  EACH(MISSING, THREADS, THREADS) },
	{ "null", PUT(TOP_OF(MAIN_ARENA), 0), GONE },
	{ "before the first block",
	  PUT(TOP_OF(MAIN_ARENA), MAIN_ARENA + GR_GLIBC_TOP),
	  EACH(COUNTS, THREADS, THREADS) },
	{ "in another arena", PUT(TOP_OF(MAIN_ARENA), TOP1),
	  EACH(COUNTS, OVERLAP, NULL) },
	{ "of a thread in main", PUT(TOP_OF(ARENA1), TOP),
	  EACH(THREADS, NO_HEAPS, THREADS) },
	{ "of a thread, of no size", HEAD(TOP1, 0), THREAD(CHUNKS) },
	{ "memory of zero", PUT(SYSTEM_OF(MAIN_ARENA), 0), MAIN(COUNTS) },
	{ "memory of 2^64 - 1", PUT(SYSTEM_OF(MAIN_ARENA), LAST),
	  MAIN(COUNTS) },
	{ "memory of 2^63 in a thread", PUT(SYSTEM_OF(ARENA1), HIGH_BIT),
	  THREAD(COUNTS) },
};

TEST_ROWS(top, top_cases, c)
{
	crafted_check(c);
}

// ------------------------------------------------------------- start of main

/* The main arena would begin far below, with Go's heap in between. */
CRAFT(break_far_below)
{
	native_map_anonymous(w, 0x10000, 0x1000);
	put(w, PAR + PAR_BREAK, 0x10000);
}

CRAFT(break_of_go)
{
	w->go.index = BREAK >> GR_ARENA_SHIFT;
}

static const struct crafted_case break_cases[] = {
	{ "behind the top", PUT(PAR + PAR_BREAK, BREAK_END),
	  MAPPED(NOT_COUNTED) },
	{ "inside of main", PUT(PAR + PAR_BREAK, A1),
	  EACH(COUNTS, THREADS, THREADS) },
	{ "far below", CALL(break_far_below), EACH(IN_GO, THREADS, THREADS) },
	{ "in the heap of Go", CALL(break_of_go),
	  EACH(IN_GO, THREADS, THREADS) },
};

TEST_ROWS(start, break_cases, c)
{
	crafted_check(c);
}

// ------------------------------------------------------------ foreign memory

enum { FOREIGN_BYTES = 4 << 20 };
#define FOREIGN (BREAK + 0x5000)
#define FAR_TOP (BREAK_END + FOREIGN_BYTES - 0x1000)

/* Fenceposts where the break was at the end of a page, much memory of the
 * program behind them, and the top. */
static void put_gap(struct native_world *w)
{
	uint64_t fences = FOREIGN - 32;

	native_map_anonymous(w, BREAK_END, FOREIGN_BYTES);
	memset(fake_find(&w->image, fences, BREAK_END - fences), 0,
	       BREAK_END - fences);
	put_chunk(w, A7, fences - A7, 1);
	put_chunk(w, fences, 16, 1);
	put_chunk(w, fences + 16, 16, 1);
	put(w, TOP_OF(MAIN_ARENA), FAR_TOP);
	put(w, SYSTEM_OF(MAIN_ARENA), FAR_TOP + 0x1000 - BREAK);
	put_chunk(w, FAR_TOP, 0x1000, 1);
}

/* Chains of chunks begin everywhere, and none leads anywhere. */
CRAFT(gap_of_chains)
{
	put_gap(w);
	for (uint64_t at = FOREIGN; at < FAR_TOP - 32; at += 16)
		put_chunk(w, at, 32, 1);
}

/* The chains end with fenceposts, so that memory is foreign again. */
CRAFT(gap_of_fences)
{
	put_gap(w);
	for (uint64_t at = FOREIGN; at < FAR_TOP - 0x1000; at += 0x1000) {
		put_chunk(w, at, 0xfe0, 1);
		put_chunk(w, at + 0xfe0, 16, 1);
		put_chunk(w, at + 0xff0, 16, 1);
	}
}

CRAFT(fences_misplaced)
{
	put_chunk(w, A7, 0x100, 1);
	put_chunk(w, A7 + 0x100, 16, 1);
	put_chunk(w, A7 + 0x110, 16, 1);
}

CRAFT(fences_at_top)
{
	put_chunk(w, A7, TOP - 32 - A7, 1);
	put_chunk(w, TOP - 32, 16, 1);
	put_chunk(w, TOP - 16, 0, 1);
}

static const struct crafted_case gap_cases[] = {
	{ "chains that lead nowhere", CALL(gap_of_chains), MAIN(TO_TOP) },
	// Each is a part of the arena between parts of the program.
	{ "chains that end", CALL(gap_of_fences), NONE, .is_other = true },
	{ "where no page ends", CALL(fences_misplaced), MAIN(CHUNKS) },
	{ "one fencepost", CALL(fences_at_top), MAIN(CHUNKS) },
};

TEST_ROWS(foreign, gap_cases, c)
{
	crafted_check(c);
}

GR_SUITE_WITH("crafted chunks of glibc", polls_set_alarm, NULL)
