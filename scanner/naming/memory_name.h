/* SPDX-License-Identifier: Apache-2.0 */
/** memory_name: names of memory by its label (mark/parents.h). */
#ifndef GR_MEMORY_NAME_H
#define GR_MEMORY_NAME_H

#include "base/base.h"
#include "base/error.h"

struct gr_program;
struct gr_span;

/**
 * The name of an object of @p bytes with a label (mark/parents.h): the type of
 * exactly that memory, `[48]main.T`, `string data`, `map[K]V data` (any piece
 * of a map), `begins with main.T` if only that is known; or "".
 */
const char *gr_memory_name(struct gr_program *program, uint32_t label,
			   uint64_t bytes);

/**
 * The label of an object that no walk reached, as its malloc header or its span
 * tells: a type, or GR_LABEL_DATA with a slice type; or GR_TYPE_NONE.
 */
struct gr_error *gr_memory_header_label(struct gr_program *program,
					const struct gr_span *span,
					uint32_t index,
					uint32_t *ret) GR_MUST_CHECK;

/** The type that it tells, as gr_memory_name() writes it; or "". */
const char *gr_memory_header_type(struct gr_program *program,
				  const struct gr_span *span, uint32_t index);

/** The name of objects of any size with a label: `[]main.T data`. */
const char *gr_memory_merged_name(struct gr_program *program, uint32_t label);

/** The same in a table of types, without what the memory is for: `[]main.T`,
 * `string`, `map[K]V`. */
const char *gr_memory_row_name(struct gr_program *program, uint32_t label);

#endif /* GR_MEMORY_NAME_H */
