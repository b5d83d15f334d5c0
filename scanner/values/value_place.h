/* SPDX-License-Identifier: Apache-2.0 */
/** value_place: where the value of an object or of a root lies. */
#ifndef GR_VALUE_PLACE_H
#define GR_VALUE_PLACE_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

#define GR_VALUE_FORMS(X)                                        \
	X(UNKNOWN, "unknown") /* the type is not known */        \
	X(VALUE, "value")     /* a value of the type */          \
	X(ARRAY, "array")     /* `length` values of the type */  \
	X(TEXT, "text")	      /* `length` bytes of a string */   \
	X(HEADER, "header")   /* what a map or chan points to */ \
	X(TARGET, "target")   /* the value of a pointer to it */ \
	X(PIECE, "piece")     /* a part of a map, a channel ... */

enum gr_value_form {
#define X(id, name) GR_FORM_##id,
	GR_VALUE_FORMS(X)
#undef X
};

/** The place of a value. Strings belong to the scan. */
struct gr_value_place {
	const char *form; /**< The name of a gr_value_form. */
	uint32_t type;	  /**< The id of the type; GR_TYPE_NONE: unknown. */
	uint64_t addr;	  /**< 0: in registers, or in pieces. */
	uint64_t length;  /**< Number of values or bytes, for ARRAY and TEXT. */
	/** The bytes of a value that was in registers or in pieces, or NULL.
	 * They belong to the scan. */
	const uint8_t *bytes;
	uint64_t nbytes;
};

/**
 * Find the value of an object, by the type of its memory, or of a root, by its
 * variable. The function makes the graph if there is none.
 *
 * @return GR_ERROR_ARGUMENT if the vertex is neither.
 */
struct gr_error *gr_scan_value_place(struct gr_scan *scan, uint32_t vertex,
				     struct gr_value_place *ret) GR_MUST_CHECK;

#endif /* GR_VALUE_PLACE_H */
