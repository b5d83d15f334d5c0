/* SPDX-License-Identifier: Apache-2.0 */
/**
 * boxes: the small objects that are values of interfaces, and the blocks of the
 * tiny allocator that hold nothing else.
 *
 * An interface points to the value, unless the value is a pointer itself.
 * Several values without pointers share a block of 16 bytes, which is free when
 * none of them is left. So the block of a value is saved only if the others are
 * values in interfaces or behind pointers to their type, too. Words of roots
 * are not looked at. Source: runtime/iface.go (convT), runtime/malloc.go
 * (mallocgcTiny).
 */
#ifndef GR_BOXES_H
#define GR_BOXES_H

#include "goruntime/types/map_shape.h"
#include "mark/type_plan.h"
#include "waste/objects/reach.h"

/** A word that may lead to a value in a box. */
struct gr_box_word {
	uint32_t off_bytes;
	uint8_t op; /**< enum gr_slot_op */
	/** Behind a pointer: of a value in a block of the tiny allocator. */
	uint8_t tiny_bytes;
};

/** The words of a value. */
struct gr_box_words {
	uint32_t count;
	struct gr_box_word words[];
};

/** A type that an interface names. */
struct gr_box_type {
	uint64_t word;	    /**< The type record or itab; 0: none. */
	uint8_t tiny_bytes; /**< As in gr_box_word. */
	bool is_box;	    /**< Interfaces point to its values. */
};

enum { GR_BOX_TYPES = 1 << 10 };

struct gr_boxes {
	const struct gr_heap *heap;
	struct gr_type_plans *plans;
	uint64_t *boxed; /**< A bit an object: an interface holds it. */
	/** By block of the tiny allocator: a bit for each byte of a value in an
	 * interface or behind a pointer. */
	uint16_t *taken;
	struct gr_box_words **of; /**< By type; NULL: none that matter. */
	size_t ntypes;
	struct gr_box_type cache[GR_BOX_TYPES];
};

/** Initialise. Needs gr_boxes_deinit() even if it fails. */
struct gr_error *gr_boxes_init(struct gr_boxes *boxes,
			       const struct gr_heap *heap,
			       struct gr_type_plans *plans) GR_MUST_CHECK;
void gr_boxes_deinit(struct gr_boxes *boxes);

/** Find the words of values of a type that may lead to boxes. *@p ret: there
 * are some. */
struct gr_error *gr_boxes_prepare(struct gr_boxes *boxes, gr_type_id type,
				  const struct gr_type_plan *plan,
				  bool *ret) GR_MUST_CHECK;

/** Note the objects to which @p count values of such a type lead. */
struct gr_error *gr_boxes_look(struct gr_boxes *boxes, gr_type_id type,
			       uint64_t type_bytes, uint64_t count,
			       const uint8_t *host) GR_MUST_CHECK;

/** The same of @p count buckets or groups of a map, whose keys and elements
 * were prepared. */
struct gr_error *gr_boxes_look_map(struct gr_boxes *boxes,
				   const struct gr_map_shape *shape,
				   gr_type_id key, gr_type_id elem,
				   uint64_t count,
				   const uint8_t *host) GR_MUST_CHECK;

/** Does a block of the tiny allocator have one value only, or are all of them
 * in interfaces and behind pointers? */
bool gr_boxes_fill(const struct gr_boxes *boxes,
		   const struct gr_reach_table *reach, gr_obj obj);

#endif /* GR_BOXES_H */
