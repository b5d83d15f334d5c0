// SPDX-License-Identifier: Apache-2.0
/*
 * Objects so small that they cost more than their value: it could lie in its
 * holder, in the place of the interface, pointer, slice or map that leads to
 * it.
 *
 * The holder is the object from which the walk first reached the value. The
 * holder grows by the value less what it replaces: if it is a record, to the
 * slot of that size, else by the bytes. That it may shrink is not counted. A
 * value that several objects share counts once, at its holder, and only if the
 * holder does not grow: each of them would need a copy.
 */
#include "base/cleanup.h"
#include "waste/checks/by_type.h"
#include "waste/checks/checks.h"
#include "waste/checks/map_memory.h"

enum {
	MAX_BOX_BYTES = 16,  /* of a value in an interface */
	MAX_LEAF_BYTES = 24, /* of a value without pointers, behind a pointer */
	MAX_SLOTS = 1 << 10, /* of a holder's plan */
	LINKS = 1 << 10,
	INTERFACE_BYTES = 2 * GR_WORD_BYTES,
	SLICE_BYTES = 3 * GR_WORD_BYTES,
};

/** How a holder may lead to a value of some type. */
struct link {
	uint64_t key;	       /* the labels of both, + 1; 0: none */
	uint64_t holder_bytes; /* of a record; 0: it is no record */
	bool by_pointer;       /* to its type */
	bool by_other;	       /* by an interface, or by what has no type */
};

struct state {
	struct gr_by_type maps;	  /* struct gr_map_kind */
	struct link links[LINKS]; /* a cache */
};

// --------------------------------------------------------------------- kinds

/* The type of an object that is one value of it: `[2]int` is one, too. */
static gr_type_id type_of(const struct gr_waste_kind *kind)
{
	return kind->label & GR_LABEL_FLAGS ? GR_TYPE_NONE : kind->label;
}

static bool may_be_leaf(const struct gr_waste_run *run,
			const struct gr_waste_kind *kind)
{
	gr_type_id id = type_of(kind);

	if (id == GR_TYPE_NONE || !kind->unit_bytes)
		return false;
	return gr_types_get(run->types, id)->size_bytes <=
	       (gr_type_plan_is_empty(kind->plan) ? MAX_LEAF_BYTES :
						    MAX_BOX_BYTES);
}

static struct gr_error *make_map(struct gr_waste_run *run,
				 const struct gr_waste_kind *kind,
				 gr_type_id id, void **ret)
{
	struct gr_map_kind *map;
	struct gr_error *err =
		gr_map_kind_create(run->heap, &run->classes, id, &map);

	(void)kind;
	*ret = map;
	return err;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct state *s = calloc(1, sizeof(*s));
	struct gr_error *err;

	run->state[GR_WASTE_TINY_OBJECTS] = s;
	if (!s)
		return &gr_enomem;
	s->maps.make = make_map;
	s->maps.destroy = free;
	err = gr_by_type_init(&s->maps, run->types);
	return err ? err : gr_boxes_init(&run->boxes, run->heap->nobjs);
}

static void end(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_TINY_OBJECTS];

	gr_by_type_deinit(&s->maps);
	free(s);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	struct state *s = run->state[GR_WASTE_TINY_OBJECTS];

	if (kind->type >= gr_types_count(run->types) || s->maps.err)
		return false;
	if (kind->form == GR_FORM_MAP)
		return gr_by_type_need(&s->maps, run, kind, kind->type);
	if (!kind->unit_bytes)
		return false;
	return kind->form == GR_FORM_ARRAY ||
	       (kind->form == GR_FORM_RECORD && may_be_leaf(run, kind));
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_TINY_OBJECTS];

	return steal_ptr(s->maps.err);
}

// --------------------------------------------------------------------- links

/* Note how the pointers of values of a type may lead to a value of @p leaf. */
static void add_slots(struct gr_waste_run *run, gr_type_id holder,
		      gr_type_id leaf, struct link *link)
{
	const struct gr_type_plan *plan =
		holder < gr_types_count(run->types) ?
			gr_type_plan_get(&run->plans, holder) :
			NULL;

	if (!plan || plan->narrays || plan->nslots > MAX_SLOTS) {
		link->by_other = true;
		return;
	}
	for (uint32_t i = 0; i < plan->nslots && i < MAX_SLOTS; i++) {
		switch (plan->slots[i].op) {
		case GR_SLOT_POINTER:
			if (plan->slots[i].type == leaf)
				link->by_pointer = true;
			break;
		case GR_SLOT_EFACE:
		case GR_SLOT_IFACE:
		case GR_SLOT_UNKNOWN:
		case GR_SLOT_REFLECT:
			link->by_other = true;
			break;
		default:
			break;
		}
	}
}

/* How memory with label @p from leads to values of @p leaf. */
static void find_link(struct gr_waste_run *run, uint32_t from, gr_type_id leaf,
		      struct link *link)
{
	gr_type_id id = from & ~(uint32_t)GR_LABEL_FLAGS;
	const struct gr_type *type;

	if (from == GR_TYPE_NONE || (from & GR_LABEL_BEGIN) ||
	    id >= gr_types_count(run->types)) {
		link->by_other = true;
		return;
	}
	type = gr_types_get(run->types, id);
	gr_type_id elem = type->elem, key = type->key;
	if (type->kind == GR_KIND_MAP) {
		add_slots(run, elem, leaf, link);
		add_slots(run, key, leaf, link);
	} else if (type->kind == GR_KIND_SLICE || type->kind == GR_KIND_CHAN ||
		   type->kind == GR_KIND_ARRAY) {
		// The pointer to a slice is no array.
		add_slots(run,
			  from & GR_LABEL_DATA || type->kind == GR_KIND_ARRAY ?
				  elem :
				  id,
			  leaf, link);
	} else {
		if (!(from & GR_LABEL_DATA))
			link->holder_bytes = type->size_bytes;
		add_slots(run, id, leaf, link);
	}
}

static const struct link *get_link(struct gr_waste_run *run, struct state *s,
				   uint32_t from, gr_type_id leaf)
{
	uint64_t key = ((uint64_t)from << 32 | leaf) + 1;
	struct link *link = &s->links[(from * 31 + leaf) % LINKS];

	if (GR_UNLIKELY(link->key != key)) {
		*link = (struct link){ .key = key };
		find_link(run, from, leaf, link);
	}
	return link;
}

// ------------------------------------------------------------------- savings

static uint64_t whole_words(uint64_t bytes)
{
	return (bytes + GR_WORD_BYTES - 1) & ~(uint64_t)(GR_WORD_BYTES - 1);
}

/* How many bytes the holder grows by when a value takes the place of the @p now
 * bytes that lead to it. */
static uint64_t growth_of(const struct gr_waste_run *run,
			  const struct link *link, uint64_t bytes, uint64_t now)
{
	uint64_t then = whole_words(bytes);
	uint64_t more = then > now ? then - now : 0;

	if (!link || !link->holder_bytes)
		return more;
	return gr_slot_of(&run->classes, link->holder_bytes + more, false) -
	       gr_slot_of(&run->classes, link->holder_bytes, false);
}

static void save(struct gr_waste_run *run, const struct gr_waste_object *object,
		 uint64_t slots, uint64_t growth, struct gr_saving *ret)
{
	if (slots <= growth ||
	    (growth && gr_bitmap_test(run->boxes.shared, object->obj)))
		return;
	ret->bytes = slots - growth;
	ret->key = gr_waste_place(run, object->obj);
}

/* Is a slot as large as one value needs, without another value in it? */
static bool is_alone(struct gr_waste_run *run,
		     const struct gr_waste_object *object, uint64_t bytes)
{
	if (gr_span_may_be_tiny(object->span))
		return gr_boxes_fill(&run->boxes, &run->reach, object->obj);
	return object->slot_bytes ==
	       gr_slot_of(&run->classes, bytes, object->span->is_noscan);
}

/* A value in an interface, or one without pointers behind a pointer. */
static void judge_leaf(struct gr_waste_run *run, struct state *s,
		       const struct gr_waste_object *object,
		       struct gr_saving *ret)
{
	gr_type_id type = type_of(object->kind);
	uint64_t bytes = gr_types_get(run->types, type)->size_bytes;
	gr_obj from = gr_parents_from(run->parents, object->obj);
	bool is_boxed = gr_bitmap_test(run->boxes.boxed, object->obj);
	const struct link *link = NULL;

	if (from != GR_OBJ_NONE)
		link = get_link(run, s, gr_parents_label(run->parents, from),
				type);
	if (!is_boxed && (!link || !link->by_pointer || link->by_other ||
			  !object->span->is_noscan))
		return;
	if (!is_alone(run, object, bytes))
		return;
	save(run, object, object->slot_bytes,
	     growth_of(run, link, bytes,
		       is_boxed ? INTERFACE_BYTES : GR_WORD_BYTES),
	     ret);
}

/* The array of a slice with one element, and room for one. */
static void judge_array(struct gr_waste_run *run, struct state *s,
			const struct gr_waste_object *object,
			struct gr_saving *ret)
{
	uint64_t unit = object->kind->unit_bytes;
	gr_obj from = gr_parents_from(run->parents, object->obj);
	const struct gr_interval *list;
	struct gr_interval one;

	if (!is_alone(run, object, unit))
		return;
	if (gr_reach_get(&run->reach, object->obj, &one, &list) != 1 ||
	    list->used - list->lo != unit)
		return;
	const struct link *link =
		from == GR_OBJ_NONE ?
			NULL :
			get_link(run, s, gr_parents_label(run->parents, from),
				 object->kind->type);
	save(run, object, object->slot_bytes,
	     growth_of(run, link, unit, SLICE_BYTES), ret);
}

/* An empty map, or one with one entry. Room for more is a sparse map. */
static void judge_map(struct gr_waste_run *run, struct state *s,
		      const struct gr_waste_object *object,
		      struct gr_saving *ret)
{
	const struct gr_map_kind *kind =
		gr_by_type_get(&s->maps, object->kind->type);
	gr_obj from = gr_parents_from(run->parents, object->obj);
	struct gr_map_facts map;

	if (!kind || object->slot_bytes != kind->header_slot_bytes ||
	    !gr_map_facts_read(kind, object->slot_bytes, object->host, &map) ||
	    map.entries > 1)
		return;
	if (!map.entries) {
		save(run, object, object->slot_bytes, 0, ret);
		return;
	}
	struct gr_map_pieces pieces = kind->pieces;
	pieces.is_noscan = true; // without a malloc header: rather too few
	uint64_t bytes =
		gr_map_part_bytes(run->types, &kind->shape.key, kind->key) +
		gr_map_part_bytes(run->types, &kind->shape.elem, kind->elem);
	const struct link *link =
		from == GR_OBJ_NONE ?
			NULL :
			get_link(run, s, gr_parents_label(run->parents, from),
				 object->kind->type);
	save(run, object, gr_map_fresh_bytes(&pieces, 1),
	     growth_of(run, link, bytes, GR_WORD_BYTES), ret);
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	struct state *s = run->state[GR_WASTE_TINY_OBJECTS];

	if (object->kind->form == GR_FORM_MAP)
		judge_map(run, s, object, ret);
	else if (object->kind->label & GR_LABEL_DATA)
		judge_array(run, s, object, ret);
	else if (may_be_leaf(run, object->kind))
		judge_leaf(run, s, object, ret);
}

const struct gr_check gr_check_tiny = {
	.id = GR_WASTE_TINY_OBJECTS,
	.advice = "Store these small values in their holder and not behind a "
		  "pointer, an interface, a slice or a map.",
	.is_by_place = true,
	.is_for_author = true,
	.begin = begin,
	.reached = reached,
	.end = end,
	.applies = applies,
	.judge = judge,
};
