/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reader: how an allocator adds what it has found: arenas, their memory and
 * blocks. Ranges are half-open. If an address or a number makes no sense, the
 * arena becomes unchecked; that is no error.
 */
#ifndef GR_NATIVE_READER_H
#define GR_NATIVE_READER_H

#include "native/allocators/allocator.h"

/** Note why an arena is not checked; the first reason stays. */
static inline void gr_arena_doubt(struct gr_native_arena *arena,
				  enum gr_native_doubt doubt,
				  const char *reason)
{
	arena->is_checked = false;
	if (arena->reason)
		return;
	arena->doubt = doubt;
	arena->reason = reason;
}

/** Note that an arena is damaged, as it seems. */
static inline void gr_arena_fail(struct gr_native_arena *arena,
				 const char *reason)
{
	gr_arena_doubt(arena, GR_DOUBT_DAMAGE, reason);
}

/** Note that memory of an arena is not at hand. */
static inline void gr_arena_miss(struct gr_native_arena *arena)
{
	gr_arena_doubt(arena, GR_DOUBT_MISSING, "its memory is missing");
}

/** Append an arena, which is checked for now. @p kind is not copied. */
struct gr_error *gr_reader_add_arena(struct gr_native_reader *r, uint64_t addr,
				     const char *kind) GR_MUST_CHECK;

/** Does Go's heap have memory in [start, end), which is not empty? */
bool gr_reader_meets_go(const struct gr_native_reader *r, uint64_t start,
			uint64_t end);

/** Add the memory of arenas from number @p first of gr_native.memory on to what is
 * taken: no other allocator, and no other copy of one, may have it. */
struct gr_error *gr_reader_take(struct gr_native_reader *r,
				size_t first) GR_MUST_CHECK;

/** Append [@p start, @p end) to the memory of an arena, and to its
 * mapped_bytes. The arena fails if the range is invalid, or in the heap of Go. */
struct gr_error *gr_reader_add_memory(struct gr_native_reader *r,
				      uint32_t arena, uint64_t start,
				      uint64_t end) GR_MUST_CHECK;

/** Note that [@p start, @p end) in the memory of an arena is neither a block nor
 * free. */
struct gr_error *gr_reader_add_other(struct gr_native_reader *r, uint32_t arena,
				     uint64_t start,
				     uint64_t end) GR_MUST_CHECK;

/** Append a block to @p list, and count it. Its size is a multiple of
 * GR_BLOCK_UNIT. */
struct gr_error *gr_reader_add_block(struct gr_native_reader *r,
				     struct gr_blocks *list, uint32_t arena,
				     uint64_t addr, uint64_t bytes,
				     unsigned int header_words) GR_MUST_CHECK;

/** Count a free piece of memory, and what is resident of it. */
void gr_reader_count_free(const struct gr_native_reader *r,
			  struct gr_native_arena *arena, uint64_t start,
			  uint64_t bytes);

/** Note that a block in @p list is free after all: it is in the cache of a
 * thread. It must be counted as in use. */
void gr_reader_count_cached(const struct gr_native_reader *r,
			    const struct gr_block *block);

/** Append the pages in [@p start, @p end), which are free and would be given back
 * to the system if the allocator were asked to. */
struct gr_error *gr_reader_add_trimmable(struct gr_native_reader *r,
					 uint32_t arena, uint64_t start,
					 uint64_t end) GR_MUST_CHECK;

/** Append [@p start, @p end) to the structures in data of files. */
struct gr_error *gr_reader_add_structure(struct gr_native_reader *r,
					 uint64_t start,
					 uint64_t end) GR_MUST_CHECK;

/** Move the blocks of @p from to those of the program, but not those whose bit
 * is set in @p dropped (NULL: none is). */
struct gr_error *gr_reader_keep_blocks(struct gr_native_reader *r,
				       struct gr_blocks *from,
				       const uint64_t *dropped) GR_MUST_CHECK;

/**
 * Append an allocator that has the arenas from @p first_arena on, and sum up
 * what is left of them: other_bytes and is_checked.
 *
 * @param version It is not copied; "": not known.
 */
struct gr_error *gr_reader_add_allocator(struct gr_native_reader *r,
					 const char *name, const char *version,
					 uint32_t first_arena) GR_MUST_CHECK;

/**
 * Append an allocator that is in the program and cannot be read.
 *
 * @param refusal Why, as the rest of a sentence that begins with its name and
 *                version: "is not supported (goref reads 5.2.1)". It is not
 *                copied.
 */
struct gr_error *gr_reader_refuse(struct gr_native_reader *r, const char *name,
				  const char *version,
				  const char *refusal) GR_MUST_CHECK;

#endif /* GR_NATIVE_READER_H */
