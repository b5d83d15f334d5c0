/* SPDX-License-Identifier: Apache-2.0 */
/**
 * shapes: what the objects of a heap look like, for formats of other languages.
 *
 * Objects of one shape have a type and the places of their references in
 * common. An object is a *record* with named fields, an *array* of such records
 * or of single words, or *bytes* without references. A word is a reference if
 * the type says so, or if it is one in any object of the shape. The shapes are
 * therefore made in a pass over all objects, and do not change afterwards.
 */
#ifndef GR_SHAPES_H
#define GR_SHAPES_H

#include "graph/keys.h"
#include "naming/link.h"
#include "scan/answers.h"

enum gr_shape_form {
	GR_SHAPE_RECORD,
	GR_SHAPE_ARRAY,
	GR_SHAPE_BYTES,
};

/** Longer objects are arrays of words, or bytes. */
enum { GR_RECORD_MAX_BYTES = 1 << 18 };

/**
 * Invariants: references has a bit for each word of unit_bytes, of which nrefs
 * are set; names has nrefs elements in their order. Bytes have none.
 */
struct gr_shape {
	/** Go's: `main.T`; of an array or bytes the element, `main.T`. */
	const char *name;
	uint32_t label;
	uint8_t form;	     /**< enum gr_shape_form */
	uint8_t elem_kind;   /**< enum gr_go_kind of an element of bytes. */
	uint64_t slot_bytes; /**< A record's; 0 for others. */
	/** Bytes of a record, or of an element of an array. */
	uint64_t unit_bytes;
	gr_type_id type; /**< That names the words of a unit; or NONE. */
	uint64_t *references;
	uint32_t nrefs;
	/** Behind the name of the unit: `.next`, `[2].key`, or "". */
	const char **names;
	uint64_t objects;
	/** The owner's number. */
	uint64_t id;
};
GR_VECTOR(gr_shape_vector, struct gr_shape);

struct gr_shapes {
	struct gr_answers *answers;
	struct gr_keys keys; /**< By bytes and label. */
	struct gr_shape_vector shapes;
};

/** An object with its shape. */
struct gr_shaped {
	gr_vertex vertex;
	uint64_t addr;	/**< Behind a malloc header. */
	uint64_t bytes; /**< From there to the end of its slot. */
	uint64_t slot_bytes;
	struct gr_shape *shape;
};

/** Find out the shapes of all objects of the graph, which has been made. */
struct gr_error *gr_shapes_make(struct gr_shapes *shapes,
				struct gr_answers *answers) GR_MUST_CHECK;
void gr_shapes_deinit(struct gr_shapes *shapes);

/** Call @p visit for all objects in the order of addresses; polls. */
struct gr_error *gr_shapes_each(
	struct gr_shapes *shapes,
	struct gr_error *(*visit)(void *ctx, const struct gr_shaped *object),
	void *ctx) GR_MUST_CHECK;

/** A reference by its offset: the number of its unit, and its index among the
 * references of a unit. */
struct gr_shape_place {
	uint64_t unit;
	uint32_t ref;
};

struct gr_shape_place gr_shape_place(const struct gr_shape *shape,
				     uint64_t off_bytes);

#endif /* GR_SHAPES_H */
