/* SPDX-License-Identifier: Apache-2.0 */
/**
 * names: the names of stored rows as one text, which has each name once and
 * ends it with NUL. A stored row has the offset of a name; a row in memory has
 * a pointer in the same place. The first name is empty, and offset 0 stands
 * for NULL.
 */
#ifndef GR_DWARF_NAMES_H
#define GR_DWARF_NAMES_H

#include "base/base.h"
#include "base/bytes.h"

struct gr_store_check;

struct gr_names {
	char *text;
	size_t text_bytes;
	/** Polls while names are unpacked; NULL: no polling. */
	struct gr_store_check *check;
	/* Only for packing: a hash table of the offsets of the names. */
	size_t capacity;
	uint32_t *slots;
	uint32_t nslots, nused;
};

/** Make an empty text for packing; false: no memory. */
bool gr_names_init(struct gr_names *names);
void gr_names_deinit(struct gr_names *names);

/** Turn the pointer at @p slot into an offset; false: no memory. */
bool gr_names_pack(struct gr_names *names, const char **slot, bool may_lack);

/**
 * Is a stored text valid and safe to print? It must be UTF-8 without control
 * characters and end in NUL, its first name must be empty, and none may be too
 * long.
 */
bool gr_names_are_clean(const struct gr_names *names);

/**
 * Turn the offset at @p slot into a pointer into a clean text. False if it is
 * not the offset of a name, or if it is 0 and @p may_lack is false.
 */
bool gr_names_unpack(struct gr_names *names, const char **slot, bool may_lack);

#endif /* GR_DWARF_NAMES_H */
