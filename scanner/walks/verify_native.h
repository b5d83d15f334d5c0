/* SPDX-License-Identifier: Apache-2.0 */
/**
 * verify_native: compare the blocks of C that were found with what their
 * allocators count, and with what holds them. A block that nothing holds is a
 * leak of the program, and no error.
 */
#ifndef GR_VERIFY_NATIVE_H
#define GR_VERIFY_NATIVE_H

#include "mark/edges.h"
#include "native/native.h"
#include "scan/answers.h"

/** An arena, against its counters. */
struct gr_arena_verdict {
	struct gr_native_arena arena;
	/** Its blocks that something holds; 0 if it is not checked. */
	uint64_t reached_blocks, reached_bytes;
	/** Why it may disagree; NULL: it agrees, or that is an error. */
	const char *explanation;
};

struct gr_allocator_verdict {
	const char *name, *version;
	bool is_checked;
	const char *refusal; /**< As that of gr_native_allocator. */
	struct gr_arena_verdict *arenas;
	size_t narenas;
};

/** Zero-initialised, there is no C memory. */
struct gr_native_verdict {
	struct gr_allocator_verdict *allocators;
	size_t nallocators;
	/** Pointers of reached Go memory that lead to free memory of C, and
	 * words of C's variables that do, which may be no pointers. */
	uint64_t free_pointers, free_words;
	uint64_t unexplained; /**< Arenas. */
};

/**
 * Fill @p ret but for the pointers of Go; *@p native is NULL if there is no C
 * memory, or the target does not tell. This makes the object graph. @p ret
 * needs gr_native_verdict_deinit() even if it fails.
 */
struct gr_error *gr_verify_native(struct gr_answers *answers,
				  struct gr_native **native,
				  struct gr_native_verdict *ret) GR_MUST_CHECK;
void gr_native_verdict_deinit(struct gr_native_verdict *verdict);

#endif /* GR_VERIFY_NATIVE_H */
