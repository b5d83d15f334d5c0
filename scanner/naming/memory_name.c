// SPDX-License-Identifier: Apache-2.0
/* Types of the heap's memory: by a label of a walk, or by the header. */
#include "naming/memory_name.h"

#include "inferior/recorder.h"
#include "mark/parents.h"
#include "scan/program.h"

#include <inttypes.h>

/* The name of an array of as many values as fit in @p bytes. */
static const char *array_name(struct gr_runtime *rt, const struct gr_type *elem,
			      uint64_t bytes)
{
	uint64_t count = elem->size_bytes ? bytes / elem->size_bytes : 0;

	const char *name = gr_arena_internf(rt->arena, "[%" PRIu64 "]%s", count,
					    elem->name);

	return name ? name : "";
}

/* The type of the values that memory consists of, which belongs to a value of
 * @p type; NULL if it has another form. */
static const struct gr_type *elem_of_data(struct gr_program *program,
					  const struct gr_type *type,
					  gr_type_id id)
{
	switch (type->kind) {
	case GR_KIND_SLICE:
		return type->elem == GR_TYPE_NONE ?
			       NULL :
			       gr_types_get(program->types, type->elem);
	case GR_KIND_STRING:
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
		return NULL;
	default:
		return type->role == GR_ROLE_HASH_TRIE ?
			       NULL :
			       gr_types_get(program->types, id);
	}
}

/* The name of memory that belongs to a value of @p type, or consists of such
 * values. */
static const char *data_name(struct gr_program *program,
			     const struct gr_type *type, gr_type_id id,
			     uint64_t bytes)
{
	const struct gr_type *elem = elem_of_data(program, type, id);

	return elem ? array_name(&program->rt, elem, bytes) :
		      gr_arena_internf(&program->arena, "%s data", type->name);
}

const char *gr_memory_name(struct gr_program *program, uint32_t label,
			   uint64_t bytes)
{
	gr_type_id id = label & ~GR_LABEL_FLAGS;
	const char *name;

	if (label == GR_TYPE_NONE)
		return "";
	const struct gr_type *type = gr_types_get(program->types, id);
	if (label & GR_LABEL_DATA)
		name = data_name(program, type, id, bytes);
	else if (label & GR_LABEL_BEGIN)
		name = gr_arena_internf(&program->arena, "begins with %s",
					type->name);
	else
		name = type->name;
	return name ? name : "";
}

const char *gr_memory_merged_name(struct gr_program *program, uint32_t label)
{
	gr_type_id id = label & ~GR_LABEL_FLAGS;
	const char *name;

	if (label == GR_TYPE_NONE || !(label & GR_LABEL_DATA))
		return gr_memory_name(program, label, 0);
	const struct gr_type *type = gr_types_get(program->types, id);
	const struct gr_type *elem = elem_of_data(program, type, id);
	name = gr_arena_internf(&program->arena, elem ? "[]%s data" : "%s data",
				elem ? elem->name : type->name);
	return name ? name : "";
}

const char *gr_memory_row_name(struct gr_program *program, uint32_t label)
{
	gr_type_id id = label & ~GR_LABEL_FLAGS;

	if (label == GR_TYPE_NONE)
		return "";
	const struct gr_type *type = gr_types_get(program->types, id);
	// Arrays of values, by whatever type they are known.
	const struct gr_type *elem =
		label & GR_LABEL_DATA ? elem_of_data(program, type, id) : NULL;
	if (!elem || type->kind == GR_KIND_SLICE)
		return type->name;
	const char *text =
		gr_arena_internf(&program->arena, "[]%s", elem->name);
	return text ? text : "";
}

struct gr_error *gr_memory_header_label(struct gr_program *program,
					const struct gr_span *span,
					uint32_t index, uint32_t *ret)
{
	uint64_t addr = span->large_type;
	uint64_t bytes = span->elem_bytes - span->header_bytes;
	struct gr_error *err;
	gr_type_id type = GR_TYPE_NONE;

	*ret = GR_TYPE_NONE;
	if (span->header_bytes && span->host) {
		const uint8_t *header = span->host + index * span->elem_bytes;

		gr_recorder_note(program->rt.recorder, header, GR_WORD_BYTES);
		addr = gr_load_u64(header);
	}
	if (!addr)
		return NULL;
	err = gr_types_from_runtime(program->types, addr, &type);
	if (err || type == GR_TYPE_NONE)
		return err;
	*ret = type;
	// The header has the type record of one element.
	uint64_t elem_bytes = gr_types_get(program->types, type)->size_bytes;
	if (!elem_bytes || bytes / elem_bytes <= 1)
		return NULL;
	err = gr_types_slice_of(program->types, type, ret);
	*ret |= (uint32_t)GR_LABEL_DATA;
	return err;
}

const char *gr_memory_header_type(struct gr_program *program,
				  const struct gr_span *span, uint32_t index)
{
	uint32_t label;
	struct gr_error *err =
		gr_memory_header_label(program, span, index, &label);

	gr_error_destroy(err);
	return err ? "" :
		     gr_memory_name(program, label,
				    span->elem_bytes - span->header_bytes);
}
