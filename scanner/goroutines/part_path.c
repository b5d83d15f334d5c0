// SPDX-License-Identifier: Apache-2.0
#include "goroutines/part_path.h"

#include <inttypes.h>

/* The field of a struct that has byte @p off, or NULL. */
static const struct gr_type_field *
field_at(const struct gr_types *types, const struct gr_type *type, uint64_t off)
{
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);

		if (field->type != GR_TYPE_NONE && off >= field->off_bytes &&
		    off - field->off_bytes <
			    gr_types_get(types, field->type)->size_bytes)
			return field;
	}
	return NULL;
}

bool gr_part_enter(const struct gr_types *types, gr_type_id *id, uint64_t *off,
		   struct gr_text *text)
{
	const struct gr_type *type = gr_types_get(types, *id);

	if (type->kind == GR_KIND_ARRAY && type->elem != GR_TYPE_NONE) {
		uint64_t bytes = gr_types_get(types, type->elem)->size_bytes;

		if (!bytes || *off / bytes >= type->count)
			return false;
		gr_text_put(text, "[%" PRIu64 "]", *off / bytes);
		*id = type->elem;
		*off %= bytes;
		return true;
	}
	const struct gr_type_field *field =
		type->kind == GR_KIND_STRUCT ? field_at(types, type, *off) :
					       NULL;
	if (!field)
		return false;
	gr_text_put(text, ".%s", field->name);
	*id = field->type;
	*off -= field->off_bytes;
	return true;
}
