/* SPDX-License-Identifier: Apache-2.0 */
/**
 * native: the memory of the C allocators in a stopped program: their arenas,
 * and the blocks that are in use. native/allocators finds them; a block belongs
 * to the allocator whose structures hold it.
 *
 * An arena whose own counters disagree with its blocks is not *checked*. Its
 * blocks are counted, but they are no vertices of the object graph, and none
 * of them is called leaked: all of its memory counts as a holder.
 */
#ifndef GR_NATIVE_H
#define GR_NATIVE_H

#include "goruntime/heap/heap_arenas.h"
#include "inferior/residency.h"
#include "native/blocks.h"
#include "native/view.h"

#include <elf.h>

/** Memory [start, end) of the target. */
struct gr_native_range {
	uint64_t start, end;
	uint32_t arena; /**< Index among gr_native.arenas. */
};
GR_VECTOR(gr_native_range_vector, struct gr_native_range);

/** Why an arena is not checked. */
enum gr_native_doubt {
	GR_DOUBT_NONE,
	GR_DOUBT_DAMAGE,    /**< Its structures contradict each other. */
	GR_DOUBT_MISSING,   /**< A part of its memory is not at hand. */
	GR_DOUBT_UNCOUNTED, /**< No counter of the allocator was found. */
};

/** An arena of an allocator. Bytes are those of the allocator, headers
 * included; in_use_bytes + free_bytes + other_bytes == mapped_bytes. */
struct gr_native_arena {
	uint64_t addr; /**< Its structure's; 0 for blocks mapped one by one. */
	/** "main", "thread" and so on. "mmap": its blocks are mapped one by
	 * one. */
	const char *kind;
	bool is_checked;
	/** Why it is not checked, as the rest of a sentence; or NULL. */
	const char *reason;
	enum gr_native_doubt doubt;
	/** A thread has its lock, and may be changing it. */
	bool is_locked;
	/** To align an address, it returns one inside of a block. */
	bool aligns_inside;
	/** The names of two counters of the allocator, or NULL; what they say
	 * (UINT64_MAX: not known); and the same as it was found. */
	const char *bytes_counter, *blocks_counter;
	uint64_t counted_bytes, counted_blocks;
	uint64_t found_bytes, found_blocks;
	uint64_t in_use_blocks, in_use_bytes;
	/** Free memory, that of the caches of threads included. */
	uint64_t free_blocks, free_bytes;
	uint64_t cached_bytes; /**< The part of it in caches of threads. */
	uint64_t top_bytes;    /**< The part of it at the end of the arena. */
	/** The resident part that the allocator would give back if it were
	 * asked to (malloc_trim). */
	uint64_t trimmable_bytes;
	uint64_t largest_free_bytes;
	uint64_t other_bytes; /**< Its own structures; foreign memory. */
	uint64_t mapped_bytes;
	uint64_t resident_bytes; /**< UINT64_MAX: not known. */
	/** The resident part of free_bytes; UINT64_MAX: not known. */
	uint64_t free_resident_bytes;
};
GR_VECTOR(gr_native_arena_vector, struct gr_native_arena);

/** An allocator of the program; its arenas lie together. */
struct gr_native_allocator {
	const char *name;    /**< "glibc" */
	const char *version; /**< "2.36"; "": not known */
	uint32_t first_arena, narenas;
	bool is_checked; /**< All of its arenas are. */
	/** Why it cannot be read, as the rest of a sentence that begins with its
	 * name and version; it has no arenas then. Or NULL. */
	const char *refusal;
};
GR_VECTOR(gr_native_allocator_vector, struct gr_native_allocator);

/** Zero-initialised, there is no C memory. */
struct gr_native {
	/** There may be C memory (gr_mappings_may_have_c()), or an allocator
	 * was found. */
	bool is_expected;
	/** A thread was in the code of an allocator when the program was
	 * stopped (native/motion.h). */
	bool is_in_motion;
	struct gr_native_allocator_vector allocators;
	struct gr_native_arena_vector arenas;
	/** The memory of all arenas, by address, without overlaps. */
	struct gr_native_range_vector memory;
	/** The parts of it that are neither blocks nor free, by address:
	 * structures of the allocators, and memory of others that lies
	 * between. */
	struct gr_native_range_vector others;
	/** The parts of these that are the program's own memory: it has moved
	 * the break. By address. */
	struct gr_native_range_vector foreign;
	/** Memory behind that of an arena, which was a part of it, by address. */
	struct gr_native_range_vector spare;
	/** Structures of allocators in data of files. Their pointers to free
	 * chunks lead to the last bytes of the blocks before these: they hold
	 * nothing. */
	struct gr_native_range_vector structures;
	/** Free memory that can be given back, by address. */
	struct gr_native_range_vector trimmable;
	/** Memory that may hold pointers to blocks, and is not at hand. */
	uint64_t missing_bytes;
	/** All blocks of arenas that are checked. */
	struct gr_blocks blocks;
};

/** The input of gr_native_read() (native/allocators/read.h). Nothing of it is
 * kept. */
struct gr_native_spec {
	struct gr_runtime *rt;
	const struct gr_residency *residency;
	const struct gr_heap_arenas *go_arenas;
	/** The files of the program, to find symbols in. */
	const struct gr_target *target;
};

void gr_native_deinit(struct gr_native *native);

/**
 * Plan the capture of what the searches for allocators and for roots of C read:
 * memory outside of the Go heap in which C may keep pointers, as far as it is
 * resident or in swap. Shared memory is planned with its other pages, which
 * another process may have written; but not much of it, because a mapped file
 * may be huge.
 */
struct gr_error *
gr_native_plan(struct gr_runtime *rt, const struct gr_residency *residency,
	       const struct gr_heap_arenas *go_arenas) GR_MUST_CHECK;

/** The bytes of memory that may hold pointers to blocks, and is not at hand.
 * Private memory that a process has never touched is not counted. */
struct gr_error *gr_native_find_missing(const struct gr_native_spec *spec,
					uint64_t *ret) GR_MUST_CHECK;

/** Sort ranges by address, cut off what overlaps an earlier one, and join those
 * of one arena that touch. */
struct gr_error *
gr_native_sort_ranges(struct gr_runtime *rt,
		      struct gr_native_range_vector *list) GR_MUST_CHECK;

/** The memory of an arena that holds @p addr, or NULL. */
const struct gr_native_range *
gr_native_memory_at(const struct gr_native *native, uint64_t addr);

/** Does the kernel call shared memory that is in no file by this path? A program
 * may run from there, too. */
bool gr_native_is_shared_memory(const char *path);

/** May C keep pointers in a mapping? It may be written, by code in it, too; or
 * it has no file, and was written before it was protected. */
bool gr_native_may_hold(const struct gr_mapping *m);

/** May C keep pointers in pages of a mapping that differ from its file? These
 * were written before they were protected, and are anonymous. */
bool gr_native_may_differ(const struct gr_mapping *m);

/**
 * Does @p addr lead to memory of a checked arena that no block has? The headers
 * of blocks, the first byte behind one, and the program's own memory between
 * them are no such memory. Addresses of the allocator's own structures may be.
 */
bool gr_native_is_free(const struct gr_native *native, uint64_t addr);

/** Is @p addr in the program's own memory, in the middle of an arena's? */
bool gr_native_is_foreign(const struct gr_native *native, uint64_t addr);

/** Is @p addr in memory that a checked arena has given back, and that stays
 * mapped? No block is there. */
bool gr_native_is_spare(const struct gr_native *native, uint64_t addr);

/** The memory of an arena that is checked, outside of its blocks. */
enum gr_native_gap {
	GR_GAP_NONE,   /**< Another arena, a block, or not known. */
	GR_GAP_FREE,   /**< Free memory, by the walk of the arena. */
	GR_GAP_HEADER, /**< The header of a block. */
};

/**
 * Find out what is at an address that no block has, as gr_blocks_find() says.
 *
 * @param[out] ret The address of the arena's structure, or that of the block.
 */
enum gr_native_gap gr_native_gap_at(const struct gr_native *native,
				    uint64_t addr, uint64_t *ret);

/** A mapping that holds @p addr, or NULL. */
const struct gr_mapping *
gr_native_mapping_at(const struct gr_residency *residency, uint64_t addr);

/** The end of the part of [start, end) that belongs to a file of the program,
 * from its start on; the kernel may have joined bss with what lies behind it.
 * Ends are ends of pages. */
struct gr_error *gr_native_module_end(struct gr_runtime *rt, uint64_t start,
				      uint64_t end,
				      uint64_t *ret) GR_MUST_CHECK;

/** Resident bytes in [start, end), by residency ranges that are sorted. */
uint64_t gr_native_resident_bytes(const struct gr_residency *residency,
				  uint64_t start, uint64_t end);

#endif /* GR_NATIVE_H */
