/* SPDX-License-Identifier: Apache-2.0 */
/** memory_name: names of memory by its label (mark/parents.h). */
#ifndef GR_MEMORY_NAME_H
#define GR_MEMORY_NAME_H

#include "base/base.h"
#include "base/error.h"

struct gr_program;
struct gr_span;

/** The name of a block of C whose type is not known. */
#define GR_BLOCK_NAME "C block"

/**
 * The type of an object with a label (mark/parents.h), as all answers print it:
 * `main.T`; `[]main.T` for an array that belongs to a slice, or has any number
 * of values; `string`, `map[K]V` (any piece of a map), `chan T` and `func()`
 * for what belongs to such a value; `begins with main.T` if only that is known;
 * or "".
 */
const char *gr_memory_name(struct gr_program *program, uint32_t label);

/** The same in a table of types, which counts what begins with main.T as
 * `main.T`. */
const char *gr_memory_row_name(struct gr_program *program, uint32_t label);

/** `[48]main.T`, by which a person may ask for arrays of as many values as fit
 * in the @p bytes of an object with a label; "" for anything else. */
const char *gr_memory_array_name(struct gr_program *program, uint32_t label,
				 uint64_t bytes);

/** True if the memory has elements: an array, slice, map or channel, what such a
 * value points to, or a pointer to an array, a slice or a map. */
bool gr_memory_is_container(struct gr_program *program, uint32_t label);

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

#endif /* GR_MEMORY_NAME_H */
