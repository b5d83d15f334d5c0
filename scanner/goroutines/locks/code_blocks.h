/* SPDX-License-Identifier: Apache-2.0 */
/**
 * code_blocks: the ways through the machine code of a function. Knows x86-64
 * instructions, by Capstone; knows nothing of what they are for.
 */
#ifndef GR_CODE_BLOCKS_H
#define GR_CODE_BLOCKS_H

#include "base/vector.h"

/** A way that ends, or leaves the function. */
#define GR_NO_BLOCK UINT32_MAX

/** Instructions that run one after the other. */
struct gr_code_block {
	uint64_t start, end; /**< Addresses, [start, end). */
	uint32_t next[2];    /**< Blocks that follow; or GR_NO_BLOCK. */
	bool returns;	     /**< To the caller, or to another function. */
};

GR_VECTOR(gr_code_block_vector, struct gr_code_block);

/** Owner sets disassembler to 0, and the functions for calls. */
struct gr_code_reader {
	size_t disassembler; /**< Capstone's; 0: not open yet. */
	size_t nblocks;	     /**< In all functions that were read. */
	/** Does a call of the function at @p target never return? */
	bool (*never_returns)(void *ctx, uint64_t target);
	/** Read a word of a jump table; false: it is not there. NULL: jump
	 * tables are not known. */
	bool (*read_word)(void *ctx, uint64_t addr, uint64_t *ret);
	void *ctx;
};

/** The blocks of a function. The first @c ncode are in the order of addresses;
 * the others are empty, and lead from a jump table to its targets. */
struct gr_code_blocks {
	struct gr_code_block_vector all;
	size_t ncode;
	uint64_t addr, nbytes; /**< Where the code lies. */
	uint64_t *starts;      /**< A bit for each byte: instructions begin. */
};

void gr_code_reader_deinit(struct gr_code_reader *reader);

void gr_code_blocks_deinit(struct gr_code_blocks *blocks);

/**
 * Read the blocks of the function whose @p nbytes of code lie at @p addr.
 *
 * @param[out] found False: they are not known. The code is too long or has too
 *	many branches, it has an instruction that cannot be decoded, a branch into
 *	the midst of one, or a jump to a computed address that is in no table.
 */
struct gr_error *gr_code_blocks_read(struct gr_code_reader *reader,
				     const uint8_t *code, uint64_t nbytes,
				     uint64_t addr, struct gr_code_blocks *ret,
				     bool *found) GR_MUST_CHECK;

/** Does an instruction begin at @p addr? */
bool gr_code_blocks_has(const struct gr_code_blocks *blocks, uint64_t addr);

/** The block of an address; GR_NO_BLOCK: the address is not in the function. */
uint32_t gr_code_blocks_at(const struct gr_code_blocks *blocks, uint64_t addr);

#endif /* GR_CODE_BLOCKS_H */
