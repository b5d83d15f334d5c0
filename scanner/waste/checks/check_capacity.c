// SPDX-License-Identifier: Apache-2.0
/*
 * Slices with more capacity than length. What the slices of an array reach
 * takes as many slots as there are separate intervals; with their lengths
 * alone, it would take smaller ones. What no slice reaches is the finding of
 * pinned-array.
 */
#include "waste/checks/checks.h"

/* Do several values share a slot, so that no part of it can be freed? */
static bool may_be_tiny(const struct gr_waste_object *object)
{
	return gr_span_may_be_tiny(object->span);
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	(void)run;
	return kind->form == GR_FORM_ARRAY;
}

/* The slot of an interval: that of the object if it has all of it. */
static uint64_t reached_slot(const struct gr_waste_run *run,
			     const struct gr_waste_object *object,
			     const struct gr_interval *interval)
{
	uint64_t slot = gr_slot_of(&run->classes, interval->hi - interval->lo,
				   object->span->is_noscan);

	return slot < object->slot_bytes ? slot : object->slot_bytes;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct gr_interval *list;
	struct gr_interval one;
	uint32_t n = gr_reach_get(&run->reach, object->obj, &one, &list);
	uint64_t now = 0, then = 0;

	if (n == 1 && list->used == list->hi)
		return;
	if (may_be_tiny(object))
		return;
	// Bounded by GR_REACH_MAX_INTERVALS.
	for (uint32_t i = 0; i < n; i++) {
		now += reached_slot(run, object, &list[i]);
		then += gr_slot_of(&run->classes, list[i].used - list[i].lo,
				   object->span->is_noscan);
	}
	// Copies of the parts of a shared array may take more than it does.
	if (now > object->slot_bytes)
		now = object->slot_bytes;
	if (then >= now)
		return;
	ret->bytes = now - then;
	ret->key = gr_waste_place(run, object->obj);
}

const struct gr_check gr_check_capacity = {
	.id = GR_WASTE_SLICE_CAPACITY,
	.advice = "Make these slices with their final length, or copy them "
		  "once they are complete (slices.Clone): slices.Clip alone "
		  "keeps the array.",
	.is_by_place = true,
	.applies = applies,
	.judge = judge,
};
