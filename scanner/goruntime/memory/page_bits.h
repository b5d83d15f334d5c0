/* SPDX-License-Identifier: Apache-2.0 */
/**
 * page_bits: which pages of the heap are free, and which of those the runtime
 * has given back to the system. Source: runtime/mpagealloc.go (pageAlloc),
 * runtime/mpallocbits.go (pallocData).
 */
#ifndef GR_PAGE_BITS_H
#define GR_PAGE_BITS_H

#include "base/vector.h"
#include "goruntime/types/types.h"

enum {
	GR_PALLOC_SHIFT = 22, /* a chunk of 512 pages (pallocChunkBytes) */
	GR_PALLOC_WORDS = 8,
};

/** The pages of 4 MiB of address space, a bit each. */
struct gr_palloc_chunk {
	uint64_t index; /**< The chunk's, from the arena base on. */
	uint64_t in_use[GR_PALLOC_WORDS];
	uint64_t scavenged[GR_PALLOC_WORDS];
};
GR_VECTOR(gr_palloc_chunk_vector, struct gr_palloc_chunk);

/** Zero-initialised, nothing is known. */
struct gr_page_bits {
	uint64_t chunks_addr; /**< pageAlloc.chunks; 0: not known. */
	uint64_t first, end;  /**< Chunks that the runtime has. */
	uint64_t l1_count, l2_count;
	uint64_t in_use_off, scavenged_off, entry_bytes; /**< pallocData. */
	uint64_t arena_base;
	/** The chunks that were read, in the order of addresses. */
	struct gr_palloc_chunk_vector list;
};

enum gr_page_state {
	GR_PAGE_UNKNOWN,
	GR_PAGE_IN_USE, /**< Or free in the cache of a P. */
	GR_PAGE_FREE,
	GR_PAGE_SCAVENGED, /**< Free, and given back. */
};

/**
 * Find the bits by the debug information; without it they are not known. The
 * image is lazy, or that of a core.
 *
 * @p ret needs gr_page_bits_deinit() even if this fails.
 */
struct gr_error *gr_page_bits_find(struct gr_types *types,
				   struct gr_page_bits *ret) GR_MUST_CHECK;
void gr_page_bits_deinit(struct gr_page_bits *bits);

/**
 * Read the bits of [start, end). Calls come in the order of addresses. A part
 * that cannot be read stays unknown.
 */
struct gr_error *gr_page_bits_read(struct gr_types *types,
				   struct gr_page_bits *bits, uint64_t start,
				   uint64_t end) GR_MUST_CHECK;

/** The state of the page at @p addr. */
enum gr_page_state gr_page_bits_at(const struct gr_page_bits *bits,
				   uint64_t addr);

#endif /* GR_PAGE_BITS_H */
