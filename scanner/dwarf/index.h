/* SPDX-License-Identifier: Apache-2.0 */
/**
 * index: hash tables from names and numbers to the rows of a table that does
 * not grow any more. It knows nothing about DWARF.
 */
#ifndef GR_DWARF_INDEX_H
#define GR_DWARF_INDEX_H

#include "base/base.h"

/** One member in all rows of a table. */
struct gr_column {
	const void *first; /**< The member in row 0. */
	size_t stride;	   /**< From row to row, in bytes. */
};
#define GR_COLUMN(rows, member) \
	((struct gr_column){ (rows) ? &(rows)->member : NULL, sizeof(*(rows)) })

/**
 * A table with open addressing. It holds no keys: a look-up compares with the
 * column.
 *
 * Invariant: at least half of the slots are free (UINT32_MAX).
 */
struct gr_index {
	uint32_t *slots;
	uint32_t mask; /**< Number of slots, a power of two, minus 1. */
};

/** FNV-1a. */
uint32_t gr_name_hash(const char *name);

/** Make room for @p count rows; false if no memory is left. */
bool gr_index_init(struct gr_index *index, size_t count);
void gr_index_deinit(struct gr_index *index);

/**
 * Add row @p row by its name or number. The first of several rows with the
 * same key stays. A row that finds no free slot near its own is left out.
 */
void gr_index_add_name(struct gr_index *index, struct gr_column names,
		       uint32_t row);
void gr_index_add_number(struct gr_index *index, struct gr_column numbers,
			 uint32_t row);

/** The row of that name or number, or UINT32_MAX. */
uint32_t gr_index_find_name(const struct gr_index *index,
			    struct gr_column names, const char *name);
uint32_t gr_index_find_number(const struct gr_index *index,
			      struct gr_column numbers, uint64_t number);

#endif /* GR_DWARF_INDEX_H */
