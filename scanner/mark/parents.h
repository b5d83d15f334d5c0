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

#include "base/bytes.h"
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

/** A way by which objects are reached. Many objects share one. */
struct gr_way {
	uint32_t node;	/**< Their node. */
	uint32_t label; /**< A type id with flags, as above. */
};
GR_VECTOR(gr_way_vector, struct gr_way);

/** An object that a word of a stack leads to. */
struct gr_frame_object {
	gr_obj obj;
	uint32_t goroutine; /**< Index. */
};
GR_VECTOR(gr_stack_object_vector, struct gr_frame_object);

struct gr_parents {
	/** By object: the number of the object that leads to it, and an index
	 * in `ways`, 0 if it is not reached. Each has half of the bits of an
	 * entry. Heaps of up to 2^26 objects have entries of 7 bytes, others
	 * entries of 8. */
	uint8_t *entries;
	size_t entry_bytes;
	unsigned int half_bits;
	uint64_t half_mask;
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

static inline uint8_t *gr_parents_entry(const struct gr_parents *parents,
					gr_obj obj)
{
	return parents->entries + (size_t)obj * parents->entry_bytes;
}

/** The index in `ways` of the way to an object; 0: it is not reached. */
static inline uint32_t gr_parents_index(const struct gr_parents *parents,
					gr_obj obj)
{
	uint64_t entry = gr_load_u64(gr_parents_entry(parents, obj));

	return entry >> parents->half_bits & parents->half_mask;
}

/** The object that leads to an object which is reached; GR_OBJ_NONE: none. */
static inline gr_obj gr_parents_from(const struct gr_parents *parents,
				     gr_obj obj)
{
	uint64_t entry = gr_load_u64(gr_parents_entry(parents, obj));
	uint64_t from = entry & parents->half_mask;

	return from == parents->half_mask ? GR_OBJ_NONE : from;
}

/** Is an object reached? */
static inline bool gr_parents_has(const struct gr_parents *parents, gr_obj obj)
{
	return gr_parents_index(parents, obj);
}

/** The node of an object; GR_NODE_NONE: it is not reached. */
static inline uint32_t gr_parents_node(const struct gr_parents *parents,
				       gr_obj obj)
{
	return parents->ways.data[gr_parents_index(parents, obj)].node;
}

/** The label of an object; GR_TYPE_NONE: it has none, or is not reached. */
static inline uint32_t gr_parents_label(const struct gr_parents *parents,
					gr_obj obj)
{
	return parents->ways.data[gr_parents_index(parents, obj)].label;
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

	// Index 0 never matches: only that way has GR_NODE_NONE.
	return GR_LIKELY(found->node == way.node && found->label == way.label) ?
		       index :
		       gr_parents_add_way(parents, way);
}

/** Enter the way by which an object is reached, and the object that leads to
 * it. */
static inline void gr_parents_set(struct gr_parents *parents, gr_obj obj,
				  gr_obj from, uint32_t index)
{
	uint8_t *at = gr_parents_entry(parents, obj);
	uint64_t entry = (uint64_t)index << parents->half_bits |
			 (from & parents->half_mask);

	// Only the bytes of this entry are written: the next one need not be
	// read, which may not be in the cache.
	memcpy(at, &entry, 4);
	memcpy(at + 3, (const uint8_t *)&entry + 3, 4);
	if (parents->entry_bytes == 8)
		at[7] = entry >> 56;
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

/** End the walk: sort the objects on stacks, where the first of equal ones
 * stays the first, and free the index of ways. No way is made after this. */
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
