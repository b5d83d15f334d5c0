/* SPDX-License-Identifier: Apache-2.0 */
/**
 * word_name: what a person calls a word of memory: the field, the element, the
 * map entry. The names are those of one hop of a path; the path itself is the
 * caller's.
 *
 * Names need the label of the object that has the word (mark/parents.h) and look
 * at captured memory only. Invalid memory makes a poorer name, never an error.
 */
#ifndef GR_WORD_NAME_H
#define GR_WORD_NAME_H

#include "goruntime/heap/heap.h"
#include "goruntime/roots/roots.h"
#include "goruntime/types/types.h"

struct gr_stop;

enum { GR_WORD_NAME_BYTES = 1024 };

/** The meaning of gr_word_name.type. */
enum gr_word_kind {
	/** The type is that of the field or element. */
	GR_WORD_FIELD,
	/** The word is a pointer to a value of the type: a large key or element
	 * of a map. */
	GR_WORD_POINTER,
	/** The word leads to another piece of a container of the type. */
	GR_WORD_PIECE,
	/** There is no such field; the type is that of what lies around. */
	GR_WORD_NAMELESS,
};

struct gr_word_name {
	/**
	 * One of these, fields and elements behind it:
	 *
	 * - `.field`, `[3]`; empty for a value without parts, such as a pointer
	 * - `["abc"]`, `[17]`, `[true]`: the value of a map entry
	 * - `$mapval`, `$mapkey`: the value of an entry whose key cannot be
	 *   shown; a key
	 * - `[0]`: the element of a channel that is received next; `$buf[3]`: a
	 *   slot of its buffer
	 * - `$buckets`, `$oldbuckets`, `$extra`, `$overflow[2]`,
	 *   `$oldoverflow[2]`, `$nextoverflow`, `$groups`, `$dir`, `$tables[3]`,
	 *   `$buf`, `$recvq`, `$sendq`, `$timer`, `$children[5]`, `$parent`: the
	 *   runtime's own words
	 * - `+0x18`: an unknown word
	 *
	 * Longer texts end in "...".
	 */
	char text[GR_WORD_NAME_BYTES];
	enum gr_word_kind kind;
	gr_type_id type; /**< Or GR_TYPE_NONE. */
	/** Offset of the word in a value of `type`: 8 is the pointer of an
	 * interface. */
	uint64_t off_bytes;
};

/**
 * Name the word at byte @p off of an object of the heap.
 *
 * @param obj the object's number.
 * @param label as gr_parent.label; GR_TYPE_NONE: only what its header tells.
 * @param off from the object's first byte behind its malloc header.
 */
struct gr_error *gr_word_find_name(struct gr_stop *stop, gr_obj obj,
				   uint32_t label, uint64_t off,
				   struct gr_word_name *ret) GR_MUST_CHECK;

/**
 * The same for an object that a pointer in @p holder leads to. The holder of a
 * channel's buffer tells in which order its elements are received.
 */
struct gr_error *gr_word_find_held_name(struct gr_stop *stop, gr_obj holder,
					gr_obj obj, uint32_t label,
					uint64_t off,
					struct gr_word_name *ret) GR_MUST_CHECK;

/** The same for a block of C: its label is all that tells the name. */
struct gr_error *
gr_word_find_block_name(const struct gr_types *types, uint32_t label,
			uint64_t off, struct gr_word_name *ret) GR_MUST_CHECK;

/** Is an object that belongs to a map of type @p map the header of that map? */
struct gr_error *gr_word_starts_map(struct gr_heap *heap, gr_obj obj,
				    gr_type_id map, bool *ret) GR_MUST_CHECK;

/**
 * Name the word at byte @p off of a root's variable, or of the object whose
 * contents the root holds. The name of the root itself is not part of the name.
 * The name of a root that is itself the pointer is empty.
 */
struct gr_error *gr_word_find_root_name(struct gr_heap *heap,
					const struct gr_root *root,
					uint64_t off,
					struct gr_word_name *ret) GR_MUST_CHECK;

#endif /* GR_WORD_NAME_H */
