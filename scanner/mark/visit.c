// SPDX-License-Identifier: Apache-2.0
/* Visits of objects: count new objects, and queue the regions that types
 * explain. */
#include "mark/visit.h"

#include "base/cleanup.h"

const struct gr_type_plan *gr_walk_no_type_plan(struct gr_walk *w)
{
	gr_walk_fail(w, w->plans.err ? steal_ptr(w->plans.err) : &gr_enomem);
	return &gr_type_plan_nothing;
}

const struct gr_referent *gr_walk_referent(struct gr_walk *w, gr_type_id type)
{
	static const struct gr_referent untyped = {
		.plan = &gr_type_plan_nothing,
		.type = GR_TYPE_NONE,
		.label = GR_TYPE_NONE,
		.bytes = GR_NOT_QUICK,
	};
	const struct gr_type_plan *plan =
		type == GR_TYPE_NONE ? NULL : gr_walk_type_plan(w, type);

	// Without memory, the plan is the empty one, which has no type.
	return plan && plan != &gr_type_plan_nothing ? &plan->self : &untyped;
}

/* The referent of the type that @p find finds at an address, cached. */
static const struct gr_referent *
find_type(struct gr_walk *w, uint64_t addr,
	  struct gr_error *(*find)(struct gr_types *types, uint64_t addr,
				   gr_type_id *ret))
{
	struct gr_cached_type *entry =
		&w->type_cache[addr / 32 % GR_TYPE_CACHE];
	const struct gr_referent *cached = gr_walk_cached_type(w, addr);
	gr_type_id id = GR_TYPE_NONE;

	if (!addr)
		return gr_walk_referent(w, GR_TYPE_NONE);
	if (GR_LIKELY(cached != NULL))
		return cached;
	// A stale word leads to what is no type, and may be a value.
	size_t mark = gr_recorder_search(w->rt->recorder);
	struct gr_error *err = find(w->types, addr, &id);
	gr_recorder_end_search(w->rt->recorder, mark, id != GR_TYPE_NONE);
	if (err) {
		gr_walk_fail(w, err);
		return gr_walk_referent(w, GR_TYPE_NONE);
	}
	entry->to = gr_walk_referent(w, id);
	entry->addr = addr;
	return entry->to;
}

const struct gr_referent *gr_walk_runtime_type(struct gr_walk *w, uint64_t addr)
{
	return find_type(w, addr, gr_types_from_runtime);
}

const struct gr_referent *gr_walk_itab_type(struct gr_walk *w, uint64_t addr)
{
	return find_type(w, addr, gr_types_from_itab);
}

const struct gr_referent *gr_walk_closure_type(struct gr_walk *w, uint64_t pc)
{
	return find_type(w, pc, gr_types_closure);
}

struct gr_total *gr_walk_find_total(struct gr_walk *w, gr_type_id label)
{
	size_t need = gr_types_count(w->types);

	if (label == GR_TYPE_NONE)
		return &w->m.untyped_total;
	if (!gr_total_vector_reserve(&w->m.type_totals, need)) {
		gr_walk_fail(w, &gr_enomem);
		return &w->m.untyped_total;
	}
	memset(w->m.type_totals.data + w->m.type_totals.size, 0,
	       (need - w->m.type_totals.size) * sizeof(struct gr_total));
	w->m.type_totals.size = need;
	return &w->m.type_totals.data[label];
}

/* Note by which way an object is reached. */
static void set_parent(struct gr_walk *w, gr_obj obj, gr_obj from,
		       struct gr_way way)
{
	uint32_t index = gr_parents_way(w->m.parents, way);

	if (GR_UNLIKELY(!index))
		gr_walk_fail(w, &gr_enomem);
	gr_parents_set(w->m.parents, obj, from, index);
}

uint32_t gr_walk_note_parent(struct gr_walk *w, const struct gr_origin *o,
			     gr_obj obj, uint32_t label, gr_type_id type,
			     uint32_t node)
{
	struct gr_frame_object on_stack = { obj, o->root ? o->root->goroutine :
							   UINT32_MAX };

	set_parent(w, obj, o->from, (struct gr_way){ node, label });
	if (on_stack.goroutine != UINT32_MAX &&
	    !gr_stack_object_vector_append(&w->m.parents->on_stack, on_stack))
		gr_walk_fail(w, &gr_enomem);
	return gr_parents_anchor(w->m.parents, &w->m.tree, type);
}

void gr_walk_note_unexplained(struct gr_walk *w, uint64_t word, uint32_t node)
{
	struct gr_masked_object masked = { word, node };

	if (!gr_masked_vector_append(&w->masked, masked))
		gr_walk_fail(w, &gr_enomem);
}

/* A pointer to an object, during its visit. The type in `to` becomes more
 * precise during the visit. */
struct visit {
	const struct gr_origin *origin;
	uint64_t addr;
	struct gr_referent to;
	uint32_t count;
	struct gr_scope *scope;
	uint32_t step;
	const struct gr_span *span;
	gr_obj obj;
	uint32_t index; /* of the object in its span */
	uint64_t slot_addr;
	bool is_real; /* `to` comes from the object itself */
};

/*
 * The real type of an object, from its malloc header or mspan.largeType. It
 * replaces the referrer's type and covers the whole object.
 */
static gr_type_id real_type(struct gr_walk *w, const struct visit *v)
{
	const struct gr_span *span = v->span;

	if (span->header_bytes && span->host) {
		gr_walk_note_read(w, span->host + v->index * span->elem_bytes,
				  GR_WORD_BYTES);
		return gr_walk_runtime_type(
			       w, gr_load_u64(span->host +
					      v->index * span->elem_bytes))
			->type;
	}
	if (!span->large_type)
		return GR_TYPE_NONE;
	// A type with an unrolled mask is a copy without kind and name.
	if (w->rt->layout.has.tflag_unrolled &&
	    gr_heap_is_synthetic_type(w->rt, span->large_type))
		return GR_TYPE_NONE;
	return gr_walk_runtime_type(w, span->large_type)->type;
}

/* Defer the visit of an object of the scheduler to the last tier. */
static void defer_visit(struct gr_walk *w, const struct visit *v)
{
	struct gr_deferred_visit visit = { .addr = v->addr,
					   .from = v->origin->from };

	if (w->m.states[v->obj] & GR_OBJECT_DEFERRED)
		return;
	w->m.states[v->obj] |= GR_OBJECT_DEFERRED;
	visit.node = gr_walk_step_node(w, v->scope, v->step);
	if (!gr_deferred_vector_append(&w->deferred, visit))
		gr_walk_fail(w, &gr_enomem);
}

/*
 * The number of bytes that the referent's type explains, at most @p avail.
 * v->count becomes the number of elements that fit.
 */
static uint64_t region_bytes(struct gr_walk *w, struct visit *v, uint64_t avail)
{
	uint64_t size;

	if (v->to.type == GR_TYPE_NONE || v->addr % GR_WORD_BYTES)
		return 0;
	if (v->to.is_container) {
		size = gr_walk_header_bytes(w, v->to.type);
		return size <= avail ? size : 0;
	}
	size = v->to.plan->size_bytes;
	if (gr_type_plan_is_empty(v->to.plan) || !size || size > avail)
		return 0;
	if (!v->count)
		return size;
	if (v->count > avail / size)
		v->count = avail / size;
	return v->count * size;
}

static void push_visited(struct gr_walk *w, const struct visit *v,
			 const uint8_t *host, uint64_t word,
			 uint64_t object_words, gr_obj from)
{
	bool is_anchored = w->m.parents && v->obj != GR_OBJ_NONE;
	uint32_t node = is_anchored ?
				gr_parents_anchor(w->m.parents, &w->m.tree,
						  v->to.type) :
				gr_walk_step_node(w, v->scope, v->step);
	struct gr_region *region = gr_walk_push(w);

	if (region)
		*region = (struct gr_region){
			.host = host,
			.place = word | object_words << 48,
			.type = v->to.is_container ?
					v->to.type | GR_KEY_CONTAINER :
					v->to.type,
			.node = node,
			.count = v->count,
			.from = from,
		};
}

/* Visit a typed pointer to static data or to a stack. */
static void visit_area(struct gr_walk *w, struct visit *v)
{
	const uint8_t *host;
	uint64_t word, avail;

	if (v->to.type == GR_TYPE_NONE ||
	    !gr_walk_locate(w, v->addr, &host, &word, &avail))
		return;
	uint64_t bytes = region_bytes(w, v, avail);
	uint64_t end = word + bytes / GR_WORD_BYTES;
	if (bytes && gr_bitmap_next(w->pending, word, end) < end)
		push_visited(w, v, host, word, 0, v->origin->from);
}

/*
 * Queue the region that the type explains of an object in a span with pointers.
 *
 * @return true if that region will also note the unexplained rest of a new
 * object.
 */
static bool visit_contents(struct gr_walk *w, struct visit *v, bool is_new)
{
	const struct gr_span *span = v->span;
	uint64_t data = v->slot_addr + span->header_bytes;
	uint64_t end = v->slot_addr + span->elem_bytes;

	if (!span->host || v->addr < data)
		return false;
	uint64_t bytes = region_bytes(w, v, end - v->addr);
	if (!bytes)
		return false;
	uint64_t off = v->addr - span->base_addr;
	uint64_t word = span->first_word + off / GR_WORD_BYTES;
	uint64_t object_words = (end - data) / GR_WORD_BYTES;
	if (v->addr == data && bytes >= gr_least_bytes(end - data, false)) {
		w->m.states[v->obj] |= GR_OBJECT_WHOLE;
	} else if (!is_new) {
		uint64_t word_end = word + bytes / GR_WORD_BYTES;
		if (gr_bitmap_next(w->pending, word, word_end) == word_end)
			return false;
	}
	bool is_watched = is_new && v->addr == data &&
			  object_words <= UINT16_MAX;
	push_visited(w, v, span->host + off, word,
		     is_watched ? object_words : 0, v->obj);
	return is_watched;
}

/* Replace the referrer's type by the real one, if the object has it. */
static bool apply_real_type(struct gr_walk *w, struct visit *v)
{
	const struct gr_span *span = v->span;
	gr_type_id real = real_type(w, v);

	if (real == GR_TYPE_NONE)
		return false;
	uint64_t size = gr_types_get(w->types, real)->size_bytes;
	uint64_t count = size ? (span->elem_bytes - span->header_bytes) / size :
				0;
	if (!count)
		return false;
	bool is_same = v->to.type == real;
	// A pointer to an element does not have the label of the array.
	bool is_element = count > 1 && !v->count;
	v->is_real = true;
	v->addr = v->slot_addr + span->header_bytes;
	v->to.type = real;
	v->count = count > 1 || (is_same && v->count) ?
			   (count < UINT32_MAX ? count : UINT32_MAX) :
			   0;
	if (v->to.label != GR_TYPE_NONE && is_same && !is_element)
		return false;
	v->to.label = real;
	v->to.plan = gr_walk_type_plan(w, real);
	if (count > 1) {
		struct gr_error *err =
			gr_types_slice_of(w->types, real, &v->to.label);
		if (err)
			gr_walk_fail(w, err);
	}
	return true;
}

/*
 * Determine the type of an object in a span with pointers: from its header,
 * else from the referrer. A pointer to a type without pointers (`*byte`, the
 * address of a field) does not tell the type of the object. A closure is known
 * by its code, whatever it captures.
 */
static bool refine_type(struct gr_walk *w, struct visit *v)
{
	if (v->to.is_container || v->to.plan->is_closure)
		return false;
	if ((v->span->header_bytes || v->span->large_type) &&
	    apply_real_type(w, v))
		return true;
	if (gr_type_plan_is_empty(v->to.plan))
		v->to.type = v->to.label = GR_TYPE_NONE;
	return false;
}

/* Record a pointer into a slot that is not allocated. */
static void note_free_slot(struct gr_walk *w, const struct visit *v)
{
	struct gr_free_slot slot = { .addr = v->addr };
	gr_obj from = v->origin->from;

	if (gr_origin_is_doubtful(v->origin)) {
		gr_gap_add(w->rt->gaps, GR_GAP_CONSERVATIVE_FREE_SLOTS, 1);
		return;
	}
	gr_gap_add(w->rt->gaps, GR_GAP_FREE_SLOT_POINTERS, 1);
	if (w->m.nfree_slots == GR_FREE_SLOTS_MAX)
		return;
	if (from != GR_OBJ_NONE)
		slot.held_by = gr_heap_object_addr(w->heap, from);
	w->m.free_slots[w->m.nfree_slots++] = slot;
}

/* Is the slot free, or must a conservative word treat it as free? */
static bool is_free_slot(struct gr_walk *w, const struct visit *v)
{
	if (!(w->m.states[v->obj] & GR_OBJECT_ALLOCATED)) {
		note_free_slot(w, v);
		return true;
	}
	// The collector does the same: it does not follow a conservative word
	// into a slot that may not be initialised.
	if (gr_origin_is_doubtful(v->origin) && v->index == v->span->fresh) {
		gr_gap_add(w->rt->gaps, GR_GAP_CONSERVATIVE_FREE_SLOTS, 1);
		return true;
	}
	return false;
}

/*
 * Is this a pointer to a part of the object, whose type is not the type of the
 * whole? A field may also lie at the start of the object; its type is then too
 * small. A closure is no part of anything, and not all that it captured may be
 * known.
 */
static bool is_part(const struct visit *v)
{
	uint64_t room = v->span->elem_bytes - v->span->header_bytes;

	if (v->to.type == GR_TYPE_NONE || v->count || v->is_real ||
	    v->to.plan->is_closure)
		return false;
	if (v->addr != v->slot_addr + v->span->header_bytes)
		return true;
	return !v->to.is_container &&
	       v->to.plan->size_bytes <
		       gr_least_bytes(room, v->span->is_noscan);
}

/* The size of the object, as totals count it. */
static uint64_t size_of(const struct gr_walk *w, const struct visit *v)
{
	return gr_walk_slot_size(w, v->span, v->index);
}

/* Note the type of a pointer to the first field. False: it points to another
 * one. */
static bool note_part(struct gr_walk *w, const struct visit *v)
{
	struct gr_part part = { v->obj, v->to.label, size_of(w, v) };

	if (v->addr != v->slot_addr + v->span->header_bytes)
		return false;
	if (!gr_part_vector_append(&w->parts, part))
		gr_walk_fail(w, &gr_enomem);
	return true;
}

/* Count an object at its first visit; the pointer may not tell its type. */
static uint32_t count_visited(struct gr_walk *w, const struct visit *v,
			      struct gr_total *named_row)
{
	bool is_untyped = v->to.label == GR_TYPE_NONE;
	bool is_one_part = !is_untyped && is_part(v);
	uint8_t state = is_untyped  ? GR_OBJECT_UNTYPED :
			is_one_part ? GR_OBJECT_UNTYPED | GR_OBJECT_PART :
			v->span->is_noscan ? GR_OBJECT_WHOLE :
					     0;
	uint64_t size = size_of(w, v);
	uint32_t node = gr_walk_count(w, v->obj, size, state,
				      is_one_part ? GR_TYPE_NONE : v->to.label,
				      v->scope, v->step);

	if (is_one_part)
		note_part(w, v);
	gr_total_add(is_untyped ? &w->ledger->masked : named_row, size);
	if (w->m.parents)
		node = gr_walk_note_parent(w, v->origin, v->obj,
					   is_one_part ? GR_TYPE_NONE :
							 gr_label_of(&v->to,
								     v->count),
					   v->to.type, node);
	return node;
}

static void move_total(struct gr_total *from, struct gr_total *to,
		       uint64_t bytes)
{
	GR_ASSERT(from->objects && from->bytes >= bytes);
	from->objects--;
	from->bytes -= bytes;
	gr_total_add(to, bytes);
}

/* Set the label of an object; @p label is as in parents.h. */
static void set_label(struct gr_walk *w, gr_obj obj, uint32_t label,
		      uint64_t bytes)
{
	gr_type_id type = label & ~GR_LABEL_FLAGS;

	w->m.states[obj] &= ~(GR_OBJECT_UNTYPED | GR_OBJECT_PART);
	move_total(&w->m.untyped_total,
		   type < w->m.type_totals.size ? &w->m.type_totals.data[type] :
						  gr_walk_find_total(w, type),
		   bytes);
	if (w->m.parents)
		set_parent(w, obj, gr_parents_from(w->m.parents, obj),
			   (struct gr_way){ gr_parents_node(w->m.parents, obj),
					    label });
}

/*
 * Name an object that was first counted through an untyped pointer or through
 * one to a part. The name therefore does not depend on which of the two
 * pointers is nearer to a root.
 */
static void name_counted(struct gr_walk *w, const struct visit *v,
			 struct gr_total *named_row)
{
	uint64_t bytes = size_of(w, v);
	uint8_t *state = &w->m.states[v->obj];
	bool was_part = *state & GR_OBJECT_PART;

	if (v->to.label == GR_TYPE_NONE)
		return;
	if (!is_part(v)) {
		set_label(w, v->obj, gr_label_of(&v->to, v->count), bytes);
		if (v->span->is_noscan)
			*state |= GR_OBJECT_WHOLE;
	} else if (!was_part && note_part(w, v)) {
		*state |= GR_OBJECT_PART;
	} else {
		return;
	}
	// An object with the type of a part is not in `masked`.
	if (!was_part)
		move_total(&w->ledger->masked, named_row, bytes);
}

void gr_walk_name_parts(struct gr_walk *w)
{
	for (size_t i = 0; i < w->parts.size; i++) {
		const struct gr_part *part = &w->parts.data[i];

		if (w->m.states[part->obj] & GR_OBJECT_PART)
			set_label(w, part->obj, part->label | GR_LABEL_BEGIN,
				  part->bytes);
	}
}

/* Visit an object through any pointer. */
static gr_obj visit_object(struct gr_walk *w, struct visit *v)
{
	bool is_noscan = v->span->is_noscan;
	uint8_t state = w->m.states[v->obj];
	bool is_new = !(state & GR_OBJECT_COUNTED);

	if (is_free_slot(w, v) || state & GR_OBJECT_WHOLE)
		return GR_OBJ_NONE;
	if (v->origin->tier < GR_TIER_RUNTIME &&
	    (state & GR_OBJECT_SCHEDULER || v->to.plan->is_scheduler)) {
		defer_visit(w, v);
		return GR_OBJ_NONE;
	}
	bool is_header = !is_noscan && refine_type(w, v);
	struct gr_total *row = is_header ? &w->ledger->header : v->origin->row;
	uint32_t node = GR_NODE_NONE;
	if (is_new)
		node = count_visited(w, v, row);
	else if (state & GR_OBJECT_UNTYPED)
		name_counted(w, v, row);
	bool is_watched = !is_noscan && v->to.type != GR_TYPE_NONE &&
			  visit_contents(w, v, is_new);
	if (is_new && !is_noscan && !is_watched)
		gr_walk_note_unexplained(
			w, gr_span_slot_word(v->span, v->index), node);
	return is_new ? v->obj : GR_OBJ_NONE;
}

gr_obj gr_walk_visit_slowly(struct gr_walk *w, const struct gr_origin *o,
			    uint64_t addr, const struct gr_referent *to,
			    uint32_t count, struct gr_scope *scope,
			    uint32_t step)
{
	const struct gr_span *span = NULL;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	// Strings in the executable lead nowhere: their bytes have no type.
	if (obj == GR_OBJ_NONE && to->type == GR_TYPE_NONE)
		return GR_OBJ_NONE;
	struct visit v = {
		.origin = o,
		.addr = addr,
		.to = *to,
		.count = count,
		.scope = scope,
		.step = step,
		.span = span,
		.obj = obj,
	};
	if (obj == GR_OBJ_NONE) {
		visit_area(w, &v);
		return GR_OBJ_NONE;
	}
	v.index = obj - span->first_obj;
	v.slot_addr = gr_span_slot_addr(span, v.index);
	return visit_object(w, &v);
}

gr_obj gr_walk_visit(struct gr_walk *w, const struct gr_origin *o,
		     uint64_t addr, const struct gr_referent *to,
		     uint32_t count, struct gr_scope *scope, uint32_t step)
{
	gr_walk_tick(w, 1);
	return gr_walk_visit_inline(w, o, addr, to, count, scope, step);
}
