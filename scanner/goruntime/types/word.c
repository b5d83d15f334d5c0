// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/word.h"

#include <inttypes.h>

/* Fields inside fields. */
enum { MAX_DEPTH = 64 };

/* The field of a struct that has byte @p off, or NULL. A closure's fields may
 * lie in any order, and those of a C union lie over each other. */
static const struct gr_type_field *
field_at(const struct gr_types *types, const struct gr_type *type, uint64_t off)
{
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(types, type, i);

		if (field->type == GR_TYPE_NONE)
			continue;
		uint64_t bytes = gr_types_get(types, field->type)->size_bytes;
		if (off >= field->off_bytes && off - field->off_bytes < bytes)
			return field;
	}
	return NULL;
}

static bool enter_field(const struct gr_types *types,
			const struct gr_type *type, struct gr_text *name,
			struct gr_type_word *word)
{
	const struct gr_type_field *field =
		field_at(types, type, word->off_bytes);

	if (!field)
		return false;
	gr_text_put(name, ".%s", field->name);
	word->type = field->type;
	word->off_bytes -= field->off_bytes;
	return true;
}

static bool enter_element(const struct gr_types *types,
			  const struct gr_type *type, struct gr_text *name,
			  struct gr_type_word *word)
{
	if (type->elem == GR_TYPE_NONE)
		return false;
	uint64_t bytes = gr_types_get(types, type->elem)->size_bytes;
	if (!bytes || word->off_bytes / bytes >= type->count)
		return false;
	gr_text_put(name, "[%" PRIu64 "]", word->off_bytes / bytes);
	word->type = type->elem;
	word->off_bytes %= bytes;
	return true;
}

static bool has_parts(const struct gr_type *type)
{
	return type->kind == GR_KIND_ARRAY ||
	       (type->kind == GR_KIND_STRUCT &&
		type->role != GR_ROLE_ATOMIC_POINTER);
}

struct gr_error *gr_types_name_word(const struct gr_types *types, gr_type_id id,
				    uint64_t off, struct gr_text *name,
				    struct gr_type_word *ret)
{
	struct gr_error *err = NULL;

	*ret = (struct gr_type_word){ .type = id, .off_bytes = off };
	for (unsigned int depth = 0; !err && !ret->is_nameless; depth++) {
		const struct gr_type *type = gr_types_get(types, ret->type);

		if (!has_parts(type)) {
			ret->is_nameless = ret->off_bytes >= type->size_bytes;
			break;
		}
		err = gr_runtime_step(gr_types_runtime(types),
				      1 + type->nfields);
		ret->is_nameless =
			depth == MAX_DEPTH ||
			(type->kind == GR_KIND_ARRAY ?
				 !enter_element(types, type, name, ret) :
				 !enter_field(types, type, name, ret));
	}
	if (ret->is_nameless)
		gr_text_put(name, "+0x%" PRIx64, ret->off_bytes);
	return err;
}
