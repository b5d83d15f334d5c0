/* SPDX-License-Identifier: Apache-2.0 */
/** free_lists: buffered channels that keep empty buffers for later use. */
#ifndef GR_FREE_LISTS_H
#define GR_FREE_LISTS_H

#include "waste/objects/check.h"

/** A value in a free list: a slice, or a struct with one. */
struct gr_buffer {
	gr_type_id type;
	uint64_t addr;
};
GR_VECTOR(gr_buffer_vector, struct gr_buffer);

/** The elements of a channel; 0: of another form. */
enum gr_buffer_form {
	GR_BUFFER_NONE,
	GR_BUFFER_SLICE,	 /**< []T */
	GR_BUFFER_SLICE_POINTER, /**< *[]T */
	GR_BUFFER_BYTES,	 /**< *bytes.Buffer */
};

/** Knows which channels may be free lists. */
struct gr_free_lists {
	struct gr_waste_run *run;
	uint8_t *form; /**< enum gr_buffer_form, by the type of the channel. */
	size_t ntypes;
	bool has_any;
	uint64_t buf_off, off_off; /**< In a bytes.Buffer: buf, off. */
	uint64_t left; /**< Elements that all channels may still have. */
};

/** Find the types. @p ret needs gr_free_lists_deinit() even if this fails. */
struct gr_error *gr_free_lists_init(struct gr_waste_run *run,
				    struct gr_free_lists *ret) GR_MUST_CHECK;
void gr_free_lists_deinit(struct gr_free_lists *lists);

/** May an object be such a channel, by its label? */
static inline bool gr_free_lists_may_be(const struct gr_free_lists *lists,
					uint32_t label)
{
	uint32_t type = label & ~(uint32_t)GR_LABEL_FLAGS;

	return (label & GR_LABEL_FLAGS) == GR_LABEL_DATA &&
	       type < lists->ntypes && lists->form[type];
}

/** Append the buffers of the channel at @p addr, an object with that label, if
 * it is a channel, and all of its elements are empty. Else @p ret is left as it
 * is. */
struct gr_error *gr_free_list_read(struct gr_free_lists *lists, uint32_t label,
				   uint64_t addr,
				   struct gr_buffer_vector *ret) GR_MUST_CHECK;

#endif /* GR_FREE_LISTS_H */
