/* SPDX-License-Identifier: Apache-2.0 */
/** type_view: types, for scripts. Ids are valid as long as the scan lives. */
#ifndef GR_TYPE_VIEW_H
#define GR_TYPE_VIEW_H

#include "goruntime/types/types.h"

struct gr_scan;

/** A field of a struct. */
struct gr_field_info {
	const char *name;
	uint64_t offset;  /**< In bytes. */
	uint32_t type;	  /**< Its id. */
	bool is_embedded; /**< The field's own fields are promoted. */
};

/** A type. Strings belong to the scan. */
struct gr_type_info {
	const char *name;
	/** "bool", "int", "uint", "float", "complex", "string", "slice",
	 * "array", "struct", "pointer", "map", "chan", "func", "interface",
	 * "unsafe pointer"; "unknown" for types of C and damaged types. */
	const char *kind;
	uint64_t size; /**< In bytes. */
	/** The element type of a pointer, array, slice, chan or map; or
	 * GR_TYPE_NONE. */
	uint32_t elem;
	uint32_t key;	 /**< The key type of a map; or GR_TYPE_NONE. */
	uint64_t length; /**< Length of an array; else 0. */
	bool has_itab;	 /**< Interface with methods. */
	struct gr_field_info *fields;
	size_t nfields;
};

/**
 * Describe a type. @p ret needs gr_type_info_deinit().
 *
 * @return GR_ERROR_ARGUMENT if there is no type with that id.
 */
struct gr_error *gr_scan_describe_type(struct gr_scan *scan, uint32_t id,
				       struct gr_type_info *ret) GR_MUST_CHECK;
void gr_type_info_deinit(struct gr_type_info *info);

/** The dynamic type of an interface value. */
struct gr_dynamic_type {
	uint32_t type;	/**< GR_TYPE_NONE: not known. */
	bool is_direct; /**< The data word is the value itself, no pointer. */
};

/**
 * Find the dynamic type of an interface value by its first word.
 *
 * @param interface The id of the interface type.
 * @param word Not 0: the address of an itab or of a type record.
 */
struct gr_error *
gr_scan_dynamic_type(struct gr_scan *scan, uint32_t interface, uint64_t word,
		     struct gr_dynamic_type *ret) GR_MUST_CHECK;

#endif /* GR_TYPE_VIEW_H */
