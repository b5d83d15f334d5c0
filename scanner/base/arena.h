/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory that lives as long as a scan, and interned strings in it. Nothing
 * inside is freed singly.
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
 * The one copy of a string in this arena: equal strings give equal pointers.
 * Bytes that are no printable UTF-8 text are replaced by '?'.
 *
 * @return NULL if no memory is left.
 */
const char *gr_arena_intern(struct gr_arena *arena, const char *text,
			    size_t bytes);

/**
 * Length of the printable UTF-8 sequence at @p text, of which @p bytes (1 and
 * more) are there; 0 if it is none.
 */
size_t gr_utf8_length(const char *text, size_t bytes);

/** gr_arena_intern() of a formatted string. */
const char *gr_arena_internf(struct gr_arena *arena, const char *fmt, ...)
	GR_PRINTF(2, 3);

#endif /* GR_ARENA_H */
