// SPDX-License-Identifier: Apache-2.0
/* Paths from one place to another: fields, elements, and pointers. */
#include "expr/place_internal.h"

#include "base/nearest.h"

uint64_t gr_place_pointee(struct gr_program *program, uint64_t addr,
			  gr_type_id id)
{
	struct gr_error *err;
	uint64_t value = 0;

	if (id == GR_TYPE_NONE)
		return 0;
	switch (gr_types_get(program->types, id)->kind) {
	case GR_KIND_INTERFACE:
		addr += GR_WORD_BYTES;
		break;
	case GR_KIND_PTR:
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
	case GR_KIND_FUNC:
	case GR_KIND_SLICE:
	case GR_KIND_STRING:
	case GR_KIND_UNSAFE_POINTER:
		break;
	default:
		return 0;
	}
	err = gr_image_read_u64(program->rt.image, addr, &value);
	gr_error_destroy(err);
	return err ? 0 : value;
}

/* The field of a struct, or NULL. */
static const struct gr_type_field *find_field(const struct gr_program *program,
					      gr_type_id id, const char *name,
					      size_t len)
{
	const struct gr_type *type = gr_types_get(program->types, id);

	if (type->kind != GR_KIND_STRUCT)
		return NULL;
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(program->types, type, i);
		if (!strncmp(field->name, name, len) && !field->name[len])
			return field;
	}
	return NULL;
}

/* Go from an interface to its value. The data word is a pointer to the value,
 * or the value itself if it is pointer-shaped (runtime/iface.go). */
static struct gr_error *follow_interface(struct gr_program *program,
					 const struct gr_type *type,
					 struct gr_place *place)
{
	uint64_t words[2];
	gr_type_id held;
	struct gr_error *err = gr_image_read(program->rt.image, place->addr,
					     words, sizeof(words));

	if (err)
		return err;
	place->type = GR_TYPE_NONE;
	if (!words[0])
		return NULL;
	err = type->has_itab ?
		      gr_types_from_itab(program->types, words[0], &held) :
		      gr_types_from_runtime(program->types, words[0], &held);
	if (err || held == GR_TYPE_NONE)
		return err;
	place->type = held;
	place->addr += GR_WORD_BYTES;
	if (!gr_types_is_direct(program->types, held))
		place->addr = words[1];
	place->value = gr_place_pointee(program, place->addr, held);
	return NULL;
}

struct gr_error *gr_place_follow(struct gr_program *program,
				 struct gr_place *place, const char *name,
				 const char *behind)
{
	struct gr_error *err = NULL;

	if (place->type == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s: its type is not known, so that "
				       "\"%s\" leads nowhere",
				       name, behind);
	// This is a copy because types may be made.
	struct gr_type type = *gr_types_get(program->types, place->type);
	if (type.kind == GR_KIND_INTERFACE) {
		err = follow_interface(program, &type, place);
		if (err)
			return err;
		if (place->type == GR_TYPE_NONE)
			return gr_error_format(
				GR_ERROR_ARGUMENT,
				"%s: cannot follow \"%s\": the interface "
				"is nil or of unknown type",
				name, behind);
		type = *gr_types_get(program->types, place->type);
	}
	if (type.kind != GR_KIND_PTR)
		return NULL;
	if (!place->value)
		return gr_error_format(
			GR_ERROR_ARGUMENT,
			"%s: cannot follow \"%s\": the pointer is nil", name,
			behind);
	place->addr = place->value;
	place->type = type.elem;
	place->value = 0;
	if (place->type == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s: what it points to has no type that "
				       "is known",
				       name);
	return NULL;
}

/* The error for a field that a type does not have: it names those that are
 * similar. */
static struct gr_error *no_field(const struct gr_program *program,
				 gr_type_id id, const char *name,
				 const char *field, size_t len)
{
	const struct gr_type *type = gr_types_get(program->types, id);
	_cleanup_free_ char *wrong = strndup(field, len);
	struct gr_nearest found = { .count = 0 };
	char near[GR_NEAREST_TEXT] = "";

	if (!wrong)
		return &gr_enomem;
	unsigned int max = gr_near_limit(wrong);
	for (uint32_t i = 0; type->kind == GR_KIND_STRUCT && i < type->nfields;
	     i++) {
		const char *other =
			gr_types_field(program->types, type, i)->name;
		unsigned int far = gr_edit_distance(other, wrong, max);

		if (far <= max)
			gr_nearest_enter(&found, other, far);
	}
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "%s: %s has no field \"%s\"%s", name, type->name,
			       wrong, gr_nearest_text(&found, near));
}

/* Take the step of one field; *@next is the text behind its dot. */
static struct gr_error *step_field(struct gr_program *program, const char *name,
				   const char **next, struct gr_place *place)
{
	size_t len = strcspn(*next, ".[");
	struct gr_error *err = gr_place_follow(program, place, name, *next);

	if (err)
		return err;
	const struct gr_type_field *field =
		find_field(program, place->type, *next, len);
	if (!field)
		return no_field(program, place->type, name, *next, len);
	place->addr += field->off_bytes;
	place->type = field->type;
	*next += len;
	return NULL;
}

static struct gr_error *no_index(const char *name, const char *text,
				 enum gr_literal_result result)
{
	switch (result) {
	case GR_LITERAL_NO_MEMORY:
		return &gr_enomem;
	case GR_LITERAL_TOO_LARGE:
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "%s: the index %s has more than 64 bits",
				       name, text);
	case GR_LITERAL_FINE:
	case GR_LITERAL_MALFORMED:
		break;
	}
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "%s: cannot read \"%s\": an index is a number, "
			       "a string, true or false in brackets",
			       name, text);
}

/* Take the step of one index; *@next is the text behind its bracket. */
static struct gr_error *step_index(struct gr_stop *stop, const char *name,
				   const char **next, struct gr_place *place)
{
	struct gr_literal index;
	const char *end;
	enum gr_literal_result result = gr_literal_parse(*next, &end, &index);
	struct gr_error *err = NULL;

	if (result != GR_LITERAL_FINE || *end != ']')
		err = no_index(name, *next, result);
	else
		err = gr_place_index(stop, &index, place, name);
	gr_literal_deinit(&index);
	*next = end + 1;
	return err;
}

struct gr_error *gr_place_walk(struct gr_stop *stop, const char *whole,
			       const char *path, struct gr_place *ret)
{
	struct gr_error *err = NULL;

	ret->value = gr_place_pointee(stop->program, ret->addr, ret->type);
	while (*path && !err) {
		_cleanup_free_ char *name =
			strndup(whole, (size_t)(path - whole));

		if (!name)
			return &gr_enomem;
		if (*path == '.') {
			path++;
			err = step_field(stop->program, name, &path, ret);
		} else if (*path == '[') {
			path++;
			err = step_index(stop, name, &path, ret);
		} else {
			return gr_error_format(GR_ERROR_ARGUMENT,
					       "%s: cannot read \"%s\"", name,
					       path);
		}
		if (!err)
			ret->value = gr_place_pointee(stop->program, ret->addr,
						      ret->type);
	}
	// Without a type, it is only an address in memory.
	if (ret->type == GR_TYPE_NONE)
		ret->is_variable = false;
	return err;
}
