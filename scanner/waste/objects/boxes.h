/* SPDX-License-Identifier: Apache-2.0 */
/**
 * boxes: the small objects that are values of interfaces, and the blocks of the
 * tiny allocator that hold nothing else.
 *
 * An interface points to the value, unless the value is a pointer itself.
 * Several values without pointers share a block of 16 bytes, which is free when
 * none of them is left. So the block of a value is saved only if the others are
 * values in interfaces or behind pointers to their type, too. A value that a
 * root leads to does not count, because no object holds it.
 * Source: runtime/iface.go (convT), runtime/malloc.go (mallocgcTiny).
 */
#ifndef GR_BOXES_H
#define GR_BOXES_H

#include "waste/objects/reach.h"

/** How a view holds its object. */
enum gr_holding {
	GR_HELD_OTHERWISE,
	/** As a value of the tiny allocator: by an interface, or by a pointer
	 * to its type. */
	GR_HELD_AS_VALUE = 1 << 0,
	GR_HELD_BY_INTERFACE = 1 << 1,
};

/** Zero-initialised, it notes nothing. */
struct gr_boxes {
	uint64_t *boxed;  /**< A bit an object: an interface holds it. */
	uint64_t *mixed;  /**< A bit an object: a view holds it otherwise. */
	uint64_t *shared; /**< A bit an object: it has several views. */
};

/** Note the views from now on. Needs gr_boxes_deinit() even if it fails. */
struct gr_error *gr_boxes_init(struct gr_boxes *boxes,
			       gr_obj nobjs) GR_MUST_CHECK;
void gr_boxes_deinit(struct gr_boxes *boxes);

/** Note a view of an object, before it is in @p reach; @p holding has bits of
 * enum gr_holding. */
static inline void gr_boxes_note(struct gr_boxes *boxes,
				 const struct gr_reach_table *reach, gr_obj obj,
				 uint64_t obj_bytes, unsigned int holding)
{
	if (!boxes->boxed)
		return;
	if (reach->slots[obj])
		gr_bitmap_set(boxes->shared, obj);
	if (obj_bytes > GR_TINY_BYTES)
		return;
	if (holding & GR_HELD_BY_INTERFACE)
		gr_bitmap_set(boxes->boxed, obj);
	if (!(holding & GR_HELD_AS_VALUE))
		gr_bitmap_set(boxes->mixed, obj);
}

/** Does a block of the tiny allocator have one value only, or are all of them
 * in interfaces and behind pointers? */
bool gr_boxes_fill(const struct gr_boxes *boxes,
		   const struct gr_reach_table *reach, gr_obj obj);

#endif /* GR_BOXES_H */
