/* SPDX-License-Identifier: Apache-2.0 */
/**
 * visit: the quick way of a visit, inline in the loop over a value's words.
 * Most pointers lead to finished objects, or to new objects of the referrer's
 * type. For those, a visit reads only the entry of the page and the state of
 * the object. All other pointers go to gr_walk_visit_slowly(), which handles
 * every pointer and gives the same result.
 */
#ifndef GR_VISIT_H
#define GR_VISIT_H

#include "mark/walk.h"

/** The total of a label that has none yet: untyped, or of a new type. */
struct gr_total *gr_walk_find_total(struct gr_walk *w, gr_type_id label);
/**
 * Record how an object was reached, for `goref why`. @p label is as in
 * parents.h.
 *
 * @return the node where the names inside the object, of @p type, begin.
 */
uint32_t gr_walk_note_parent(struct gr_walk *w, const struct gr_origin *o,
			     gr_obj obj, uint32_t label, gr_type_id type,
			     uint32_t node);
/** Note that types may not explain all words of the object at @p word. */
void gr_walk_note_unexplained(struct gr_walk *w, uint64_t word, uint32_t node);
/** gr_walk_visit() for any pointer. */
gr_obj gr_walk_visit_slowly(struct gr_walk *w, const struct gr_origin *o,
			    uint64_t addr, const struct gr_referent *to,
			    uint32_t count, struct gr_scope *scope,
			    uint32_t step);

static inline void gr_total_add(struct gr_total *total, uint64_t bytes)
{
	total->objects++;
	total->bytes += bytes;
}

/**
 * Count a new object: bill it to the node of @p step and to the total of
 * @p label. @p state has further flags of the object.
 *
 * @return the node.
 */
static inline uint32_t gr_walk_count(struct gr_walk *w, gr_obj obj,
				     uint64_t bytes, uint8_t state,
				     gr_type_id label, struct gr_scope *scope,
				     uint32_t step)
{
	uint32_t node = gr_walk_step_node(w, scope, step);

	// Each object is counted once; it is allocated, and its node exists.
	GR_ASSERT((w->m.states[obj] &
		   (GR_OBJECT_ALLOCATED | GR_OBJECT_COUNTED)) ==
		  GR_OBJECT_ALLOCATED);
	GR_ASSERT(node < w->m.tree.nodes.size || w->m.tree.is_out_of_memory);
	w->m.states[obj] |= GR_OBJECT_COUNTED | state;
	gr_tree_bill(&w->m.tree, node, bytes);
	gr_total_add(GR_LIKELY(label < w->m.type_totals.size) ?
			     &w->m.type_totals.data[label] :
			     gr_walk_find_total(w, label),
		     bytes);
	return node;
}

static inline void gr_walk_push_spot(struct gr_walk *w,
				     const struct gr_spot *at, uint64_t addr,
				     const struct gr_referent *to,
				     uint32_t count, uint32_t node)
{
	uint64_t in_page = addr & (GR_HEAP_PAGE_BYTES - 1);
	const struct gr_page_more *page = gr_spot_page(at, addr);
	uint64_t word = (uint64_t)page->scan_page * GR_PAGE_WORDS +
			in_page / GR_WORD_BYTES;
	uint64_t object_words = at->kind->elem_bytes / GR_WORD_BYTES;
	struct gr_region *region = gr_walk_push(w);

	if (GR_LIKELY(region))
		*region = (struct gr_region){
			.host = page->host + in_page,
			.place = word | object_words << 48,
			.type = to->is_container ? to->type | GR_KEY_CONTAINER :
						   to->type,
			.node = node,
			.count = count,
			.from = at->obj,
		};
}

/** gr_walk_visit(), inlined; only the inner loop is worth its size. */
static inline __attribute__((always_inline)) gr_obj
gr_walk_visit_inline(struct gr_walk *w, const struct gr_origin *o,
		     uint64_t addr, const struct gr_referent *to,
		     uint32_t count, struct gr_scope *scope, uint32_t step)
{
	struct gr_spot at;

	if (GR_UNLIKELY(!gr_heap_spot(w->heap, addr, &at)))
		return gr_walk_visit_slowly(w, o, addr, to, count, scope, step);
	uint8_t state = w->m.states[at.obj];
	uint64_t bytes = at.kind->elem_bytes, least = at.kind->least_bytes;
	uint64_t known = count ? (uint64_t)to->bytes * count : to->bytes;
	// A pointer to a part of the object has the type of that part.
	if (GR_UNLIKELY(state != o->quick_state || at.off || known < least ||
			known > bytes ||
			(to->most_bytes && bytes > to->most_bytes && !count))) {
		if (state & GR_OBJECT_WHOLE && !gr_origin_is_doubtful(o))
			return GR_OBJ_NONE;
		return gr_walk_visit_slowly(w, o, addr, to, count, scope, step);
	}
	uint32_t node = gr_walk_count(w, at.obj, bytes, GR_OBJECT_WHOLE,
				      to->label, scope, step);
	gr_total_add(o->row, bytes);
	if (GR_UNLIKELY(w->m.parents != NULL))
		node = gr_walk_note_parent(w, o, at.obj, gr_label_of(to, count),
					   to->type, node);
	if (least)
		gr_walk_push_spot(w, &at, addr, to, count, node);
	return at.obj;
}

#endif /* GR_VISIT_H */
