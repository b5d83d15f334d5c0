/* SPDX-License-Identifier: Apache-2.0 */
/**
 * parents: how each object was first reached, for `goref why`.
 *
 * A walk that keeps parents has no tree of all paths. The names below an object
 * begin at an anchor, a node that all objects of one type share. The size of
 * the tree therefore depends on the number of types, and the tree needs no
 * limits. The names of one hop are those from the object's node up to the
 * anchor, or to a root.
 */
#ifndef GR_PARENTS_H
#define GR_PARENTS_H

#include "base/hash.h"
#include "base/vector.h"
#include "goruntime/heap/heap.h"
#include "mark/tree.h"
#include "mark/type_plan.h"

/** An object's label: a type id, possibly with a flag, or GR_TYPE_NONE. */
enum {
	/**
	 * The object has the elements of the slice type, or several values of
	 * another type, or data of a value that lies elsewhere: the bytes of a
	 * string, a piece of a map.
	 */
	GR_LABEL_DATA = 0x80000000,
	/** The type describes only the start of the object. */
	GR_LABEL_BEGIN = 0x40000000,
	GR_LABEL_FLAGS = 0xc0000000,
};

/** A way to objects: many of them have the same node and label. */
struct gr_way {
	uint32_t node;	/**< Their node. */
	uint32_t label; /**< A type id with flags, as above. */
};
GR_VECTOR(gr_way_vector, struct gr_way);

struct gr_parent {
	gr_obj from;  /**< The object that leads to it. */
	uint32_t way; /**< An index in gr_parents.ways; 0: not reached. */
};

/** An object that a word of a stack leads to. */
struct gr_frame_object {
	gr_obj obj;
	uint32_t goroutine; /**< Index. */
};
GR_VECTOR(gr_stack_object_vector, struct gr_frame_object);

struct gr_parents {
	struct gr_parent *of; /**< Indexed by object. */
	/** The first is that of objects that are not reached: it has no label,
	 * and its node is GR_NODE_NONE. */
	struct gr_way_vector ways;
	/** The indexes in `ways` by a hash of the way, 2^n of them; 0: none.
	 * NULL after gr_parents_finish(). */
	uint32_t *way_slots;
	size_t nway_slots;
	/** In the order of the walk, until gr_parents_finish(). */
	struct gr_stack_object_vector on_stack;
	/** Node + 1 by type id + 1; 0: none yet. */
	struct gr_u32_vector anchors;
};

/** The label of memory that a pointer to @p to leads to. */
static inline uint32_t gr_label_of(const struct gr_referent *to, uint32_t count)
{
	if (to->label == GR_TYPE_NONE)
		return GR_TYPE_NONE;
	return to->is_container || to->type != to->label || count ?
		       to->label | (uint32_t)GR_LABEL_DATA :
		       to->label;
}

/** Is an object reached? */
static inline bool gr_parents_has(const struct gr_parents *parents, gr_obj obj)
{
	return parents->of[obj].way;
}

/** The node of an object; GR_NODE_NONE: it is not reached. */
static inline uint32_t gr_parents_node(const struct gr_parents *parents,
				       gr_obj obj)
{
	return parents->ways.data[parents->of[obj].way].node;
}

/** The label of an object; GR_TYPE_NONE: it has none, or is not reached. */
static inline uint32_t gr_parents_label(const struct gr_parents *parents,
					gr_obj obj)
{
	return parents->ways.data[parents->of[obj].way].label;
}

/** Make a way that gr_parents_way() has not found. 0: no memory. */
uint32_t gr_parents_add_way(struct gr_parents *parents, struct gr_way way);

static inline uint64_t gr_way_hash(struct gr_way way)
{
	return gr_hash_number((uint64_t)way.node << 32 | way.label);
}

/** The index of a way, which is made if it is new. 0: no memory. */
static inline uint32_t gr_parents_way(struct gr_parents *parents,
				      struct gr_way way)
{
	size_t i = gr_way_hash(way) & (parents->nway_slots - 1);
	uint32_t index = parents->way_slots[i];
	const struct gr_way *found = &parents->ways.data[index];

	// The way of objects that are not reached is nobody else's.
	return GR_LIKELY(found->node == way.node && found->label == way.label) ?
		       index :
		       gr_parents_add_way(parents, way);
}

/** Create parents in which no object is reached. */
struct gr_error *gr_parents_create(gr_obj nobjs,
				   struct gr_parents **ret) GR_MUST_CHECK;
void gr_parents_destroy(struct gr_parents *parents);

/** The anchor of @p type in @p tree; it is made if it is new. */
uint32_t gr_parents_anchor(struct gr_parents *parents, struct gr_tree *tree,
			   gr_type_id type);

/**
 * The object that leads to a reached object; GR_OBJ_NONE if a root does. A
 * chain of these has no cycle.
 */
gr_obj gr_parents_above(const struct gr_parents *parents,
			const struct gr_tree *tree, gr_obj obj);

/** The node of the root or of the anchor above @p node. */
uint32_t gr_parents_top(const struct gr_tree *tree, uint32_t node);

/** When the walk has ended: sort the objects on stacks, so that the first of
 * those that are equal stays the first. No more ways are made. */
struct gr_error *gr_parents_finish(struct gr_parents *parents,
				   struct gr_error *(*poll)(void *ctx),
				   void *ctx) GR_MUST_CHECK;

/**
 * The goroutine on whose stack a chain begins. @p obj is the first object of
 * the chain. gr_parents_finish() has been called.
 *
 * @return the index of the goroutine; UINT32_MAX if the chain begins on no
 * stack.
 */
uint32_t gr_parents_goroutine(const struct gr_parents *parents, gr_obj obj);

#endif /* GR_PARENTS_H */
