// SPDX-License-Identifier: Apache-2.0
/*
 * Structs whose fields, in the best order, fit a smaller slot, alone or in an
 * array. Only the order of the outermost fields is changed.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "waste/checks/by_type.h"
#include "waste/checks/checks.h"
#include "waste/checks/struct_layout.h"

/** A type with a better order. */
struct fact {
	uint64_t best_bytes; /* of the type */
	bool is_noscan;
};

static struct gr_error *make_fact(struct gr_waste_run *run,
				  const struct gr_waste_kind *kind,
				  gr_type_id id, void **ret)
{
	struct gr_struct_layout layout;
	bool is_ours;
	struct gr_error *err =
		gr_struct_layout_of(run->types, id, &layout, &is_ours);

	if (err || !is_ours ||
	    gr_struct_layout_best(&layout) >= kind->unit_bytes)
		return err;
	struct fact *fact = malloc(sizeof(*fact));
	if (!fact)
		return &gr_enomem;
	*fact = (struct fact){ gr_struct_layout_best(&layout),
			       gr_type_plan_is_empty(kind->plan) };
	*ret = fact;
	return NULL;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	return gr_by_type_begin(run, GR_WASTE_FIELD_ORDER,
				(struct gr_by_type){ .make = make_fact,
						     .destroy = free });
}

static void end(struct gr_waste_run *run)
{
	gr_by_type_end(run, GR_WASTE_FIELD_ORDER);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	if ((kind->form != GR_FORM_RECORD && kind->form != GR_FORM_ARRAY) ||
	    !gr_struct_can_change(gr_types_get(run->types, kind->type)))
		return false;
	const struct fact *fact = gr_by_type_need(
		run->state[GR_WASTE_FIELD_ORDER], run, kind, kind->type);
	// Most structs that could be smaller would have the same slot.
	return fact &&
	       (kind->form == GR_FORM_ARRAY ||
		gr_slot_of(&run->classes, fact->best_bytes, fact->is_noscan) <
			gr_slot_of(&run->classes, kind->unit_bytes,
				   fact->is_noscan));
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct gr_by_type *facts = run->state[GR_WASTE_FIELD_ORDER];

	return steal_ptr(facts->err);
}

/* How many values an object has; 0: that is not known. */
static uint64_t count_values(struct gr_waste_run *run,
			     const struct gr_waste_object *object)
{
	uint64_t unit = object->kind->unit_bytes;
	const struct gr_interval *list;
	struct gr_interval one;

	if (object->kind->form == GR_FORM_RECORD)
		return 1;
	if (gr_reach_get(&run->reach, object->obj, &one, &list) != 1 ||
	    list->lo || list->hi % unit)
		return 0;
	return list->hi / unit;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct fact *fact = gr_by_type_get(
		run->state[GR_WASTE_FIELD_ORDER], object->kind->type);
	uint64_t n = count_values(run, object);

	// Blocks of the tiny allocator have several values. If an object is
	// larger than its values need, it is not known what else it has.
	if (!n || gr_span_may_be_tiny(object->span) ||
	    object->span->is_noscan != fact->is_noscan ||
	    gr_slot_of(&run->classes, n * object->kind->unit_bytes,
		       fact->is_noscan) != object->slot_bytes)
		return;
	uint64_t slot = gr_slot_of(&run->classes, n * fact->best_bytes,
				   fact->is_noscan);
	if (slot < object->slot_bytes) {
		ret->bytes = object->slot_bytes - slot;
		ret->key = object->kind->type;
	}
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	const struct fact *fact =
		gr_by_type_get(run->state[GR_WASTE_FIELD_ORDER], key);
	const struct gr_type *info = gr_types_get(run->types, key);

	(void)example;
	(void)field;
	*type = info->name;
	*advice = gr_arena_internf(
		run->heap->rt->arena,
		"Order the fields by alignment, the largest first: the type "
		"then has %s bytes instead of %s.",
		gr_number_text(fact->best_bytes).text,
		gr_number_text(info->size_bytes).text);
	return *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_field_order = {
	.id = GR_WASTE_FIELD_ORDER,
	.advice = "Order the fields by alignment, the largest first.",
	.is_for_author = true,
	.begin = begin,
	.reached = reached,
	.end = end,
	.applies = applies,
	.judge = judge,
	.name = name,
};
