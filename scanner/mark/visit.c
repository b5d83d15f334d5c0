// SPDX-License-Identifier: Apache-2.0
/* Objects: count the new ones, queue what a type explains of them. */
#include "mark/visit.h"

const struct gr_program *gr_walk_no_program(struct gr_walk *w)
{
	gr_walk_fail(w, &gr_enomem);
	return &gr_program_nothing;
}

const struct gr_referent *gr_walk_referent(struct gr_walk *w, gr_type_id type)
{
	static const struct gr_referent untyped = {
		.program = &gr_program_nothing,
		.type = GR_TYPE_NONE,
		.label = GR_TYPE_NONE,
		.bytes = GR_NOT_QUICK,
	};
	const struct gr_program *program =
		type == GR_TYPE_NONE ? NULL : gr_walk_program(w, type);

	// Without memory the empty program stands in, which is of no type.
	return program && program != &gr_program_nothing ? &program->self :
							   &untyped;
}

/* A pointer to the type at an address by @p find, cached. */
static const struct gr_referent *
find_type(struct gr_walk *w, uint64_t addr,
	  struct gr_error *(*find)(struct gr_runtime *rt, uint64_t addr,
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
	struct gr_error *err = find(w->rt, addr, &id);
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
	size_t need = gr_types_count(w->rt->types);

	if (label == GR_TYPE_NONE)
		return &w->untyped_total;
	if (!gr_total_vector_reserve(&w->type_totals, need)) {
		gr_walk_fail(w, &gr_enomem);
		return &w->untyped_total;
	}
	memset(w->type_totals.data + w->type_totals.size, 0,
	       (need - w->type_totals.size) * sizeof(struct gr_total));
	w->type_totals.size = need;
	return &w->type_totals.data[label];
}

void gr_walk_note_parent(struct gr_walk *w, gr_obj obj, gr_type_id label,
			 uint32_t node)
{
	struct gr_parent parent = { w->from,
				    w->root ? w->root->goroutine : UINT32_MAX };

	w->parents[obj] = parent;
	w->node_of[obj] = node;
	w->type_of[obj] = label;
	if (obj == w->wanted)
		w->is_found = true;
}

void gr_walk_note_unexplained(struct gr_walk *w, uint64_t word, uint32_t node)
{
	struct gr_masked_object masked = { word, node };

	if (!gr_masked_vector_append(&w->masked, masked))
		gr_walk_fail(w, &gr_enomem);
}

/* A pointer to an object at hand; what is known of the object grows. */
struct visit {
	uint64_t addr;
	struct gr_referent to;
	uint32_t count;
	struct gr_scope *scope;
	uint32_t step;
	const struct gr_span *span;
	gr_obj obj;
	uint32_t index; /* of the object in its span */
	uint64_t slot_addr;
};

/*
 * The real type of an object, by its malloc header or mspan.largeType; it
 * replaces what the referrer knows, and covers the whole object.
 */
static gr_type_id real_type(struct gr_walk *w, const struct visit *v)
{
	const struct gr_span *span = v->span;

	if (span->header_bytes && span->host)
		return gr_walk_runtime_type(
			       w, gr_load_u64(span->host +
					      v->index * span->elem_bytes))
			->type;
	if (!span->large_type)
		return GR_TYPE_NONE;
	// A type with an unrolled mask is a copy without kind and name.
	if (w->rt->layout.has.tflag_unrolled &&
	    gr_heap_is_synthetic_type(w->rt, span->large_type))
		return GR_TYPE_NONE;
	return gr_walk_runtime_type(w, span->large_type)->type;
}

/* A visit to a barrier object: kept for the last stratum. */
static void defer_visit(struct gr_walk *w, const struct visit *v)
{
	struct gr_deferred_visit visit = { .addr = v->addr };

	if (!gr_bitmap_set_new(w->deferred_seen, v->obj))
		return;
	visit.node = gr_walk_step_node(w, v->scope, v->step);
	if (!gr_deferred_vector_append(&w->deferred, visit))
		gr_walk_fail(w, &gr_enomem);
}

/*
 * Bytes that the referent's type explains, at most @p avail; 0: none.
 * v->count becomes what fits.
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
	size = v->to.program->size_bytes;
	if (gr_program_is_empty(v->to.program) || !size || size > avail)
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
	uint32_t node = gr_walk_step_node(w, v->scope, v->step);
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

/* A typed pointer out of the heap: into static data or a stack. */
static void visit_area(struct gr_walk *w, struct visit *v)
{
	const uint8_t *host;
	uint64_t word, avail;

	if (v->to.type == GR_TYPE_NONE ||
	    !gr_walk_locate(w, v->addr, &host, &word, &avail))
		return;
	uint64_t bytes = region_bytes(w, v, avail);
	uint64_t end = word + bytes / GR_WORD_BYTES;
	if (bytes && gr_bitmap_next(w->todo, word, end) < end)
		push_visited(w, v, host, word, 0, w->from);
}

/*
 * Queue what the type explains of an object in a span with pointers. @return
 * true if what is left of a new object will be noted after that.
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
	if (v->addr == data &&
	    (end - data < 32 || bytes >= GR_LEAST_BYTES(end - data))) {
		w->heap->states[v->obj] |= GR_OBJECT_WHOLE;
	} else if (!is_new) {
		uint64_t word_end = word + bytes / GR_WORD_BYTES;
		if (gr_bitmap_next(w->todo, word, word_end) == word_end)
			return false;
	}
	bool is_watched = is_new && v->addr == data &&
			  object_words <= UINT16_MAX;
	push_visited(w, v, span->host + off, word,
		     is_watched ? object_words : 0, v->obj);
	return is_watched;
}

/* Replace the referrer's type by the real one, if the object tells. */
static bool apply_real_type(struct gr_walk *w, struct visit *v)
{
	const struct gr_span *span = v->span;
	gr_type_id real = real_type(w, v);

	if (real == GR_TYPE_NONE)
		return false;
	uint64_t size = gr_types_get(w->rt->types, real)->size_bytes;
	uint64_t count = size ? (span->elem_bytes - span->header_bytes) / size :
				0;
	if (!count)
		return false;
	bool is_same = v->to.type == real;
	v->addr = v->slot_addr + span->header_bytes;
	v->to.type = real;
	v->count = count > 1 || (is_same && v->count) ?
			   (count < UINT32_MAX ? count : UINT32_MAX) :
			   0;
	if (v->to.label != GR_TYPE_NONE && is_same)
		return false;
	v->to.label = real;
	v->to.program = gr_walk_program(w, real);
	if (count > 1) {
		struct gr_error *err =
			gr_types_slice_of(w->rt, real, &v->to.label);
		if (err)
			gr_walk_fail(w, err);
	}
	return true;
}

/*
 * Make up what an object in a span with pointers is: by its header, else as
 * the referrer says. A pointer to something without pointers (`*byte`, the
 * address of a field) does not say what the object is. A closure is known by
 * its code, whatever it captures.
 */
static bool refine_type(struct gr_walk *w, struct visit *v)
{
	if (v->to.is_container || v->to.program->is_closure)
		return false;
	if ((v->span->header_bytes || v->span->large_type) &&
	    apply_real_type(w, v))
		return true;
	if (gr_program_is_empty(v->to.program))
		v->to.type = v->to.label = GR_TYPE_NONE;
	return false;
}

/* A pointer into a slot that is not allocated. */
static void note_free_slot(struct gr_walk *w, uint64_t addr)
{
	struct gr_free_slot slot = { .addr = addr };

	if (w->is_conservative) {
		gr_gap_add(w->rt->gaps, GR_GAP_CONSERVATIVE_FREE_SLOTS, 1);
		return;
	}
	gr_gap_add(w->rt->gaps, GR_GAP_FREE_SLOT_POINTERS, 1);
	if (w->nfree_slots == GR_FREE_SLOTS_MAX)
		return;
	if (w->from != GR_OBJ_NONE) {
		const struct gr_span *span = gr_heap_span_of(w->heap, w->from);
		slot.held_by =
			gr_span_slot_addr(span, w->from - span->first_obj) +
			span->header_bytes;
	}
	w->free_slots[w->nfree_slots++] = slot;
}

/* Is the slot not in use, or by a pointer of doubt not seen as used? */
static bool is_free_slot(struct gr_walk *w, const struct visit *v)
{
	if (!gr_heap_is_allocated(w->heap, v->obj)) {
		note_free_slot(w, v->addr);
		return true;
	}
	// As the collector: from a word that is perhaps no pointer, what lies
	// in a slot that is perhaps not initialised is not followed.
	if (w->is_conservative && v->index == v->span->fresh) {
		gr_gap_add(w->rt->gaps, GR_GAP_CONSERVATIVE_FREE_SLOTS, 1);
		return true;
	}
	return false;
}

/* Is it a pointer to a part, whose type is not that of the whole? */
static bool is_part(const struct visit *v)
{
	return v->to.type != GR_TYPE_NONE && !v->count &&
	       v->addr != v->slot_addr + v->span->header_bytes;
}

/* First visit, by a pointer that perhaps knows little. */
static uint32_t count_visited(struct gr_walk *w, const struct visit *v,
			      struct gr_total *named_row)
{
	bool is_untyped = v->to.label == GR_TYPE_NONE;
	uint8_t state = is_untyped	   ? GR_OBJECT_UNTYPED :
			v->span->is_noscan ? GR_OBJECT_WHOLE :
					     0;
	uint32_t node = gr_walk_count(w, v->obj, v->span->elem_bytes, state,
				      is_part(v) ? GR_TYPE_NONE : v->to.label,
				      v->scope, v->step);

	gr_total_add(is_untyped ? &w->ledger->masked : named_row,
		     v->span->elem_bytes);
	return node;
}

static void move_total(struct gr_total *from, struct gr_total *to,
		       uint64_t bytes)
{
	from->objects--;
	from->bytes -= bytes;
	gr_total_add(to, bytes);
}

/*
 * What was counted by a pointer of no type is named by a later one: names do
 * not depend on which of the two is nearer to a root.
 */
static void name_counted(struct gr_walk *w, const struct visit *v,
			 struct gr_total *named_row)
{
	uint64_t bytes = v->span->elem_bytes;

	if (v->to.label == GR_TYPE_NONE || is_part(v))
		return;
	w->heap->states[v->obj] &= ~GR_OBJECT_UNTYPED;
	if (v->span->is_noscan)
		w->heap->states[v->obj] |= GR_OBJECT_WHOLE;
	move_total(&w->ledger->masked, named_row, bytes);
	move_total(&w->untyped_total,
		   v->to.label < w->type_totals.size ?
			   &w->type_totals.data[v->to.label] :
			   gr_walk_find_total(w, v->to.label),
		   bytes);
	if (w->type_of)
		w->type_of[v->obj] = v->to.label;
}

/* Any pointer to any object. */
static gr_obj visit_object(struct gr_walk *w, struct visit *v)
{
	bool is_noscan = v->span->is_noscan;
	uint8_t state = w->heap->states[v->obj];
	bool is_new = !(state & GR_OBJECT_COUNTED);

	if (is_free_slot(w, v) || state & GR_OBJECT_WHOLE)
		return GR_OBJ_NONE;
	if (w->stratum < GR_STRATUM_RUNTIME &&
	    (state & GR_OBJECT_BARRIER || v->to.program->is_barrier)) {
		defer_visit(w, v);
		return GR_OBJ_NONE;
	}
	bool is_header = !is_noscan && refine_type(w, v);
	struct gr_total *row = is_header ? &w->ledger->header : w->typed_row;
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

gr_obj gr_walk_visit_slowly(struct gr_walk *w, uint64_t addr,
			    const struct gr_referent *to, uint32_t count,
			    struct gr_scope *scope, uint32_t step)
{
	const struct gr_span *span = NULL;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	// Texts of the executable: a string's bytes are of no type.
	if (obj == GR_OBJ_NONE && to->type == GR_TYPE_NONE)
		return GR_OBJ_NONE;
	struct visit v = {
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

gr_obj gr_walk_visit(struct gr_walk *w, uint64_t addr,
		     const struct gr_referent *to, uint32_t count,
		     struct gr_scope *scope, uint32_t step)
{
	gr_walk_tick(w, 1);
	return gr_walk_visit_inline(w, addr, to, count, scope, step);
}

static bool locate_area(struct gr_walk *w, uint64_t addr, const uint8_t **host,
			uint64_t *word, uint64_t *bytes)
{
	const struct gr_area_list *areas = &w->roots->areas;
	size_t low = 0, high = areas->count;

	// The most frequent ones, types and texts, lie before the data.
	if (!high || addr < areas->areas[0].start)
		return false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (areas->areas[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == areas->count || addr < areas->areas[low].start ||
	    !areas->areas[low].host)
		return false;
	const struct gr_area *area = &areas->areas[low];
	*host = area->host + (addr - area->start);
	*word = w->area_word[low] + (addr - area->start) / GR_WORD_BYTES;
	*bytes = area->end - addr;
	return true;
}

/* Would a visit of this pointer do nothing, whatever is known of it? */
static bool is_done(struct gr_walk *w, uint64_t addr)
{
	const uint8_t *host;
	uint64_t word, bytes;
	struct gr_spot at;

	if (!addr)
		return true;
	if (gr_heap_spot(w->heap, addr, &at))
		return w->heap->states[at.obj] & GR_OBJECT_WHOLE;
	// What is neither in the heap nor in an area leads nowhere.
	return !gr_heap_span_at(w->heap, addr) &&
	       !locate_area(w, addr, &host, &word, &bytes);
}

bool gr_walk_drop_done(struct gr_walk *w, const uint8_t *host, uint64_t word,
		       uint64_t nwords)
{
	bool is_left = false;

	for (uint64_t i = 0; i < nwords; i += 64) {
		uint64_t n = nwords - i < 64 ? nwords - i : 64, done = 0;
		uint64_t bits = gr_bitmap_extract(w->todo, word + i, n);

		for (uint64_t rest = bits; rest; rest &= rest - 1) {
			uint64_t off =
				(i + __builtin_ctzll(rest)) * GR_WORD_BYTES;
			if (is_done(w, gr_load_u64(host + off)))
				done |= rest & -rest;
		}
		gr_bitmap_and_not(w->todo, word + i, done);
		is_left |= bits != done;
	}
	return is_left;
}

bool gr_walk_locate(struct gr_walk *w, uint64_t addr, const uint8_t **host,
		    uint64_t *word, uint64_t *bytes)
{
	const struct gr_span *span;
	struct gr_spot at;

	if (addr % GR_WORD_BYTES)
		return false;
	// The page tells nearly always, and is near; the span is not.
	if (GR_LIKELY(gr_heap_spot(w->heap, addr, &at))) {
		const struct gr_page_more *page = gr_spot_page(&at, addr);
		uint64_t in_page = addr & (GR_HEAP_PAGE_BYTES - 1);

		if (!page->host || !gr_heap_is_allocated(w->heap, at.obj))
			return false;
		*host = page->host + in_page;
		*word = (uint64_t)page->scan_page * GR_PAGE_WORDS +
			in_page / GR_WORD_BYTES;
		*bytes = at.kind->elem_bytes - at.off;
		return true;
	}
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);
	if (obj == GR_OBJ_NONE)
		return locate_area(w, addr, host, word, bytes);
	if (!span->host || !gr_heap_is_allocated(w->heap, obj))
		return false;
	uint64_t off = addr - span->base_addr;
	*host = span->host + off;
	*word = span->first_word + off / GR_WORD_BYTES;
	*bytes = (uint64_t)(obj - span->first_obj + 1) * span->elem_bytes - off;
	return true;
}
