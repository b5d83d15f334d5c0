/* SPDX-License-Identifier: Apache-2.0 */
/** part_path: the fields and elements that lead to a byte of a value, as text. */
#ifndef GR_PART_PATH_H
#define GR_PART_PATH_H

#include "base/text.h"
#include "goruntime/types/types.h"

/**
 * Go one field or element down to the byte at *@p off of a value of type *@p id,
 * and append its name: `.field`, `[3]`. @return false: there is none.
 */
bool gr_part_enter(const struct gr_types *types, gr_type_id *id, uint64_t *off,
		   struct gr_text *text);

#endif /* GR_PART_PATH_H */
