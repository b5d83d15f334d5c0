// SPDX-License-Identifier: Apache-2.0
/* A pointer, and what its type says of the memory behind it. */
#include "waste/objects/views.h"

#include "inferior/recorder.h"

/* No slice has so many elements, and no string so many bytes. */
#define MAX_COUNT (UINT64_C(1) << 47)

enum { MAX_NESTED = 8 /* long arrays inside long arrays */ };

static void fail(struct gr_views *v, struct gr_error *err)
{
	if (v->err)
		gr_error_destroy(err);
	else
		v->err = err;
}

const struct gr_type_plan *gr_views_plan(struct gr_views *v, gr_type_id type)
{
	struct gr_type_plans *plans = &v->run->plans;
	const struct gr_type_plan *plan = gr_type_plan_get(plans, type);

	if (GR_LIKELY(plan != NULL))
		return plan;
	fail(v, plans->err ? plans->err : &gr_enomem);
	plans->err = NULL;
	return &gr_type_plan_nothing;
}

// --------------------------------------------------------------------- views

void gr_views_enter(struct gr_views *v, const struct gr_waiting_view *w)
{
	gr_boxes_note(&v->run->boxes, &v->run->reach, w->obj, w->bytes,
		      w->holding);
	if (!gr_reach_add(&v->run->reach, w->obj, w->bytes, w->view))
		fail(v, &gr_enomem);
}

/* The object at an address, and the offset in its slot. */
static bool find_object(const struct gr_heap *heap, uint64_t addr,
			struct gr_waiting_view *ret, uint64_t *off,
			uint32_t *header)
{
	const struct gr_span *span;
	struct gr_spot at;

	if (GR_LIKELY(gr_heap_spot(heap, addr, &at))) {
		ret->obj = at.obj;
		ret->bytes = at.kind->elem_bytes - at.kind->header_bytes;
		*off = at.off;
		*header = at.kind->header_bytes;
		return true;
	}
	ret->obj = gr_heap_object_at(heap, addr, &span);
	if (ret->obj == GR_OBJ_NONE)
		return false;
	ret->bytes = span->elem_bytes - span->header_bytes;
	*off = addr - gr_span_slot_addr(span, ret->obj - span->first_obj);
	*header = span->header_bytes;
	return true;
}

/* gr_views_add(); @p holding: bits of enum gr_holding. */
static inline bool add(struct gr_views *v, uint64_t addr, uint64_t reach,
		       uint64_t used, unsigned int holding)
{
	struct gr_waiting_view *w = &v->waiting[v->nwaiting % GR_VIEWS_AHEAD];
	struct gr_waiting_view view;
	uint32_t header;
	uint64_t off;

	if (!find_object(v->run->heap, addr, &view, &off, &header))
		return true;
	gr_prefetch(&v->run->reach.slots[view.obj]);
	bool fits = off >= header && reach <= view.bytes - (off - header);
	off -= header;
	view.view =
		fits ? (struct gr_interval){ off, off + reach, off + used } :
		       (struct gr_interval){ 0, view.bytes, view.bytes };
	view.holding = fits ? holding : GR_HELD_OTHERWISE;
	if (v->nwaiting++ >= GR_VIEWS_AHEAD)
		gr_views_enter(v, w);
	*w = view;
	return fits || reach == GR_VIEW_WHOLE;
}

bool gr_views_add(struct gr_views *v, uint64_t addr, uint64_t reach,
		  uint64_t used)
{
	return add(v, addr, reach, used, GR_HELD_OTHERWISE);
}

/* Add the view of a value that a word of the heap holds. */
static void add_value(struct gr_views *v, uint64_t addr, uint64_t bytes,
		      const struct gr_type_plan *plan, unsigned int holding)
{
	if (bytes && bytes < GR_TINY_BYTES && gr_type_plan_is_empty(plan))
		holding |= GR_HELD_AS_VALUE;
	add(v, addr, bytes, bytes, holding);
}

/* The bytes of @p count elements; GR_VIEW_WHOLE if there cannot be so many. */
static uint64_t times(uint64_t count, uint64_t bytes)
{
	uint64_t product;

	return count >= MAX_COUNT ||
			       __builtin_mul_overflow(count, bytes, &product) ?
		       GR_VIEW_WHOLE :
		       product;
}

/* Add the view of a slice or a string: its length and capacity, in bytes. */
static void add_counted(struct gr_views *v, uint64_t addr, uint64_t len,
			uint64_t cap)
{
	bool is_sound = len <= cap && cap != GR_VIEW_WHOLE;

	if (GR_UNLIKELY(!is_sound))
		len = cap = GR_VIEW_WHOLE;
	v->run->waste->broken_views += !gr_views_add(v, addr, cap, len) ||
				       !is_sound;
}

/* Note a length, which a saved file then has. */
static void note(struct gr_views *v, const uint8_t *at)
{
	if (GR_UNLIKELY(v->recorder != NULL) && gr_load_u64(at) < MAX_COUNT)
		gr_recorder_note(v->recorder, at, GR_WORD_BYTES);
}

// ---------------------------------------------------------------- interfaces

/* The type in the word before the data word of an interface. */
static gr_type_id dynamic_type(struct gr_views *v, bool is_itab, uint64_t word)
{
	struct gr_view_type *cached = &v->dynamic[word / 32 % GR_DYNAMIC_TYPES];
	struct gr_types *types = v->run->types;
	gr_type_id type = GR_TYPE_NONE;
	struct gr_error *err;

	if (GR_LIKELY(cached->word == word))
		return cached->type;
	err = is_itab ? gr_types_from_itab(types, word, &type) :
			gr_types_from_runtime(types, word, &type);
	if (err) {
		fail(v, err);
		return GR_TYPE_NONE;
	}
	*cached = (struct gr_view_type){ word, type };
	return type;
}

static void follow(struct gr_views *v, const struct gr_slot *slot,
		   const uint8_t *at, bool can_embed);

/* A value of pointer shape is in the data word; another lies behind it.
 * Recursion: one level, as a value of pointer shape is no interface. */
static void follow_interface(struct gr_views *v, const struct gr_slot *slot,
			     const uint8_t *at, bool can_embed)
{
	uint64_t addr = gr_load_u64(at);
	gr_type_id type = dynamic_type(v, slot->op == GR_SLOT_IFACE,
				       gr_load_u64(at - GR_WORD_BYTES));

	if (type == GR_TYPE_NONE) {
		gr_views_add(v, addr, GR_VIEW_WHOLE, GR_VIEW_WHOLE);
		return;
	}
	const struct gr_type_plan *plan = gr_views_plan(v, type);
	if (plan->is_direct && plan->slots[0].op != GR_SLOT_EFACE &&
	    plan->slots[0].op != GR_SLOT_IFACE)
		follow(v, &plan->slots[0], at, false);
	else if (gr_types_is_direct(v->run->types, type))
		gr_views_add(v, addr, GR_VIEW_WHOLE, GR_VIEW_WHOLE);
	else if (can_embed)
		add_value(v, addr, plan->size_bytes, plan,
			  GR_HELD_BY_INTERFACE);
	else
		gr_views_add(v, addr, plan->size_bytes, plan->size_bytes);
}

// --------------------------------------------------------------------- words

/* Follow a pointer to a value. Code that is not safe keeps a *byte where it
 * means an array. */
static void follow_pointer(struct gr_views *v, gr_type_id type, uint64_t addr,
			   bool can_embed)
{
	const struct gr_type *to = gr_types_get(v->run->types, type);
	uint64_t bytes = to->kind == GR_KIND_UINT8 ? GR_VIEW_WHOLE :
						     to->size_bytes;

	if (can_embed && bytes < GR_TINY_BYTES)
		add_value(v, addr, bytes, gr_views_plan(v, type), 0);
	else
		gr_views_add(v, addr, bytes, bytes);
}

static void follow_slice(struct gr_views *v, const struct gr_slot *slot,
			 const uint8_t *at)
{
	uint64_t elem = gr_types_get(v->run->types, slot->to.type)->size_bytes;

	note(v, at + GR_WORD_BYTES);
	note(v, at + 2 * GR_WORD_BYTES);
	add_counted(v, gr_load_u64(at),
		    times(gr_load_u64(at + GR_WORD_BYTES), elem),
		    times(gr_load_u64(at + 2 * GR_WORD_BYTES), elem));
}

/* Note that a map is to be read, once. */
static void add_header(struct gr_views *v, gr_type_id type, uint64_t addr)
{
	const struct gr_map_header header = { addr, type };
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(v->run->heap, addr, &span);

	if (gr_types_get(v->run->types, type)->kind != GR_KIND_MAP ||
	    obj == GR_OBJ_NONE || gr_bitmap_test(v->walked, obj))
		return;
	gr_bitmap_set(v->walked, obj);
	if (!gr_map_header_vector_append(&v->headers, header))
		fail(v, &gr_enomem);
}

/* gr_views_follow(); @p can_embed: the word's holder could have the value in
 * place of the word. */
static void follow(struct gr_views *v, const struct gr_slot *slot,
		   const uint8_t *at, bool can_embed)
{
	uint64_t addr = gr_load_u64(at), len;

	if (!addr)
		return;
	switch (slot ? (enum gr_slot_op)slot->op : GR_SLOT_UNKNOWN) {
	case GR_SLOT_POINTER:
		follow_pointer(v, slot->type, addr, can_embed);
		return;
	case GR_SLOT_STRING:
		note(v, at + GR_WORD_BYTES);
		len = times(gr_load_u64(at + GR_WORD_BYTES), 1);
		add_counted(v, addr, len, len);
		return;
	case GR_SLOT_SLICE:
		follow_slice(v, slot, at);
		return;
	case GR_SLOT_EFACE:
	case GR_SLOT_IFACE:
		follow_interface(v, slot, at, can_embed);
		return;
	case GR_SLOT_HEADER:
		add_header(v, slot->type, addr);
		break;
	case GR_SLOT_UNKNOWN:
	case GR_SLOT_TRIE:
	case GR_SLOT_FUNC:
	case GR_SLOT_COUNTED:
	case GR_SLOT_REFLECT:
		break;
	}
	gr_views_add(v, addr, GR_VIEW_WHOLE, GR_VIEW_WHOLE);
}

void gr_views_follow(struct gr_views *v, const struct gr_slot *slot,
		     const uint8_t *at)
{
	follow(v, slot, at, true);
}

void gr_views_follow_fixed(struct gr_views *v, const struct gr_slot *slot,
			   const uint8_t *at)
{
	follow(v, slot, at, false);
}

// -------------------------------------------------------------------- values

const struct gr_slot *gr_views_slot(struct gr_views *v,
				    const struct gr_type_plan *plan,
				    uint64_t word)
{
	for (int depth = 0; depth < MAX_NESTED; depth++) {
		uint64_t off = word * GR_WORD_BYTES;
		size_t n;

		if (word < plan->nwords && gr_bitmap_test(plan->mask, word))
			return plan->slot_of_word[word];
		n = gr_count_before(plan->narrays, k,
				    plan->arrays[k].off_bytes <= off);
		if (!n)
			return NULL;
		const struct gr_array_slot *array = &plan->arrays[n - 1];
		plan = gr_views_plan(v, array->elem);
		off -= array->off_bytes;
		if (plan->size_bytes < GR_WORD_BYTES ||
		    off / plan->size_bytes >= array->count)
			return NULL;
		word = off % plan->size_bytes / GR_WORD_BYTES;
	}
	return NULL;
}

typedef void (*follow_fn)(struct gr_views *v, const struct gr_slot *slot,
			  const uint8_t *at);

static void follow_stale(struct gr_views *v, const struct gr_slot *slot,
			 const uint8_t *at)
{
	(void)slot;
	gr_views_follow(v, NULL, at);
}

/* Recursion: long arrays in types, which MAX_NESTED bounds. */
static void each_word(struct gr_views *v, const struct gr_type_plan *plan,
		      const uint8_t *host, follow_fn follow, int depth)
{
	for (uint64_t w = 0;
	     (w = gr_bitmap_next(plan->mask, w, plan->nwords)) < plan->nwords;
	     w++)
		follow(v, plan->slot_of_word[w], host + w * GR_WORD_BYTES);
	for (uint32_t i = 0; i < plan->narrays && depth < MAX_NESTED; i++) {
		const struct gr_array_slot *array = &plan->arrays[i];
		const struct gr_type_plan *elem = gr_views_plan(v, array->elem);

		// Bounded by the size of the value, which is in memory.
		for (uint64_t k = 0; k < array->count && !v->err; k++)
			each_word(v, elem,
				  host + array->off_bytes +
					  k * elem->size_bytes,
				  follow, depth + 1);
	}
}

void gr_views_follow_value(struct gr_views *v, const struct gr_type_plan *plan,
			   const uint8_t *host)
{
	each_word(v, plan, host, gr_views_follow, 0);
}

void gr_views_follow_stale(struct gr_views *v, const struct gr_type_plan *plan,
			   const uint8_t *host)
{
	each_word(v, plan, host, follow_stale, 0);
}
