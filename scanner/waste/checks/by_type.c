// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/by_type.h"

struct gr_error *gr_by_type_init(struct gr_by_type *table,
				 const struct gr_types *types)
{
	size_t n = gr_types_count(types);

	table->of = calloc(n + 1, sizeof(*table->of));
	table->count = table->of ? n : 0;
	return table->of ? NULL : &gr_enomem;
}

void gr_by_type_deinit(struct gr_by_type *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->of[i])
			table->destroy(table->of[i]);
	free(table->of);
	gr_error_destroy(table->err);
}

struct gr_error *gr_by_type_begin(struct gr_waste_run *run,
				  enum gr_waste_check check,
				  struct gr_by_type table)
{
	struct gr_by_type *copy = malloc(sizeof(*copy));

	if (!copy)
		return &gr_enomem;
	*copy = table;
	run->state[check] = copy;
	return gr_by_type_init(copy, run->types);
}

void gr_by_type_end(struct gr_waste_run *run, enum gr_waste_check check)
{
	gr_by_type_deinit(run->state[check]);
	free(run->state[check]);
}

void *gr_by_type_need(struct gr_by_type *table, struct gr_waste_run *run,
		      const struct gr_waste_kind *kind, gr_type_id id)
{
	if (id >= table->count || table->err)
		return NULL;
	if (!table->of[id])
		table->err = table->make(run, kind, id, &table->of[id]);
	return table->of[id];
}
