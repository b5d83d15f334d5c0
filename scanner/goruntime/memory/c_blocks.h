/* SPDX-License-Identifier: Apache-2.0 */
/**
 * c_blocks: large blocks that glibc's malloc maps one by one. Source:
 * malloc/malloc.c (sysmalloc_mmap, malloc_chunk).
 */
#ifndef GR_C_BLOCKS_H
#define GR_C_BLOCKS_H

#include "goruntime/heap/heap_arenas.h"
#include "inferior/residency.h"

/** Target range [start, end). */
struct gr_c_block {
	uint64_t start, end;
};
/** In the order of addresses. */
GR_VECTOR(gr_c_blocks, struct gr_c_block);

/**
 * For a process that is read again and again while it runs. Zero-initialised,
 * nothing was read before.
 *
 * A block is given out with its header written. So only pages that were not
 * resident at the last search can have new ones: the others are not read, which
 * would make them look as if the process used them.
 */
struct gr_c_block_memo {
	struct gr_c_blocks blocks; /**< Found by the last search. */
	struct gr_c_blocks seen;   /**< Its resident memory, by address. */
};

void gr_c_block_memo_deinit(struct gr_c_block_memo *memo);

/**
 * Find the blocks in resident anonymous memory by their headers, outside of the
 * heap's arenas. The image is lazy, or that of a file.
 *
 * The kernel joins mappings that lie side by side, so that a block may begin at
 * any page. After many pages without a header, the search ends. A recorder gets
 * the headers alone.
 *
 * @param memo Of the last search, and then of this one; NULL: look at all.
 */
struct gr_error *gr_c_blocks_read(struct gr_runtime *rt,
				  const struct gr_residency *residency,
				  const struct gr_heap_arenas *arenas,
				  struct gr_c_block_memo *memo,
				  struct gr_c_blocks *ret) GR_MUST_CHECK;

/** Does a block hold @p addr? @param[out] stop The same is true of all of
 * [addr, *stop); at most @p end, which is larger than @p addr. */
bool gr_c_blocks_have(const struct gr_c_blocks *blocks, uint64_t addr,
		      uint64_t end, uint64_t *stop);

#endif /* GR_C_BLOCKS_H */
