/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory that lives as long as a scan, and interned strings in it. Nothing in
 * an arena is freed individually.
 */
#ifndef GR_ARENA_H
#define GR_ARENA_H

#include "base/base.h"
#include "base/error.h"

struct gr_arena_block;
struct gr_string_entry;

/** A bump allocator with a string table. Zero-initialised is ready. */
struct gr_arena {
	struct gr_arena_block *blocks;
	struct gr_string_entry *strings;
};

void gr_arena_deinit(struct gr_arena *arena);

/** @p bytes zeroed bytes, 8-aligned; NULL if no memory is left. */
void *gr_arena_alloc(struct gr_arena *arena, size_t bytes);

/**
 * Return the arena's only copy of a string: equal strings give equal pointers.
 * Bytes that are not printable UTF-8 text are replaced by '?'.
 *
 * @return NULL if no memory is left.
 */
const char *gr_arena_intern(struct gr_arena *arena, const char *text,
			    size_t bytes);

/** gr_arena_intern() of a formatted string. */
const char *gr_arena_internf(struct gr_arena *arena, const char *fmt, ...)
	GR_PRINTF(2, 3);

#endif /* GR_ARENA_H */
