/* SPDX-License-Identifier: Apache-2.0 */
/**
 * native_leaks: blocks of C that nothing holds. No path leads to them from live
 * objects of Go, from Go's roots or from the roots of C (native/c_roots.h); one
 * that only another leaked block holds is leaked, too.
 */
#ifndef GR_NATIVE_LEAKS_H
#define GR_NATIVE_LEAKS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"

struct gr_scan;

/** Leaked blocks of one size, and of one type or content. */
struct gr_native_leak {
	uint64_t blocks, bytes; /**< All of them. */
	uint64_t size;		/**< Bytes of each, the header included. */
	/** Those that no other leaked block leads to. */
	uint64_t heads;
	/** The type of the blocks, or "". */
	const char *type;
	/** The variable or vtable that a word of a block leads to, by its symbol;
	 * "" if no word tells. */
	const char *content;
	const char *library; /**< The file of the symbol, or "". */
	uint64_t example; /**< The address of a block, a head if there is one. */
	uint32_t vertex;  /**< The example's. */
	/** The type of the objects, or the root, whose blocks lie beside at least
	 * half of these (cmemory/neighbours.h), or ""; and beside how many. */
	const char *beside;
	uint64_t beside_blocks;
};

/** The answer. It belongs to the caller. */
struct gr_native_leaks {
	/** The target tells what is mapped, and an allocator was found. */
	bool is_known;
	uint64_t leaked_blocks, leaked_bytes;
	uint64_t in_use_blocks,
		in_use_bytes; /**< All, in arenas that are checked. */
	uint64_t unchecked_arenas;
	/** Memory that may hold pointers to blocks, and is not at hand. */
	uint64_t missing_bytes;
	struct gr_native_leak *groups; /**< Most bytes first. */
	size_t ngroups;
	struct gr_gaps gaps;
};

struct gr_error *
gr_scan_native_leaks(struct gr_scan *scan,
		     struct gr_native_leaks **ret) GR_MUST_CHECK;
void gr_native_leaks_destroy(struct gr_native_leaks *leaks);

#endif /* GR_NATIVE_LEAKS_H */
