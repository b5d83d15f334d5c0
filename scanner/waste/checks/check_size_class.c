// SPDX-License-Identifier: Apache-2.0
/*
 * Types that are just over a size class: some bytes less would give objects of
 * the class below. Arrays are judged if their type has a length: that of others
 * is no property of a type.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "waste/checks/by_type.h"
#include "waste/checks/checks.h"
#include "waste/checks/struct_layout.h"

enum {
	/* A type is just over a class by at most this part of its bytes. */
	LARGEST_PART = 8,
	/* It gets back so many times what it loses: a type that fills its slot
	 * wastes nothing. */
	LEAST_GAIN = 2,
};

/** A type that is just over a class. */
struct fact {
	uint64_t slot_bytes, smaller_bytes;
	uint64_t lose_bytes; /* of the type, to fit the smaller slot */
	bool is_noscan;
	bool is_by_header; /* without the malloc header it would fit */
};

/* Are objects with this type alone, and of a size that a person can change? */
static bool is_judged(const struct gr_types *types, uint32_t label)
{
	const struct gr_type *type;

	if (label & GR_LABEL_FLAGS) // GR_TYPE_NONE has them, too
		return false;
	type = gr_types_get(types, label);
	if (type->kind != GR_KIND_ARRAY)
		return gr_struct_can_change(type);
	if (type->elem == GR_TYPE_NONE)
		return false;
	const struct gr_type *elem = gr_types_get(types, type->elem);
	return elem->kind != GR_KIND_STRUCT || gr_struct_can_change(elem);
}

static struct fact find_fact(const struct gr_size_classes *classes,
			     uint64_t bytes, bool is_noscan)
{
	uint64_t slot = gr_slot_of(classes, bytes, is_noscan);
	// The bytes of the largest type that fits a smaller slot, plus one.
	uint64_t above = gr_count_before(
		bytes, k, gr_slot_of(classes, k, is_noscan) < slot);
	struct fact fact = {
		.slot_bytes = slot,
		.smaller_bytes =
			above ? gr_slot_of(classes, above - 1, is_noscan) : 0,
		.lose_bytes = bytes - (above - 1),
		.is_noscan = is_noscan,
	};

	if (!fact.smaller_bytes ||
	    fact.lose_bytes > fact.smaller_bytes / LARGEST_PART ||
	    fact.lose_bytes > (slot - fact.smaller_bytes) / LEAST_GAIN)
		return (struct fact){ 0 };
	fact.is_by_header = bytes <= fact.smaller_bytes;
	return fact;
}

static struct gr_error *make_fact(struct gr_waste_run *run,
				  const struct gr_waste_kind *kind,
				  gr_type_id id, void **ret)
{
	uint64_t bytes = gr_types_get(run->types, id)->size_bytes;

	// Smaller objects without pointers share a block with others.
	if (bytes <= GR_TINY_BYTES || bytes > UINT64_MAX / 2)
		return NULL;
	struct fact found = find_fact(&run->classes, bytes,
				      gr_type_plan_is_empty(kind->plan));
	if (!found.slot_bytes)
		return NULL;
	struct fact *fact = malloc(sizeof(*fact));
	if (!fact)
		return &gr_enomem;
	*fact = found;
	*ret = fact;
	return NULL;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	return gr_by_type_begin(run, GR_WASTE_SIZE_CLASS,
				(struct gr_by_type){ .make = make_fact,
						     .destroy = free });
}

static void end(struct gr_waste_run *run)
{
	gr_by_type_end(run, GR_WASTE_SIZE_CLASS);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	return is_judged(run->types, kind->label) &&
	       gr_by_type_need(run->state[GR_WASTE_SIZE_CLASS], run, kind,
			       kind->label);
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct gr_by_type *facts = run->state[GR_WASTE_SIZE_CLASS];

	return steal_ptr(facts->err);
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	uint32_t id = object->kind->label;
	const struct fact *fact =
		gr_by_type_get(run->state[GR_WASTE_SIZE_CLASS], id);

	if (object->slot_bytes != fact->slot_bytes ||
	    object->span->is_noscan != fact->is_noscan)
		return;
	ret->bytes = fact->slot_bytes - fact->smaller_bytes;
	ret->key = id;
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	const struct fact *fact =
		gr_by_type_get(run->state[GR_WASTE_SIZE_CLASS], key);
	const struct gr_type *info = gr_types_get(run->types, key);

	(void)example;
	(void)field;
	*type = info->name;
	*advice = gr_arena_internf(
		run->heap->rt->arena,
		"Make the type at least %s byte%s smaller: its %s bytes%s take "
		"a slot of %s, and the next smaller slot has %s.",
		gr_number_text(fact->lose_bytes).text,
		fact->lose_bytes == 1 ? "" : "s",
		gr_number_text(info->size_bytes).text,
		fact->is_by_header ? " and the malloc header of 8" : "",
		gr_number_text(fact->slot_bytes).text,
		gr_number_text(fact->smaller_bytes).text);
	return *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_size_class = {
	.id = GR_WASTE_SIZE_CLASS,
	.advice = "Make the type smaller: it is just over a size class.",
	.is_for_author = true,
	.begin = begin,
	.reached = reached,
	.end = end,
	.applies = applies,
	.judge = judge,
	.name = name,
};
