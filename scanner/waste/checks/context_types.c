// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/context_types.h"

#include <stdlib.h>

enum {
	ROUNDS = 2, /* cancelCtx in timerCtx in others */
	MAX_OFFSET = 1 << 16,
};

void gr_context_types_deinit(struct gr_context_types *found)
{
	free(found->of);
}

/* Note the map of a context itself. */
static void note_context(const struct gr_types *types, gr_type_id id,
			 struct gr_context_types *ret)
{
	const struct gr_type_field *field =
		gr_types_field_named(types, id, "children");

	if (!field || field->off_bytes >= MAX_OFFSET ||
	    gr_types_get(types, field->type)->kind != GR_KIND_MAP)
		return;
	ret->of[id].children = field->off_bytes + 1;
	ret->map = field->type;
	// It is an atomic.Value: an interface.
	const struct gr_type_field *done =
		gr_types_field_named(types, id, "done");
	if (done && done->off_bytes < MAX_OFFSET &&
	    gr_types_get(types, done->type)->size_bytes == 2 * GR_WORD_BYTES)
		ret->of[id].done = done->off_bytes + GR_WORD_BYTES + 1;
}

/* Note the map of a struct that has a context as a field, and its timer. */
static void note_outer(const struct gr_types *types, gr_type_id id,
		       struct gr_context_types *ret)
{
	const struct gr_type *type = gr_types_get(types, id);

	for (uint32_t i = 0; i < type->nfields && !ret->of[id].children; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);
		uint32_t inner = field->type < ret->count ?
					 ret->of[field->type].children :
					 0;

		if (!inner || field->off_bytes >= MAX_OFFSET)
			continue;
		ret->of[id].children = field->off_bytes + inner;
		if (ret->of[field->type].done)
			ret->of[id].done =
				field->off_bytes + ret->of[field->type].done;
	}
	if (!ret->of[id].children)
		return;
	ret->of[id].is_after_func = !strcmp(type->name, "context.afterFuncCtx");
	const struct gr_type_field *timer =
		gr_types_field_named(types, id, "timer");
	if (timer && timer->off_bytes < MAX_OFFSET &&
	    gr_types_get(types, timer->type)->kind == GR_KIND_PTR)
		ret->of[id].timer = timer->off_bytes + 1;
}

struct gr_error *gr_context_types_find(struct gr_types *types,
				       struct gr_context_types *ret)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	struct gr_error *err = NULL;

	*ret = (struct gr_context_types){ .count = gr_types_count(types),
					  .map = GR_TYPE_NONE };
	ret->of = calloc(ret->count + 1, sizeof(*ret->of));
	if (!ret->of)
		return &gr_enomem;
	for (gr_type_id id = 0; !err && id < ret->count; id++) {
		const struct gr_type *type = gr_types_get(types, id);

		if (type->kind == GR_KIND_STRUCT &&
		    !strcmp(type->name, "context.cancelCtx"))
			note_context(types, id, ret);
		err = gr_runtime_step(rt, 1);
	}
	for (int round = 0; round < ROUNDS && ret->map != GR_TYPE_NONE; round++)
		for (gr_type_id id = 0; !err && id < ret->count; id++) {
			const struct gr_type *type = gr_types_get(types, id);

			if (type->kind == GR_KIND_STRUCT)
				note_outer(types, id, ret);
			err = gr_runtime_step(rt, type->nfields + 1);
		}
	return err;
}
