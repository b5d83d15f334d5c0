/* SPDX-License-Identifier: Apache-2.0 */
/**
 * blocks: the blocks of C memory that are in use, in the order of addresses,
 * and which of them an address lies in.
 */
#ifndef GR_BLOCKS_H
#define GR_BLOCKS_H

#include "base/vector.h"
#include "goruntime/layout/runtime.h"

enum {
	GR_BLOCK_UNIT = 8, /**< Sizes are multiples of this. */
	GR_NBLOCK_MAX = 1 << 30,
	/** Words of a block that are looked at to tell what it is. */
	GR_BLOCK_CONTENT_WORDS = 64,
};
#define GR_BLOCK_NONE UINT32_MAX

/** A block that malloc has given away. */
struct gr_block {
	uint64_t addr;	/**< The pointer that malloc returned. */
	uint32_t units; /**< Its memory, the header included. */
	uint32_t arena : 30;
	/** The program may use all but so many words of its memory. 0: it has no
	 * header, and begins at its address. */
	uint32_t header_words : 2;
};
GR_VECTOR(gr_block_vector, struct gr_block);

/** 64 MiB of address space in which blocks begin. */
struct gr_block_area {
	uint64_t number; /**< Address / 64 MiB. */
	/** By page: the blocks that begin before it. */
	uint32_t *first;
};
GR_VECTOR(gr_block_areas, struct gr_block_area);

/** Zero-initialised, there are none. */
struct gr_blocks {
	struct gr_block_vector list;
	uint64_t start, end; /**< Addresses in [start, end) may be found. */
	struct gr_block_areas areas;
	size_t last; /**< Hint: the area that was found last. */
};

/** Look-ups may be made by many threads at once. */
void gr_blocks_deinit(struct gr_blocks *blocks);

/** Sort the list and index it. Blocks whose memory (gr_block_start()) overlaps
 * that of an earlier one are dropped, and counted in @p ret_dropped. The image
 * polls and limits the memory. */
struct gr_error *gr_blocks_index(struct gr_blocks *blocks,
				 struct gr_runtime *rt,
				 uint64_t *ret_dropped) GR_MUST_CHECK;

/** Bytes of a block, as the allocator counts them: its header included. */
static inline uint64_t gr_block_bytes(const struct gr_block *block)
{
	return (uint64_t)block->units * GR_BLOCK_UNIT;
}

/** Where the memory of a block begins. That of glibc has two words of its own
 * before the address, of which the block before may use the first. */
static inline uint64_t gr_block_start(const struct gr_block *block)
{
	return block->addr - (block->header_words ? 2 * GR_WORD_BYTES : 0);
}

/** Bytes that the program may use, from its address on. */
static inline uint64_t gr_block_usable_bytes(const struct gr_block *block)
{
	return gr_block_bytes(block) - block->header_words * GR_WORD_BYTES;
}

/** gr_blocks_find() for an address in [start, end). */
uint32_t gr_blocks_look_up(struct gr_blocks *blocks, uint64_t addr);

/** The block whose usable bytes hold @p addr, or end there with the header of
 * the next one (C has pointers to the end of an array); or GR_BLOCK_NONE. */
static inline uint32_t gr_blocks_find(struct gr_blocks *blocks, uint64_t addr)
{
	if (GR_LIKELY(addr - blocks->start >= blocks->end - blocks->start))
		return GR_BLOCK_NONE;
	return gr_blocks_look_up(blocks, addr);
}

/** The number of the first block that begins at @p addr or behind it, or their
 * count. */
uint32_t gr_blocks_from(const struct gr_blocks *blocks, uint64_t addr);

#endif /* GR_BLOCKS_H */
