/* SPDX-License-Identifier: Apache-2.0 */
/**
 * frame_locals: the variables of a goroutine's frames, their places, and the
 * instances of generic functions that the frames run.
 */
#ifndef GR_FRAME_LOCALS_H
#define GR_FRAME_LOCALS_H

#include "base/hash.h"
#include "goruntime/roots/instance.h"
#include "goruntime/types/types.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

/** A variable of a function at one pc, for use in all frames at that pc. */
struct gr_local {
	const char *name;		 /**< Interned `main.f.x`. */
	const char *function, *variable; /**< `main.f`, `x`. */
	uint32_t generic; /**< Index in gr_pc_locals.generics, or none. */
	const char *file;
	uint32_t line;
	uint32_t depth; /**< Inlined calls around it in the function. */
	gr_type_id type;
	uint64_t bytes;
	bool is_param;
	bool is_escaped; /**< The place holds a pointer to the variable. */
	bool is_plain;	 /**< In one piece at CFA + offset. */
	int64_t offset;
	uint32_t npieces; /**< If it is not plain; 0: no place is known. */
	struct gr_location_piece *pieces;
};

/** All variables at a pc, kept because many goroutines have the same pcs. */
struct gr_pc_locals {
	UT_hash_handle hh;
	uint64_t pc;
	struct gr_local *locals;
	size_t count;
	struct gr_generic_vector generics; /**< Also of inlined functions. */
	uint32_t generic;		   /**< The function's own index. */
};

/** A frame of the current goroutine. */
struct gr_frame_local {
	struct gr_pc_locals *at;
	const struct gr_dictionary *dict; /**< Or NULL. */
};
GR_VECTOR(gr_frame_local_vector, struct gr_frame_local);

/** The variables of the frames of one goroutine after the other. The owner sets
 * the types. */
struct gr_frame_locals {
	struct gr_types *types;
	bool with_lost; /**< Also variables that have no place. */
	struct gr_pc_locals *by_pc;
	struct gr_frame_local_vector frames;
	struct gr_arena arena;
};

void gr_frame_locals_deinit(struct gr_frame_locals *locals);

/** Find the variables and the dictionary of every frame of @p g. */
struct gr_error *
gr_frame_locals_find(struct gr_frame_locals *locals,
		     const struct gr_goroutine *g) GR_MUST_CHECK;

/** The variables of frame @p frame (index) of the goroutine. */
static inline const struct gr_pc_locals *
gr_frame_locals_at(const struct gr_frame_locals *locals, size_t frame)
{
	return locals->frames.data[frame].at;
}

/** Is the variable's type one of shared code, for gr_frame_instance()? */
bool gr_local_is_generic(const struct gr_frame_locals *locals,
			 const struct gr_local *local);

/**
 * Find the type of a variable in the shared code of a generic function, and the
 * function's name with its type arguments. @p type is left alone if it is not
 * known; *@p function is NULL if the instance is not known.
 */
struct gr_error *
gr_frame_instance(struct gr_frame_locals *locals, const struct gr_goroutine *g,
		  const struct gr_frame *frame, const struct gr_local *local,
		  gr_type_id *type, const char **function) GR_MUST_CHECK;

/**
 * Find the bytes of one piece of a variable of @p bytes bytes: on the stack, in
 * a register, or where a register was saved when the function was preempted.
 *
 * @param size Of the piece; inside the variable.
 * @param at Address on the stack; 0 for a register of a thread.
 * @return NULL if the bytes are not there.
 */
const uint8_t *gr_frame_piece(const struct gr_runtime *rt,
			      const struct gr_goroutine *g,
			      const struct gr_frame *frame,
			      const struct gr_location_piece *piece,
			      uint64_t bytes, uint64_t *size, uint64_t *at);

#endif /* GR_FRAME_LOCALS_H */
