// SPDX-License-Identifier: Apache-2.0
#include "naming/type_filter.h"

#include "goruntime/types/near_names.h"
#include "naming/memory_name.h"
#include "scan/answers.h"

void gr_type_filter_deinit(struct gr_type_filter *filter)
{
	gr_keys_deinit(&filter->known);
}

static bool is_called(struct gr_program *program,
		      const struct gr_type_filter *filter, uint32_t label,
		      uint64_t bytes)
{
	const char *name = filter->name;

	if (!strcmp(gr_memory_name(program, label), name) ||
	    !strcmp(gr_memory_row_name(program, label), name) ||
	    !strcmp(gr_memory_array_name(program, label, bytes), name))
		return true;
	uint32_t id = label & ~(uint32_t)GR_LABEL_FLAGS;
	return filter->takes_arrays &&
	       !strcmp(gr_types_get(program->types, id)->name, name);
}

struct gr_error *gr_type_filter_check(struct gr_answers *answers,
				      struct gr_type_filter *filter,
				      gr_vertex v, bool *ret)
{
	const struct gr_objects *objects = answers->graph->graph->objects;
	const struct gr_slot_run *run = gr_objects_run(objects, v);
	bool is_block = gr_vertex_is_block(answers->graph->graph, v);
	uint64_t bytes = run->elem_bytes - run->head_bytes;
	uint32_t label = objects->type[v];
	uint32_t found;

	if (label == GR_TYPE_NONE) {
		*ret = is_block && !strcmp(filter->name, GR_BLOCK_NAME);
		return NULL;
	}
	found = gr_keys_find(&filter->known, bytes, label);
	if (found == UINT32_MAX) {
		found = is_called(answers->stop->program, filter, label, bytes);
		if (!gr_keys_add(&filter->known, bytes, label, found))
			return &gr_enomem;
	}
	*ret = found;
	return NULL;
}

struct gr_error *gr_type_filter_no_object(struct gr_program *program,
					  const char *name)
{
	bool is_name = !strcmp(name, GR_BLOCK_NAME);
	struct gr_error *err =
		is_name ? NULL :
			  gr_types_is_name(program->types, name, &is_name);

	return err || is_name ? err : gr_types_no_such(program->types, name);
}
