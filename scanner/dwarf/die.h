/* SPDX-License-Identifier: Apache-2.0 */
/**
 * die: one DIE with the attributes that this room reads, and iteration over
 * DIEs. It knows libdwarf and the attributes' numbers, but not their meaning.
 *
 * An attribute that libdwarf cannot read counts as absent. A tree that
 * libdwarf cannot follow is GR_ERROR_FORMAT.
 */
#ifndef GR_DWARF_DIE_H
#define GR_DWARF_DIE_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "dwarf/compat.h"

/** The offset of an absent reference. */
#define GR_DIE_NO_OFF UINT64_MAX

/** Go's own attributes (cmd/internal/dwarf). */
enum {
	GR_AT_GO_KIND = 0x2900,
	GR_AT_GO_KEY = 0x2901,
	GR_AT_GO_ELEM = 0x2902,
	GR_AT_GO_EMBEDDED_FIELD = 0x2903,
	GR_AT_GO_RUNTIME_TYPE = 0x2904,
	GR_AT_GO_DICT_INDEX = 0x2906,
	GR_AT_GO_CLOSURE_OFFSET = 0x2907,
};

/** The deepest nesting of DIEs; deeper ones are left out. */
#define GR_DIE_DEPTH_MAX 64

/** The attributes of one DIE; absent ones are 0, NULL or GR_DIE_NO_OFF. */
struct gr_die {
	uint64_t off; /**< In .debug_info. */
	uint16_t tag;
	uint16_t nattrs;  /**< The number of all attributes, known or not. */
	const char *name; /**< Unchecked, from the file. */
	const char *producer;
	uint64_t type_off, origin_off, key_off, elem_off;
	uint64_t low, high; /**< [low, high), valid if has_pc. */
	uint64_t size_bytes, member_off, count, bound;
	uint64_t runtime_type, closure_off;
	uint64_t dict_index, decl_file, decl_line, language;
	int64_t const_value;
	uint8_t kind, encoding;
	bool has_low, has_pc, has_ranges, has_size, has_count, has_bound;
	bool has_const, has_dict_index, has_location;
	bool is_embedded, is_result;
	bool is_bit_field, is_external, is_declaration;
};

/** Read the attributes of @p handle. */
struct gr_error *gr_die_read(Dwarf_Debug dbg, Dwarf_Die handle,
			     struct gr_die *ret) GR_MUST_CHECK;

/** A position in a list of siblings; it owns its handle (NULL at the end). */
struct gr_die_iter {
	Dwarf_Debug dbg;
	Dwarf_Die handle;
	uint64_t off;
};

/** Go to the first child of @p parent. */
struct gr_error *gr_die_iter_init(struct gr_die_iter *iter, Dwarf_Debug dbg,
				  Dwarf_Die parent) GR_MUST_CHECK;
/** Go to the next sibling; its offset is always higher. */
struct gr_error *gr_die_iter_next(struct gr_die_iter *iter) GR_MUST_CHECK;
void gr_die_iter_deinit(struct gr_die_iter *iter);
#define _cleanup_die_iter_ _cleanup_(gr_die_iter_deinit)

/** The tag of a handle; 0 if it has none. */
uint16_t gr_die_tag(Dwarf_Debug dbg, Dwarf_Die handle);

/** The DIE at an offset of .debug_info, or NULL. Free: dwarf_dealloc_die(). */
Dwarf_Die gr_die_at(Dwarf_Debug dbg, uint64_t off);

static inline void gr_cleanup_die(Dwarf_Die *die)
{
	if (*die)
		dwarf_dealloc_die(*die);
}
#define _cleanup_die_ _cleanup_(gr_cleanup_die)

static inline void gr_cleanup_attribute(Dwarf_Attribute *attr)
{
	if (*attr)
		dwarf_dealloc_attribute(*attr);
}
#define _cleanup_attribute_ _cleanup_(gr_cleanup_attribute)

/** Free libdwarf's error, if there is one, and return @p rc. */
int gr_die_check(Dwarf_Debug dbg, int rc, Dwarf_Error *err);

/** The attribute @p number of a DIE, or NULL. */
Dwarf_Attribute gr_die_attribute(Dwarf_Debug dbg, Dwarf_Die handle,
				 uint16_t number);

#endif /* GR_DWARF_DIE_H */
