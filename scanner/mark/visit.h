/* SPDX-License-Identifier: Apache-2.0 */
/**
 * visit: the way of nearly all pointers, inline in the loop over a value's
 * words. Most lead to objects that are done, or to new ones that are what the
 * referrer says they are: for those the entry of the page and the object's
 * state are all that is looked at. What is out of the ordinary in any way goes
 * to gr_walk_visit_slowly(), which would do the same for these, too.
 */
#ifndef GR_VISIT_H
#define GR_VISIT_H

#include "mark/walk.h"

/** The total of a label that has none yet: the untyped one, or a new type's. */
struct gr_total *gr_walk_find_total(struct gr_walk *w, gr_type_id label);
/** Keep how an object was reached, for `goref why`. */
void gr_walk_note_parent(struct gr_walk *w, gr_obj obj, gr_type_id label,
			 uint32_t node);
/** Note that types perhaps leave words of the object that begins at @p word. */
void gr_walk_note_unexplained(struct gr_walk *w, uint64_t word, uint32_t node);
/** gr_walk_visit() of any pointer. */
gr_obj gr_walk_visit_slowly(struct gr_walk *w, uint64_t addr,
			    const struct gr_referent *to, uint32_t count,
			    struct gr_scope *scope, uint32_t step);

static inline void gr_total_add(struct gr_total *total, uint64_t bytes)
{
	total->objects++;
	total->bytes += bytes;
}

/**
 * Count a new object: bill it to the node of @p step and to the total of
 * @p label; what else is known is in @p state. @return the node.
 */
static inline uint32_t gr_walk_count(struct gr_walk *w, gr_obj obj,
				     uint64_t bytes, uint8_t state,
				     gr_type_id label, struct gr_scope *scope,
				     uint32_t step)
{
	uint32_t node = gr_walk_step_node(w, scope, step);

	w->heap->states[obj] |= GR_OBJECT_COUNTED | state;
	gr_tree_bill(&w->tree, node, bytes);
	gr_total_add(GR_LIKELY(label < w->type_totals.size) ?
			     &w->type_totals.data[label] :
			     gr_walk_find_total(w, label),
		     bytes);
	if (GR_UNLIKELY(w->parents != NULL))
		gr_walk_note_parent(w, obj, label, node);
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

/** gr_walk_visit(); worth its size in the inner loop only. */
static inline __attribute__((always_inline)) gr_obj
gr_walk_visit_inline(struct gr_walk *w, uint64_t addr,
		     const struct gr_referent *to, uint32_t count,
		     struct gr_scope *scope, uint32_t step)
{
	struct gr_spot at;

	if (GR_UNLIKELY(!gr_heap_spot(w->heap, addr, &at)))
		return gr_walk_visit_slowly(w, addr, to, count, scope, step);
	uint8_t state = w->heap->states[at.obj];
	uint64_t bytes = at.kind->elem_bytes, least = at.kind->least_bytes;
	uint64_t known = count ? (uint64_t)to->bytes * count : to->bytes;
	if (state & GR_OBJECT_WHOLE && !w->is_conservative)
		return GR_OBJ_NONE;
	// A pointer into the middle is perhaps one to a part of another type.
	if (GR_UNLIKELY(state != w->quick_state || at.off || known < least ||
			known > bytes))
		return gr_walk_visit_slowly(w, addr, to, count, scope, step);
	uint32_t node = gr_walk_count(w, at.obj, bytes, GR_OBJECT_WHOLE,
				      to->label, scope, step);
	gr_total_add(w->typed_row, bytes);
	if (least)
		gr_walk_push_spot(w, &at, addr, to, count, node);
	return at.obj;
}

#endif /* GR_VISIT_H */
