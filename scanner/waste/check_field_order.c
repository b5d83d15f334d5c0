// SPDX-License-Identifier: Apache-2.0
/*
 * Structs whose fields, in the best order, fit a smaller slot. Only the order of
 * the outermost fields is changed, and only objects of one struct are judged.
 */
#include "waste/check.h"
#include "waste/struct_layout.h"

/** A type with a better order; a slot of 0 bytes: it has none. */
struct fact {
	uint64_t slot_bytes, smaller_bytes;
	uint64_t best_bytes; /* of the type */
	bool is_noscan;
};

struct state {
	struct fact *of; /* by type id */
	size_t count;
	struct gr_error *err; /* poll has refused */
};

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct state *s = calloc(1, sizeof(*s));

	run->state[GR_WASTE_FIELD_ORDER] = s;
	if (!s)
		return &gr_enomem;
	s->count = gr_types_count(run->types);
	s->of = calloc(s->count + 1, sizeof(*s->of));
	return s->of ? NULL : &gr_enomem;
}

static void end(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_FIELD_ORDER];

	if (!s)
		return;
	gr_error_destroy(s->err);
	free(s->of);
	free(s);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	struct state *s = run->state[GR_WASTE_FIELD_ORDER];
	struct gr_struct_layout layout;
	bool is_ours;

	if (kind->form != GR_FORM_RECORD || kind->type >= s->count || s->err ||
	    !gr_struct_can_change(gr_types_get(run->types, kind->type)))
		return false;
	s->err = gr_struct_layout_of(run->types, kind->type, &layout, &is_ours);
	if (s->err || !is_ours)
		return false;
	bool is_noscan = gr_type_plan_is_empty(kind->plan);
	struct fact fact = {
		.slot_bytes =
			gr_slot_of(&run->classes, kind->unit_bytes, is_noscan),
		.best_bytes = gr_struct_layout_best(&layout),
		.is_noscan = is_noscan,
	};
	fact.smaller_bytes =
		gr_slot_of(&run->classes, fact.best_bytes, is_noscan);
	// Smaller objects without pointers share a block with others.
	if (fact.smaller_bytes >= fact.slot_bytes ||
	    (is_noscan && fact.slot_bytes <= GR_TINY_BYTES))
		return false;
	s->of[kind->type] = fact;
	return true;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct state *s = run->state[GR_WASTE_FIELD_ORDER];
	const struct fact *fact = &s->of[object->kind->type];

	if (object->slot_bytes != fact->slot_bytes ||
	    object->span->is_noscan != fact->is_noscan)
		return;
	ret->bytes = fact->slot_bytes - fact->smaller_bytes;
	ret->key = object->kind->type;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	struct state *s = run->state[GR_WASTE_FIELD_ORDER];
	struct gr_error *err = s->err;

	s->err = NULL;
	return err;
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	const struct state *s = run->state[GR_WASTE_FIELD_ORDER];
	const struct fact *fact = &s->of[key];
	const struct gr_type *info = gr_types_get(run->types, key);

	(void)example;
	(void)field;
	*type = info->name;
	*advice = gr_arena_internf(
		run->heap->rt->arena,
		"Order the fields by alignment, the largest first: the type "
		"has %llu instead of %llu bytes, its slot %llu instead of "
		"%llu.",
		(unsigned long long)fact->best_bytes,
		(unsigned long long)info->size_bytes,
		(unsigned long long)fact->smaller_bytes,
		(unsigned long long)fact->slot_bytes);
	return *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_field_order = {
	.id = GR_WASTE_FIELD_ORDER,
	.advice = "Order the fields by alignment, the largest first.",
	.begin = begin,
	.end = end,
	.applies = applies,
	.judge = judge,
	.find = find,
	.name = name,
};
