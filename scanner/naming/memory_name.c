// SPDX-License-Identifier: Apache-2.0
/* Types of the heap's memory: by a label of a walk, or by the header. */
#include "naming/memory_name.h"

#include "inferior/recorder.h"
#include "mark/parents.h"
#include "scan/program.h"

#include <inttypes.h>

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

const char *gr_memory_name(struct gr_program *program, uint32_t label)
{
	const char *row = gr_memory_row_name(program, label);

	if (label == GR_TYPE_NONE || !(label & GR_LABEL_BEGIN))
		return row;
	const char *name =
		gr_arena_internf(&program->arena, "begins with %s", row);
	return name ? name : "";
}

const char *gr_memory_array_name(struct gr_program *program, uint32_t label,
				 uint64_t bytes)
{
	if (label == GR_TYPE_NONE || !(label & GR_LABEL_DATA))
		return "";
	gr_type_id id = label & ~GR_LABEL_FLAGS;
	const struct gr_type *elem =
		elem_of_data(program, gr_types_get(program->types, id), id);
	if (!elem || !elem->size_bytes)
		return "";
	const char *name = gr_arena_internf(&program->arena, "[%" PRIu64 "]%s",
					    bytes / elem->size_bytes,
					    elem->name);
	return name ? name : "";
}

bool gr_memory_is_container(struct gr_program *program, uint32_t label)
{
	if (label == GR_TYPE_NONE || label & GR_LABEL_DATA)
		return label != GR_TYPE_NONE;
	const struct gr_type *type =
		gr_types_get(program->types, label & ~GR_LABEL_FLAGS);
	if (type->kind == GR_KIND_PTR && type->elem != GR_TYPE_NONE)
		type = gr_types_get(program->types, type->elem);
	return type->kind == GR_KIND_ARRAY || type->kind == GR_KIND_SLICE ||
	       type->kind == GR_KIND_MAP;
}

/* A type with an unrolled mask is a copy without kind and name. */
static bool is_copy(const struct gr_runtime *rt, const struct gr_span *span,
		    uint64_t addr)
{
	return addr == span->large_type && rt->layout.has.tflag_unrolled &&
	       gr_heap_is_synthetic_type(rt, addr);
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
	if (!addr || is_copy(&program->rt, span, addr))
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
	return err ? "" : gr_memory_name(program, label);
}
