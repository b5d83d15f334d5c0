/* SPDX-License-Identifier: Apache-2.0 */
/** layout_internal: the rows of the tables, for the files of layout.h. */
#ifndef GR_LAYOUT_INTERNAL_H
#define GR_LAYOUT_INTERNAL_H

#include "goruntime/layout/layout.h"

enum gr_layout_need { OPTIONAL, REQUIRED };
enum gr_layout_row_kind { ROW_STRUCT, ROW_FIELD, ROW_END };

/**
 * One row of GR_LAYOUT_TABLE. The answers are in struct gr_layout in the same
 * order, without gaps: a uint64_t for a struct, a gr_field for a field.
 */
struct gr_layout_row {
	enum gr_layout_row_kind kind;
	enum gr_layout_need need;
	const char *names; /**< Alternatives, separated by '|'. */
	const char *id;
};

/** A row of variables or constants; its answer is at @p off. */
struct gr_layout_named_row {
	const char *names;
	const char *id;
	enum gr_layout_need need;
	size_t off;
	size_t has_off;
	int64_t fallback;
};

extern const struct gr_layout_row gr_layout_rows[];
extern const size_t gr_layout_nrows;
extern const struct gr_layout_named_row gr_layout_variables[];
extern const size_t gr_layout_nvariables;
extern const struct gr_layout_named_row gr_layout_constants[];
extern const size_t gr_layout_nconstants;

/** Copy the alternative at *@p names and step over it; false at the end. */
bool gr_layout_next_name(const char **names, char *buf, size_t bytes);

#endif /* GR_LAYOUT_INTERNAL_H */
