/* SPDX-License-Identifier: Apache-2.0 */
/**
 * growth_blocks: which of the blocks that C has allocated in a trace are still in
 * use when it has ended, and who holds them.
 *
 * The walk of an allocator tells which blocks are in use. A block is freed for
 * certain if its address lies in a checked arena and no block in use begins there,
 * nor holds it, where an allocator aligns addresses inside of blocks (mimalloc); if
 * that block is too small from there on, and so is a later one; if the arena
 * has given the memory back; or if nothing is mapped there. A later block at the same
 * address that is large enough cannot be told from the one that was recorded.
 */
#ifndef GR_GROWTH_BLOCKS_H
#define GR_GROWTH_BLOCKS_H

#include "base/error.h"
#include "base/vector.h"
#include "inferior/gaps.h"

struct gr_scan;

/** An allocation, or memory that a call has mapped. */
struct gr_block_record {
	uint64_t address;
	uint64_t bytes; /**< As they were asked for. */
};

#define GR_GROWTH_BLOCK_STATES(X)                                           \
	/** A block of a checked arena begins there and has room, or      \
	 * holds the address where its arena aligns inside of blocks. */ \
	X(IN_USE, "in_use")                                                 \
	/** All of it is mapped, from the start of a page on, and is   \
	 * neither an allocator's nor Go's nor a file's that runs. */    \
	X(MAPPED, "mapped")                                                 \
	/** No walk tells: an arena that is not checked, the program's \
	 * own memory in an arena, or memory of others. */    \
	X(UNKNOWN, "unknown")

enum gr_growth_block_state {
#define X(id, name) GR_GROWTH_BLOCK_##id,
	GR_GROWTH_BLOCK_STATES(X)
#undef X
		GR_GROWTH_BLOCK_FREED, /* has no row */
};

/** A record of what is not freed. Strings belong to the scan, or are static. */
struct gr_growth_block {
	uint32_t index;	   /**< The record's. */
	const char *state; /**< "in_use", "mapped", "unknown" */
	/** Those from the address on that the program may use; else those of
	 * the record. */
	uint64_t bytes;
	uint64_t resident_bytes; /**< The part of these; UINT64_MAX: unknown. */
	/** Those of the block as its allocator counts them (gr_block_bytes());
	 * 0: the state is not in_use. */
	uint64_t block_bytes;
	/** A path leads to the block, or a pointer into the mapping; false: it is
	 * proven that none does, which it never is of a mapping. */
	bool is_held;
	bool is_held_known;
	/** The variable, goroutines or group at the start of the nearest path, as
	 * of gr_growth_group; "nobody"; NULL: not known. */
	const char *holder;
	const char *type; /**< NULL: not known. */
	/** The goroutine at which that path begins (growth/path_goroutines.h);
	 * 0: none, or not known. */
	uint64_t goroutine_id;
};
GR_VECTOR(gr_growth_block_vector, struct gr_growth_block);

/** The answer. It belongs to the caller. */
struct gr_growth_blocks {
	struct gr_growth_block *rows; /**< In the order of the records. */
	size_t nrows;
	/** The target tells what is mapped; else there are no rows, which says
	 * nothing of the blocks. */
	bool is_known;
	struct gr_gaps gaps;
};

/**
 * Look for blocks. The scan was made with the extent GR_EXTENT_REPORT, or is of
 * a file.
 *
 * @param records In any order; an address may come again.
 * @param are_walked They are blocks of allocators that native/native.h knows:
 *	what no arena has is freed then, if all arenas are checked.
 */
struct gr_error *
gr_scan_growth_blocks(struct gr_scan *scan,
		      const struct gr_block_record *records, size_t nrecords,
		      bool are_walked,
		      struct gr_growth_blocks **ret) GR_MUST_CHECK;
void gr_growth_blocks_destroy(struct gr_growth_blocks *blocks);

#endif /* GR_GROWTH_BLOCKS_H */
