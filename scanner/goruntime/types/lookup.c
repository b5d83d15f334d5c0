// SPDX-License-Identifier: Apache-2.0
/* Variables and fields of the runtime, by the names of the debug information, and
 * which fields are embedded. */
#include "goruntime/types/types_internal.h"

const struct gr_type_field *gr_types_field_named(const struct gr_types *types,
						 gr_type_id id,
						 const char *name)
{
	if (id == GR_TYPE_NONE)
		return NULL;
	const struct gr_type *type = gr_types_get(types, id);
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);

		if (!strcmp(field->name, name))
			return field;
	}
	return NULL;
}

bool gr_types_variable(const struct gr_types *types, const char *name,
		       uint64_t *addr, gr_type_id *type)
{
	for (size_t i = 0; i < gr_types_runtime(types)->nmodules; i++) {
		const struct gr_module *m =
			&gr_types_runtime(types)->modules[i];
		size_t count = 0;

		if (!m->dwarf)
			continue;
		const struct gr_dwarf_variable *table =
			gr_dwarf_variables(m->dwarf, &count);
		uint32_t index = gr_dwarf_find_variable(m->dwarf, name);
		if (index >= count)
			continue;
		*addr = table[index].addr + m->bias;
		*type = gr_types_from_dwarf(types, m, table[index].type);
		return true;
	}
	return false;
}

bool gr_types_is_embedded(const struct gr_types *types,
			  const struct gr_type *type, uint32_t i)
{
	const struct gr_index_vector *all = &types->embedded;
	uint32_t field = type->first_field + i;
	size_t at = gr_count_before(all->size, k, all->data[k] < field);

	return at < all->size && all->data[at] == field;
}

bool gr_type_add_field(struct gr_types *types, struct gr_type_field field,
		       bool is_embedded)
{
	if (is_embedded &&
	    !gr_index_vector_append(&types->embedded,
				    (uint32_t)types->fields.size))
		return false;
	return gr_field_vector_append(&types->fields, field);
}
