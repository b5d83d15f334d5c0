/* SPDX-License-Identifier: Apache-2.0 */
/**
 * block_holders: who holds blocks of C, by name, and which of them are proven to
 * be held by nobody.
 *
 * Nothing is proven of a block to which no path leads if memory that may hold it
 * is not at hand, if a thread did not stop, or if a thread may be about to hand
 * the block out or to free it (gr_native_is_at_work()): such a thread has the
 * address of the block's header, which is no pointer to the block.
 */
#ifndef GR_BLOCK_HOLDERS_H
#define GR_BLOCK_HOLDERS_H

#include "growth/page_holders.h"
#include "native/native.h"

/** Facts about a block. */
struct gr_block_facts {
	uint32_t type; /**< Its label; GR_TYPE_NONE: not known. */
	/** An index of names: the start of the nearest path, or "nobody".
	 * UINT32_MAX: not known. */
	uint32_t holder;
	gr_vertex root; /**< At the start of that path, or GR_VERTEX_NONE. */
	bool is_held, is_held_known;
};

/** Zero-initialised is ready for gr_block_holders_init(). */
struct gr_block_holders {
	struct gr_page_holders *pages;
	const struct gr_native *native; /**< NULL: no block is told apart. */
	bool is_leak_proven;
	uint32_t nobody;    /**< An index of names. */
	uint64_t *in_doubt; /**< A bit a block: a thread may work on it. */
};

/** @p pages is initialised, and outlives @p holders. */
struct gr_error *
gr_block_holders_init(struct gr_block_holders *holders,
		      struct gr_page_holders *pages) GR_MUST_CHECK;
void gr_block_holders_deinit(struct gr_block_holders *holders);

/** Find out about the block of that number. Blocks are told apart. */
struct gr_error *
gr_block_holders_find(const struct gr_block_holders *holders, uint32_t block,
		      struct gr_block_facts *ret) GR_MUST_CHECK;

#endif /* GR_BLOCK_HOLDERS_H */
