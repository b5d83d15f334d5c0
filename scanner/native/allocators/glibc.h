/* SPDX-License-Identifier: Apache-2.0 */
/**
 * glibc: the steps of gr_allocator_glibc. Source: malloc/malloc.c
 * (malloc_state, malloc_par, malloc_chunk, tcache_perthread_struct),
 * malloc/arena.c (heap_info). The structures are those of 64-bit processors;
 * they are alike from 2.28 to 2.41 but for what is found by its shape.
 */
#ifndef GR_GLIBC_H
#define GR_GLIBC_H

#include "inferior/elf.h"
#include "native/allocators/reader.h"

enum {
	/* malloc_state */
	GR_GLIBC_MUTEX = 0, /* and the flags, in the upper half of the word */
	GR_GLIBC_FASTBINS = 16,
	GR_GLIBC_NFASTBINS = 10,
	GR_GLIBC_TOP = 96,
	GR_GLIBC_BINS = 112,
	GR_GLIBC_NBINS = 127,
	GR_GLIBC_NEXT = 2160,
	GR_GLIBC_SYSTEM_MEM = 2184,
	GR_GLIBC_STATE_BYTES = 2200,
	/* malloc_chunk: its size, and what the program gets. */
	GR_CHUNK_SIZE = 8,
	GR_CHUNK_USER = 16,
	GR_CHUNK_ALIGN = 16, /* Sizes are multiples of this. */
	GR_CHUNK_LEAST_BYTES = 32,
	GR_CHUNK_PREV_IN_USE = 1,
	GR_CHUNK_IS_MMAPPED = 2,
	GR_CHUNK_FLAGS = 7,
};

/** A part of an arena: chunks from @ref first on. */
struct gr_glibc_region {
	uint64_t start, end; /**< Memory, with the header of a heap. */
	uint64_t first;	     /**< First chunk. */
	uint64_t top;	     /**< The arena's top chunk; 0: in another one. */
	uint32_t arena;	     /**< Index among gr_native.arenas. */
};
GR_VECTOR(gr_glibc_region_vector, struct gr_glibc_region);

/** The allocator as it is found. */
struct gr_glibc {
	struct gr_native_reader *r;
	uint32_t first_arena;		     /**< Index of the first. */
	uint64_t main_arena;		     /**< 0: there is none. */
	uint64_t ring_steps;		     /**< Along rings of arenas. */
	bool has_par;			     /**< malloc_par was found. */
	uint64_t mapped_count, mapped_bytes; /**< n_mmaps, mmapped_mem */
	uint64_t sbrk_base;
	bool has_pieces; /**< The main arena is in pieces, and not in the break. */
	struct gr_glibc_region_vector regions;
	struct gr_blocks blocks; /**< Those of all arenas. */
};

/** glibc_find: find main_arena and malloc_par. */
struct gr_error *gr_glibc_find(struct gr_glibc *g) GR_MUST_CHECK;

/** glibc_heaps: append the arenas of the ring, and their regions. */
struct gr_error *gr_glibc_find_heaps(struct gr_glibc *g) GR_MUST_CHECK;

/** glibc_heaps: append a region of an arena, unless it cannot be one. */
struct gr_error *
gr_glibc_add_region(struct gr_glibc *g, uint32_t arena,
		    struct gr_glibc_region region) GR_MUST_CHECK;

/** glibc_pieces: append the regions of the main arena, if it is in pieces. */
struct gr_error *gr_glibc_find_pieces(struct gr_glibc *g,
				      uint32_t arena) GR_MUST_CHECK;

/** glibc_chunks: walk a region, and append its chunks in use to the blocks,
 * and its free ones to what can be given back. */
struct gr_error *
gr_glibc_walk(struct gr_glibc *g,
	      const struct gr_glibc_region *region) GR_MUST_CHECK;

/** glibc_bins: check that no list of free chunks has a block in use. */
struct gr_error *gr_glibc_check_bins(struct gr_glibc *g) GR_MUST_CHECK;

/** glibc_cached: find the blocks in fast bins and in the caches of threads, and
 * the caches themselves. These are in use by their headers, and no blocks.
 * @p dropped has a bit for each block. */
struct gr_error *gr_glibc_find_cached(struct gr_glibc *g,
				      uint64_t *dropped) GR_MUST_CHECK;

/** glibc_threads: append the fs_base of each thread that has left its memory, be
 * it running or not. The regions are sorted. */
struct gr_error *
gr_glibc_find_threads(struct gr_glibc *g,
		      struct gr_addr_vector *ret) GR_MUST_CHECK;

/** glibc_mapped: append the arena of chunks that are mapped one by one. */
struct gr_error *gr_glibc_find_mapped(struct gr_glibc *g) GR_MUST_CHECK;

/** The region that holds @p addr, or NULL. Regions are sorted. */
static inline const struct gr_glibc_region *
gr_glibc_region_at(const struct gr_glibc *g, uint64_t addr)
{
	const struct gr_glibc_region_vector *list = &g->regions;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].start <= addr ? &list->data[n] :
							       NULL;
}

/** The first page at @p at or behind it; the last address if there is none. */
static inline uint64_t gr_glibc_next_page(uint64_t at)
{
	return at > UINT64_MAX - GR_PAGE_BYTES ?
		       UINT64_MAX :
		       (at + GR_PAGE_BYTES - 1) & ~(GR_PAGE_BYTES - 1);
}

#endif /* GR_GLIBC_H */
