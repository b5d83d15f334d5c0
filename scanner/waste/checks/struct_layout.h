/* SPDX-License-Identifier: Apache-2.0 */
/**
 * struct_layout: the size of a struct whose fields are others, or in another
 * order. Source: cmd/compile/internal/types/size.go (calcStructOffset).
 */
#ifndef GR_STRUCT_LAYOUT_H
#define GR_STRUCT_LAYOUT_H

#include "goruntime/types/map_shape.h"

/** A struct while its fields are laid out, one after the other.
 * Zero-initialised is an empty struct. */
struct gr_struct_layout {
	uint64_t end_bytes; /**< The fields so far, with padding between. */
	uint64_t sum_bytes; /**< The same without padding. */
	uint64_t align;	    /**< The largest of the fields; 0: none. */
	bool ends_empty;    /**< The last field takes no bytes. */
	bool is_odd;	    /**< A size is no multiple of its alignment. */
};

/** Add a field. @p align is a power of two. @return its offset. */
uint64_t gr_struct_layout_add(struct gr_struct_layout *layout, uint64_t bytes,
			      uint64_t align);

/** The size of the struct. */
uint64_t gr_struct_layout_bytes(const struct gr_struct_layout *layout);

/** Its size if the fields lie in the best order: by alignment, those without
 * bytes first. */
uint64_t gr_struct_layout_best(const struct gr_struct_layout *layout);

/**
 * Lay out the fields of a struct type as they are.
 *
 * @param[out] is_ours The result has the offsets and the size of the type: it
 *	was laid out by these rules, and all fields are known.
 * @return an error only if poll refuses.
 */
struct gr_error *gr_struct_layout_of(struct gr_types *types, gr_type_id id,
				     struct gr_struct_layout *ret,
				     bool *is_ours) GR_MUST_CHECK;

/**
 * Is the type declared in Go, so that its author can change it? The layout of a
 * struct of C is not theirs, nor are the structs of the scheduler. A closure has
 * no declaration.
 */
bool gr_struct_can_change(const struct gr_type *type);

#endif /* GR_STRUCT_LAYOUT_H */
