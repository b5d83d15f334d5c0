// SPDX-License-Identifier: Apache-2.0
#include "retention/asked_types.h"

#include "naming/memory_name.h"
#include "retention/type_text.h"
#include "scan/answers.h"

void gr_asked_types_deinit(struct gr_asked_types *types)
{
	gr_keys_deinit(&types->by_name);
	gr_keys_deinit(&types->by_label);
}

static const char *intern(struct gr_asked_types *types, const char *name)
{
	return gr_arena_intern(&types->answers->stop->program->arena, name,
			       strlen(name));
}

struct gr_error *gr_asked_types_init(struct gr_asked_types *types,
				     struct gr_answers *answers,
				     const char *const *names, uint32_t count)
{
	types->answers = answers;
	types->count = count;
	for (uint32_t i = 0; i < count; i++) {
		uintptr_t name = (uintptr_t)intern(types, names[i]);

		if (!name)
			return &gr_enomem;
		if (gr_keys_find(&types->by_name, name, 0) == UINT32_MAX &&
		    !gr_keys_add(&types->by_name, name, 0, i))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_asked_type_of(struct gr_asked_types *types, gr_vertex v,
				  uint32_t *ret)
{
	const struct gr_objects *objects =
		types->answers->graph->graph->objects;
	bool is_block = gr_vertex_is_block(types->answers->graph->graph, v);
	uint32_t label = objects->type[v];
	uint32_t index = gr_keys_find(&types->by_label, label, is_block);

	if (index == UINT32_MAX) {
		const char *text =
			is_block && label == GR_TYPE_NONE ?
				GR_BLOCK_NAME :
				gr_type_label_text(
					types->answers->stop->program, label);
		const char *name =
			intern(types, *text ? text : GR_TYPE_UNKNOWN);
		if (!name)
			return &gr_enomem;
		index = gr_keys_find(&types->by_name, (uintptr_t)name, 0);
		if (index == UINT32_MAX)
			index = types->count; // nobody asked
		if (!gr_keys_add(&types->by_label, label, is_block, index))
			return &gr_enomem;
	}
	*ret = index == types->count ? UINT32_MAX : index;
	return NULL;
}
