// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/c_types.h"

#include "goruntime/types/types_internal.h"

/* The same definition may be under a name many times. */
#define MANY_DEFINITIONS (GR_DWARF_NONE - 1)

static uint64_t mix(uint64_t sum, uint64_t value)
{
	// Both factors are those of splitmix64.
	sum = (sum ^ value) * UINT64_C(0xbf58476d1ce4e5b9);
	sum = (sum ^ (sum >> 29)) * UINT64_C(0x94d049bb133111eb);
	return sum ^ (sum >> 32);
}

static uint64_t mix_name(uint64_t sum, const char *name)
{
	for (; *name; name++)
		sum = (sum ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return mix(sum, 1);
}

static const struct gr_dwarf_type *type_at(const struct gr_dwarf *dwarf,
					   uint32_t index)
{
	size_t count;
	const struct gr_dwarf_type *rows = gr_dwarf_types(dwarf, &count);

	return index < count ? &rows[index] : NULL;
}

static const char *name_at(const struct gr_dwarf *dwarf, uint32_t index)
{
	const struct gr_dwarf_type *type = type_at(dwarf, index);

	return type ? type->name : "";
}

/* A number for the look of a type: equal for equal ones. */
static struct gr_error *look(struct gr_types *types,
			     const struct gr_c_file *file,
			     const struct gr_dwarf_type *type, uint64_t *ret)
{
	const struct gr_dwarf_field *fields = gr_dwarf_fields(file->dwarf);
	uint64_t sum = mix_name(type->kind, type->name);

	sum = mix(sum, type->size_bytes);
	sum = mix(sum, type->count);
	sum = mix_name(sum, name_at(file->dwarf, type->elem));
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_dwarf_field *f = &fields[type->first_field + i];

		sum = mix_name(mix(sum, f->off_bytes), f->name);
		sum = mix_name(sum, name_at(file->dwarf, f->type));
	}
	*ret = sum;
	return gr_runtime_step(types->rt, 1 + type->nfields);
}

// --------------------------------------------------------------- definitions

/* Is it a struct with a name? All others are called `struct'. */
static bool is_struct(const struct gr_dwarf_type *type)
{
	return type->kind == GR_KIND_STRUCT && strcmp(type->name, "struct");
}

static uint64_t definition_key(const struct gr_c_file *file, const char *name)
{
	return mix_name(mix(0, file->module), name);
}

/* Note the definition of a struct: its index, or that there are several. */
static struct gr_error *note_definition(struct gr_types *types,
					const struct gr_c_file *file,
					uint32_t index)
{
	const struct gr_dwarf_type *type = type_at(file->dwarf, index);
	uint64_t key = definition_key(file, type->name), mine, other;
	struct gr_type_ref *ref =
		gr_type_ref_find(types, GR_REF_C_DEFINITION, key);

	if (!ref)
		return gr_type_ref_add(types, GR_REF_C_DEFINITION, key, index);
	if (ref->id == MANY_DEFINITIONS)
		return NULL;
	struct gr_error *err = look(types, file, type, &mine);
	if (!err)
		err = look(types, file, type_at(file->dwarf, ref->id), &other);
	if (!err && mine != other)
		ref->id = MANY_DEFINITIONS;
	return err;
}

/* The definition of a struct by its name; GR_DWARF_NONE if there is none, or if
 * there are different ones. */
static struct gr_error *find_definition(struct gr_types *types,
					const struct gr_c_file *file,
					const char *name, uint32_t *ret)
{
	struct gr_error *err = NULL;
	size_t count;
	const struct gr_dwarf_type *rows = gr_dwarf_types(file->dwarf, &count);

	*ret = GR_DWARF_NONE;
	if (!gr_type_ref_find(types, GR_REF_C_FILE, file->module)) {
		for (uint32_t i = 0; !err && i < count; i++) {
			if (is_struct(&rows[i]) && rows[i].size_bytes)
				err = note_definition(types, file, i);
			if (!err)
				err = gr_runtime_step(types->rt, 1);
		}
		if (!err)
			err = gr_type_ref_add(types, GR_REF_C_FILE,
					      file->module, 0);
	}
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_C_DEFINITION,
						   definition_key(file, name));
	if (!err && ref && ref->id != MANY_DEFINITIONS &&
	    !strcmp(rows[ref->id].name, name))
		*ret = ref->id;
	return err;
}

// --------------------------------------------------------------------- types

/* Append a type whose parts come later. */
static struct gr_error *append(struct gr_types *types,
			       const struct gr_c_file *file, uint32_t index,
			       const struct gr_dwarf_type *from)
{
	struct gr_type type = {
		.name = from->name,
		.size_bytes = from->size_bytes,
		.kind = from->kind,
		.count = from->count,
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};
	const struct gr_c_source source = { *file, types->types.size, index };

	return gr_type_vector_append(&types->types, type) &&
			       gr_c_source_vector_append(&types->c_sources,
							 source) ?
		       NULL :
		       &gr_enomem;
}

/* A type of Go in the file of a program: cgo makes types of C structs. */
static gr_type_id go_type(struct gr_types *types,
			  const struct gr_dwarf_type *type)
{
	return strstr(type->name, "._Ctype_") ?
		       gr_types_find(types, type->name) :
		       GR_TYPE_NONE;
}

/* Find the type that looks the same, or make it. */
static struct gr_error *find_or_make(struct gr_types *types,
				     const struct gr_c_file *file,
				     uint32_t index, gr_type_id *ret)
{
	const struct gr_dwarf_type *type = type_at(file->dwarf, index);
	uint64_t key;
	struct gr_error *err = look(types, file, type, &key);

	if (err)
		return err;
	*ret = go_type(types, type);
	err = gr_types_take_error(types);
	if (err || *ret != GR_TYPE_NONE)
		return err;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_C_LOOK, key);
	*ret = ref ? ref->id : types->types.size;
	if (ref)
		return NULL;
	err = append(types, file, index, type);
	return err ? err : gr_type_ref_add(types, GR_REF_C_LOOK, key, *ret);
}

struct gr_error *gr_types_from_c(struct gr_types *types,
				 const struct gr_c_file *file, uint32_t index,
				 gr_type_id *ret)
{
	const struct gr_dwarf_type *type = type_at(file->dwarf, index);
	uint64_t key = (uint64_t)file->module << 32 | index;
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_C_DIE, key);
	uint32_t defined = GR_DWARF_NONE;
	struct gr_error *err = NULL;

	*ret = ref ? ref->id : GR_TYPE_NONE;
	if (ref || !type)
		return NULL;
	if (is_struct(type) && !type->size_bytes)
		err = find_definition(types, file, type->name, &defined);
	if (!err)
		err = find_or_make(types, file,
				   defined == GR_DWARF_NONE ? index : defined,
				   ret);
	return err ? err : gr_type_ref_add(types, GR_REF_C_DIE, key, *ret);
}

struct gr_error *gr_types_find_c(struct gr_types *types,
				 const struct gr_c_file *file, const char *name,
				 gr_type_id *ret)
{
	uint32_t index;
	struct gr_error *err = find_definition(types, file, name, &index);

	*ret = GR_TYPE_NONE;
	return err ? err : gr_types_from_c(types, file, index, ret);
}

struct gr_error *gr_types_named_c(struct gr_types *types, const char *name,
				  gr_type_id *ret)
{
	uint64_t key = mix_name(0, name);
	struct gr_type_ref *ref = gr_type_ref_find(types, GR_REF_C_NAME, key);
	struct gr_type type = {
		.name = gr_arena_intern(types->rt->arena, name, strlen(name)),
		.kind = GR_KIND_STRUCT,
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};

	*ret = ref ? ref->id : types->types.size;
	if (ref)
		return NULL;
	if (!type.name || !gr_type_vector_append(&types->types, type))
		return &gr_enomem;
	return gr_type_ref_add(types, GR_REF_C_NAME, key, *ret);
}

// --------------------------------------------------------------------- parts

/* The source of a type of C that has no parts yet, or NULL. */
static struct gr_c_source *unfilled(struct gr_types *types, gr_type_id id)
{
	struct gr_c_source_vector *list = &types->c_sources;
	size_t i = gr_count_before(list->size, k, list->data[k].id < id);

	return i < list->size && list->data[i].id == id &&
			       list->data[i].index != GR_DWARF_NONE ?
		       &list->data[i] :
		       NULL;
}

static uint64_t end_of(const struct gr_c_file *file,
		       const struct gr_dwarf_field *field)
{
	const struct gr_dwarf_type *type = type_at(file->dwarf, field->type);
	uint64_t end;

	return __builtin_add_overflow(field->off_bytes,
				      type ? type->size_bytes : 0, &end) ?
		       UINT64_MAX :
		       end;
}

/* Where the first field behind each one begins: of [1, n]. For free(). */
static uint64_t *starts_behind(const struct gr_dwarf_field *fields, uint32_t n)
{
	uint64_t *starts = malloc((n + 1) * sizeof(*starts));

	if (!starts)
		return NULL;
	starts[n] = UINT64_MAX;
	for (uint32_t i = n; i > 0; i--)
		starts[i - 1] = fields[i - 1].off_bytes < starts[i] ?
					fields[i - 1].off_bytes :
					starts[i];
	return starts;
}

/* Add the fields of a struct that lie over no other. */
static struct gr_error *fill_fields(struct gr_types *types,
				    const struct gr_c_source *from,
				    const struct gr_dwarf_type *type)
{
	const struct gr_dwarf_field *fields =
		gr_dwarf_fields(from->file.dwarf) + type->first_field;
	uint32_t first = types->fields.size;
	uint64_t *starts = starts_behind(fields, type->nfields);
	struct gr_error *err = starts ? NULL : &gr_enomem;
	uint64_t before = 0;

	for (uint32_t i = 0; !err && i < type->nfields; i++) {
		uint64_t end = end_of(&from->file, &fields[i]);
		struct gr_type_field field = { fields[i].name,
					       fields[i].off_bytes,
					       GR_TYPE_NONE };
		bool is_over = field.off_bytes < before || end > starts[i + 1];

		before = end > before ? end : before;
		if (!is_over)
			err = gr_types_from_c(types, &from->file,
					      fields[i].type, &field.type);
		if (!err && field.type != GR_TYPE_NONE &&
		    !gr_type_add_field(types, field, false))
			err = &gr_enomem;
		if (!err)
			err = gr_runtime_step(types->rt, 1);
	}
	free(starts);
	types->types.data[from->id].first_field = first;
	types->types.data[from->id].nfields = types->fields.size - first;
	return err;
}

/* Fill one type. Its parts by value are noted in @p todo. */
static struct gr_error *fill(struct gr_types *types, gr_type_id id,
			     struct gr_index_vector *todo)
{
	struct gr_c_source *source = unfilled(types, id);
	struct gr_error *err = NULL;
	gr_type_id elem;

	if (!source)
		return NULL;
	// The list may grow.
	const struct gr_c_source from = *source;
	const struct gr_dwarf_type *type = type_at(from.file.dwarf, from.index);
	source->index = GR_DWARF_NONE;
	if (type->kind == GR_KIND_PTR || type->kind == GR_KIND_ARRAY) {
		err = gr_types_from_c(types, &from.file, type->elem, &elem);
		if (err)
			return err;
		types->types.data[id].elem = elem;
		if (type->kind == GR_KIND_ARRAY && elem != GR_TYPE_NONE &&
		    !gr_index_vector_append(todo, elem))
			return &gr_enomem;
	}
	if (type->kind != GR_KIND_STRUCT)
		return NULL;
	err = fill_fields(types, &from, type);
	const struct gr_type *made = &types->types.data[id];
	for (uint32_t i = 0; !err && i < made->nfields; i++)
		if (!gr_index_vector_append(
			    todo,
			    types->fields.data[made->first_field + i].type))
			err = &gr_enomem;
	return err;
}

struct gr_error *gr_types_fill_c(struct gr_types *types, gr_type_id id)
{
	struct gr_index_vector todo = { 0 };
	struct gr_error *err = fill(types, id, &todo);

	// Bounded by the fields of all types: each is filled once.
	while (!err && todo.size) {
		err = fill(types, todo.data[--todo.size], &todo);
		if (!err)
			err = gr_runtime_step(types->rt, 1);
	}
	gr_index_vector_deinit(&todo);
	return err;
}

const struct gr_dwarf_variable *gr_c_file_variable(const struct gr_c_file *file,
						   uint64_t addr)
{
	size_t count;
	const struct gr_dwarf_variable *rows =
		gr_dwarf_variables(file->dwarf, &count);
	size_t n = gr_count_before(count, i, rows[i].addr <= addr);
	const struct gr_dwarf_type *type =
		n ? type_at(file->dwarf, rows[n - 1].type) : NULL;

	return type && addr - rows[n - 1].addr < type->size_bytes ?
		       &rows[n - 1] :
		       NULL;
}
