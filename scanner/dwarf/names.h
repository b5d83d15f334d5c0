/* SPDX-License-Identifier: Apache-2.0 */
/**
 * names: the names of stored rows as one text, each once and ending in NUL. A
 * row has a name's offset where in memory it has a pointer; the first name is
 * empty, and offset 0 stands for NULL.
 */
#ifndef GR_NAMES_H
#define GR_NAMES_H

#include "base/base.h"

struct gr_names {
	char *text;
	size_t text_bytes;
	/* Of packing only: a hash table of the offsets of what is in it. */
	size_t capacity;
	uint32_t *slots;
	uint32_t nslots, nused;
};

/** An empty text, to pack into; false: no memory. */
bool gr_names_init(struct gr_names *names);
void gr_names_deinit(struct gr_names *names);

/** Make the pointer at @p slot an offset; false: no memory. */
bool gr_names_pack(struct gr_names *names, const char **slot, bool may_lack);

/**
 * Is a stored text one that may be printed: UTF-8 without control characters,
 * ending in NUL, the first name empty?
 */
bool gr_names_are_clean(const struct gr_names *names);

/**
 * Make the offset at @p slot a pointer into a clean text; false if it is none
 * of a name, or 0 and it may not be lacking.
 */
bool gr_names_unpack(struct gr_names *names, const char **slot, bool may_lack);

#endif /* GR_NAMES_H */
