// SPDX-License-Identifier: Apache-2.0
/*
 * Arrays of which only a part can be reached: a substring, a slice of a slice,
 * a match of a regular expression. Copies of the separate parts would take
 * smaller slots. Only a whole mark knows that no other view exists.
 */
#include "waste/checks/checks.h"

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	(void)run;
	return kind->form == GR_FORM_ARRAY || kind->form == GR_FORM_STRING;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	const struct gr_interval *list;
	struct gr_interval one;
	uint32_t n = gr_reach_get(&run->reach, object->obj, &one, &list);
	uint64_t then = 0;

	if (!n || gr_span_may_be_tiny(object->span))
		return;
	// Bounded by GR_REACH_MAX_INTERVALS.
	for (uint32_t i = 0; i < n && then < object->slot_bytes; i++)
		then += gr_slot_of(&run->classes, list[i].hi - list[i].lo,
				   object->span->is_noscan);
	if (then >= object->slot_bytes)
		return;
	ret->bytes = object->slot_bytes - then;
	ret->key = gr_waste_place(run, object->obj);
}

const struct gr_check gr_check_pinned = {
	.id = GR_WASTE_PINNED_ARRAY,
	.advice = "Copy the part that is in use (strings.Clone, slices.Clone): "
		  "it keeps the whole array alive.",
	.is_by_place = true,
	.applies = applies,
	.judge = judge,
};
