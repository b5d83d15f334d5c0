/* SPDX-License-Identifier: Apache-2.0 */
/**
 * column_scan: finds the fields of a struct type that have one value in all
 * objects that were seen.
 *
 * The fields of nested structs are columns, too, and an array is one column. A
 * column that nobody could remove is *fixed*: padding with the name `_`, and
 * what belongs to package sync, whose types have one value whenever nobody uses
 * them.
 */
#ifndef GR_COLUMN_SCAN_H
#define GR_COLUMN_SCAN_H

#include "base/text.h"
#include "waste/checks/struct_layout.h"

enum {
	GR_MAX_COLUMNS = 512, /**< Structs that have more are left closed. */
	GR_COLUMNS_MAX_BYTES = 1 << 16, /**< Larger types are not scanned. */
};

/** A field, or, as column 0, the type itself. */
struct gr_scanned_field {
	const char *name;
	gr_type_id type;
	uint32_t parent; /**< The column of the struct with this field. */
	/** The columns of a struct's fields; none: it is not looked into. */
	uint32_t first_field, nfields;
	uint64_t off_bytes, bytes; /**< In the whole type. */
	uint64_t align;
	bool is_fixed;
	bool is_equal; /**< All objects have had one value so far. */
	/** Size and alignment without what has one value; gr_columns_settle()
	 * sets them. */
	uint64_t rest_bytes, rest_align;
};

struct gr_columns {
	uint64_t objects; /**< That were seen. */
	uint8_t *first;	  /**< The bytes of the first of them. */
	struct gr_scanned_field *columns;
	uint16_t *equal; /**< Columns that may still have one value. */
	uint32_t ncolumns, nequal;
};

/**
 * Make the columns of a struct type of at most GR_COLUMNS_MAX_BYTES. *@p ret is
 * NULL if the type is not laid out by the rules of Go, or if no field can be
 * removed.
 */
struct gr_error *gr_columns_create(struct gr_types *types, gr_type_id type,
				   struct gr_columns **ret) GR_MUST_CHECK;
void gr_columns_destroy(struct gr_columns *columns);

/** See an object, which has the bytes of the type at @p host. */
void gr_columns_look(struct gr_columns *columns, const uint8_t *host);

/** After the last object: find the size of the type without the columns that
 * have one value. It is the type's own if there is none. */
uint64_t gr_columns_settle(struct gr_columns *columns);

/**
 * Append the fields that have one value: `.id, .point.x`. A struct whose fields
 * all have one is named itself.
 *
 * @return whether all of these are zero.
 */
bool gr_columns_name(const struct gr_columns *columns, struct gr_text *text);

#endif /* GR_COLUMN_SCAN_H */
