// SPDX-License-Identifier: Apache-2.0
#include "naming/shape_words.h"

#include "goruntime/types/word.h"

enum {
	/* Larger types only have the references that were seen. */
	MAX_TYPED_BYTES = 1 << 12,
	NAME_BYTES = 512,
};

/* Does the collector follow this word of a value? */
static bool is_pointer(const struct gr_type *type, uint64_t off_bytes)
{
	switch (type->kind) {
	case GR_KIND_PTR:
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
	case GR_KIND_UNSAFE_POINTER:
	case GR_KIND_STRING:
	case GR_KIND_SLICE:
		return off_bytes == 0;
	case GR_KIND_INTERFACE:
		return off_bytes == GR_WORD_BYTES;
	default:
		return type->role == GR_ROLE_ATOMIC_POINTER && !off_bytes;
	}
}

static struct gr_error *name_word(struct gr_program *program,
				  const struct gr_shape *shape, size_t word,
				  struct gr_text *text,
				  struct gr_type_word *part)
{
	return gr_types_name_word(program->types, shape->type,
				  word * GR_WORD_BYTES, text, part);
}

static struct gr_error *add_typed(struct gr_program *program,
				  struct gr_shape *shape)
{
	const struct gr_type *type = gr_types_get(program->types, shape->type);
	uint64_t bytes = type->size_bytes < shape->unit_bytes ?
				 type->size_bytes :
				 shape->unit_bytes;
	struct gr_error *err = NULL;

	if (bytes > MAX_TYPED_BYTES)
		return NULL;
	for (size_t i = 0; !err && i < bytes / GR_WORD_BYTES; i++) {
		char data[NAME_BYTES];
		struct gr_text text = gr_text_begin(data, sizeof(data));
		struct gr_type_word part;

		err = name_word(program, shape, i, &text, &part);
		if (!err && !part.is_nameless &&
		    is_pointer(gr_types_get(program->types, part.type),
			       part.off_bytes))
			gr_bitmap_set(shape->references, i);
	}
	return err;
}

static struct gr_error *add_names(struct gr_program *program,
				  struct gr_shape *shape)
{
	size_t nwords = shape->unit_bytes / GR_WORD_BYTES, n = 0;
	struct gr_error *err = NULL;

	shape->names = calloc((size_t)shape->nrefs + 1, sizeof(*shape->names));
	if (!shape->names)
		return &gr_enomem;
	for (size_t i = 0; !err && (i = gr_bitmap_next(shape->references, i,
						       nwords)) < nwords;
	     i++) {
		char data[NAME_BYTES];
		struct gr_text text = gr_text_begin(data, sizeof(data));
		struct gr_type_word part;

		err = name_word(program, shape, i, &text, &part);
		if (err)
			break;
		shape->names[n] =
			gr_arena_intern(&program->arena, data, text.bytes);
		err = shape->names[n++] ? NULL : &gr_enomem;
	}
	return err;
}

struct gr_error *gr_shape_add_words(struct gr_program *program,
				    struct gr_shape *shape)
{
	struct gr_error *err = NULL;

	if (!shape->references)
		return NULL;
	if (shape->type == GR_TYPE_NONE) { // each word is a unit
		gr_bitmap_set(shape->references, 0);
		shape->nrefs = 1;
		return NULL;
	}
	err = add_typed(program, shape);
	shape->nrefs = gr_bitmap_count(shape->references, 0,
				       shape->unit_bytes / GR_WORD_BYTES);
	return err ? err : add_names(program, shape);
}
