/* SPDX-License-Identifier: Apache-2.0 */
/** word: the name of a word inside a value, from the value's type alone. */
#ifndef GR_TYPES_WORD_H
#define GR_TYPES_WORD_H

#include "base/text.h"
#include "goruntime/types/types.h"

/** The innermost field or element that a word belongs to. */
struct gr_type_word {
	/** Its type: no struct or array, unless no field of it has the word. */
	gr_type_id type;
	/**
	 * Offset of the word in it. The pointer of a string, slice or map is at
	 * 0, that of an interface at 8.
	 */
	uint64_t off_bytes;
	/** No field has this word: it is padding, or lies past the end. */
	bool is_nameless;
};

/**
 * Append to @p name the fields and elements that lead to the word at byte @p off
 * of one value of @p type: `.sessions.mu`, `[3].name`. The name is empty if the
 * type has no parts. `+0x18` stands for a word that no field has.
 *
 * An atomic.Pointer has no parts here: its only word is the pointer.
 */
struct gr_error *gr_types_name_word(const struct gr_types *types,
				    gr_type_id type, uint64_t off,
				    struct gr_text *name,
				    struct gr_type_word *ret) GR_MUST_CHECK;

#endif /* GR_TYPES_WORD_H */
