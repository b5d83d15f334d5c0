/* SPDX-License-Identifier: Apache-2.0 */
/** element: the element of a map with a constant key. */
#ifndef GR_ELEMENT_H
#define GR_ELEMENT_H

#include "expr/literal.h"
#include "goruntime/types/map_entries.h"

struct gr_heap;
struct gr_program;
struct gr_stop;

/** Begin in front of the first entry of the map with a header. */
struct gr_error *gr_element_map_cursor(struct gr_heap *heap, gr_type_id map,
				       uint64_t header,
				       struct gr_map_cursor *ret) GR_MUST_CHECK;

/**
 * Can a key of this map type equal the literal? Keys of strings, integers and
 * bools can.
 */
bool gr_element_key_fits(const struct gr_program *program, gr_type_id map,
			 const struct gr_literal *key);

/**
 * Find the element whose key equals a literal that fits. Entries are searched
 * through, not hashed: the hash depends on a seed and on the processor.
 *
 * @param[out] elem_addr 0: there is no such key.
 */
struct gr_error *gr_element_find_key(struct gr_stop *stop, gr_type_id map,
				     uint64_t header,
				     const struct gr_literal *key,
				     uint64_t *elem_addr) GR_MUST_CHECK;

#endif /* GR_ELEMENT_H */
