/* SPDX-License-Identifier: Apache-2.0 */
/** data_variables: which package variable has an address, or points to it, for
 * many addresses. */
#ifndef GR_DATA_VARIABLES_H
#define GR_DATA_VARIABLES_H

#include "base/text.h"
#include "base/vector.h"
#include "goruntime/types/types.h"

struct gr_heap;

/** As deep as variables may lie in, or point into, each other's memory. */
enum { GR_MAX_NESTED_VARIABLES = 64 };

/** The memory of a variable, or memory that it points to, as in
 * `var cache = &store{}`. */
struct gr_data_variable {
	const char *name;
	uint64_t start, end;
	/** The type of what lies there, or of the elements of a slice; for a
	 * channel that of the variable, whose row is the first word of the
	 * channel's own memory. */
	gr_type_id type;
	bool is_slice;
	/** The nearest row before that has bytes at `start`; UINT32_MAX: none. */
	uint32_t around;
};
GR_VECTOR(gr_data_variable_vector, struct gr_data_variable);

/** The lists rise by their starts; of equal ones, the largest is first. */
struct gr_data_variables {
	struct gr_data_variable_vector own;
	struct gr_data_variable_vector pointed; /**< Outside the heap. */
	struct gr_data_variable_vector in_heap; /**< In the heap, pointed to. */
};

struct gr_error *
gr_data_variables_make(struct gr_heap *heap,
		       struct gr_data_variables *ret) GR_MUST_CHECK;
void gr_data_variables_deinit(struct gr_data_variables *variables);

/** The row of a list that has the byte at @p addr and the least memory, the one
 * declared first if there are several; NULL: there is none. */
const struct gr_data_variable *
gr_data_variable_find(const struct gr_data_variable_vector *list,
		      uint64_t addr);

/** The next row around @p row that has the byte, too; NULL: there is none. */
const struct gr_data_variable *
gr_data_variable_around(const struct gr_data_variable_vector *list,
			const struct gr_data_variable *row, uint64_t addr);

/** Append the name of the variable and, of a slice, the index of the element that
 * has the byte at @p addr. Returns the offset of the byte in the value. */
uint64_t gr_data_variable_put(const struct gr_types *types,
			      const struct gr_data_variable *row, uint64_t addr,
			      struct gr_text *text);

/** The variable that lies at an address outside the heap, or else one that points
 * there: the one with the least memory, if memory of some lies in that of
 * others. NULL: there is none. */
const struct gr_data_variable *
gr_data_variables_at(const struct gr_data_variables *variables, uint64_t addr);

#endif /* GR_DATA_VARIABLES_H */
