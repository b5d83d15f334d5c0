// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/struct_layout.h"

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return align ? (n + align - 1) & ~(align - 1) : n;
}

uint64_t gr_struct_layout_add(struct gr_struct_layout *layout, uint64_t bytes,
			      uint64_t align)
{
	uint64_t off = round_up(layout->end_bytes, align);

	layout->end_bytes = off + bytes;
	layout->sum_bytes += bytes;
	layout->ends_empty = !bytes;
	if (bytes != round_up(bytes, align))
		layout->is_odd = true;
	if (align > layout->align)
		layout->align = align;
	return off;
}

uint64_t gr_struct_layout_bytes(const struct gr_struct_layout *layout)
{
	uint64_t end = layout->end_bytes;

	// The address of the last field must not be that of the next object.
	if (layout->ends_empty && end)
		end++;
	return round_up(end, layout->align);
}

uint64_t gr_struct_layout_best(const struct gr_struct_layout *layout)
{
	return round_up(layout->sum_bytes, layout->align);
}

struct gr_error *gr_struct_layout_of(struct gr_types *types, gr_type_id id,
				     struct gr_struct_layout *ret,
				     bool *is_ours)
{
	const struct gr_type *type = gr_types_get(types, id);
	struct gr_runtime *rt = gr_types_runtime(types);

	*ret = (struct gr_struct_layout){ 0 };
	*is_ours = false;
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);
		uint64_t bytes, align;

		struct gr_error *err = gr_runtime_step(rt, 1);
		if (!err)
			err = gr_types_align(types, field->type, &align);
		if (err)
			return err;
		bytes = gr_types_get(types, field->type)->size_bytes;
		if (bytes > type->size_bytes ||
		    gr_struct_layout_add(ret, bytes, align) != field->off_bytes)
			return NULL;
	}
	*is_ours = !ret->is_odd &&
		   gr_struct_layout_bytes(ret) == type->size_bytes;
	return NULL;
}

bool gr_struct_can_change(const struct gr_type *type)
{
	return type->kind == GR_KIND_STRUCT && type->role != GR_ROLE_CLOSURE &&
	       type->role != GR_ROLE_SCHEDULER &&
	       !strstr(type->name, "._Ctype_");
}
