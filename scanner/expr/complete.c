// SPDX-License-Identifier: Apache-2.0
/* Completion of package variables and their fields, and of types, from the tables
 * of the debug information. Only what lies behind interfaces takes a look at some
 * words of the target. */
#include "expr/place.h"

#include "expr/place_internal.h"
#include "scan/enter.h"

/** The names that are found. */
struct completion {
	struct gr_program *program;
	const char *prefix;
	const char **names;
	size_t count, max;
};

static const struct gr_dwarf_type *type_at(const struct gr_dwarf *dwarf,
					   uint32_t index)
{
	size_t count;
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &count);

	return index < count ? &types[index] : NULL;
}

/* The struct that a field may be taken of: a pointer is followed. */
static const struct gr_dwarf_type *struct_at(const struct gr_dwarf *dwarf,
					     uint32_t index)
{
	const struct gr_dwarf_type *type = type_at(dwarf, index);

	if (type && type->kind == GR_KIND_PTR)
		type = type_at(dwarf, type->elem);
	return type && type->kind == GR_KIND_STRUCT ? type : NULL;
}

static const struct gr_dwarf_field *fields_of(const struct gr_dwarf *dwarf,
					      const struct gr_dwarf_type *type)
{
	size_t count = gr_dwarf_field_count(dwarf);

	if (!type || type->first_field > count ||
	    type->nfields > count - type->first_field)
		return NULL;
	return gr_dwarf_fields(dwarf) + type->first_field;
}

/* The type of the field that begins @text; *@text becomes what is behind it. */
static uint32_t step_field(const struct gr_dwarf *dwarf, uint32_t index,
			   const char **text)
{
	const struct gr_dwarf_type *type = struct_at(dwarf, index);
	const struct gr_dwarf_field *fields = fields_of(dwarf, type);
	size_t bytes = strcspn(*text, ".[");

	for (uint32_t i = 0; fields && i < type->nfields; i++) {
		if (strncmp(fields[i].name, *text, bytes) != 0 ||
		    fields[i].name[bytes])
			continue;
		*text += bytes;
		return fields[i].type;
	}
	return GR_DWARF_NONE;
}

/* The same for the element whose index begins @text. */
static uint32_t step_index(const struct gr_dwarf *dwarf, uint32_t index,
			   const char **text)
{
	const struct gr_dwarf_type *type = type_at(dwarf, index);
	struct gr_literal literal;
	const char *end;
	bool is_read = gr_literal_parse(*text, &end, &literal) ==
			       GR_LITERAL_FINE &&
		       *end == ']';

	gr_literal_deinit(&literal);
	if (type && type->kind == GR_KIND_PTR)
		type = type_at(dwarf, type->elem);
	if (!is_read || !type ||
	    (type->kind != GR_KIND_ARRAY && type->kind != GR_KIND_SLICE &&
	     type->kind != GR_KIND_MAP))
		return GR_DWARF_NONE;
	*text = end + 1;
	return type->elem;
}

/* Walk from a type along @path to the text behind its last dot. */
static uint32_t walk(const struct gr_dwarf *dwarf, uint32_t index,
		     const char *path, const char *last)
{
	// Bounded by the letters of the path.
	while (path < last && index != GR_DWARF_NONE) {
		char border = *path++;

		if (border == '.')
			index = step_field(dwarf, index, &path);
		else if (border == '[')
			index = step_index(dwarf, index, &path);
		else
			return GR_DWARF_NONE;
	}
	return path == last ? index : GR_DWARF_NONE;
}

static struct gr_error *add_field(struct completion *c, const char *field,
				  const char *dot)
{
	const char *name = gr_arena_internf(&c->program->arena, "%.*s.%s",
					    (int)(dot - c->prefix), c->prefix,
					    field);

	if (!name)
		return &gr_enomem;
	c->names[c->count++] = name;
	return NULL;
}

/* Find the longest variable within the first @p bytes of a name, which become
 * its length. */
static uint32_t find_longest(const struct gr_dwarf *dwarf, const char *text,
			     size_t *bytes)
{
	_cleanup_free_ char *name = strndup(text, *bytes);
	uint32_t found = GR_DWARF_NONE;

	// Bounded by the letters of the name.
	while (name && *bytes) {
		name[*bytes] = '\0';
		found = gr_dwarf_find_variable(dwarf, name);
		if (found != GR_DWARF_NONE)
			break;
		for (--*bytes; *bytes && !strchr(".[", name[*bytes]);)
			--*bytes;
	}
	return found;
}

/* The prefix is a variable and a path. */
static struct gr_error *complete_fields(struct completion *c,
					const struct gr_dwarf *dwarf)
{
	const char *dot = strrchr(c->prefix, '.');
	size_t count, bytes = dot ? (size_t)(dot - c->prefix) : 0;
	const struct gr_dwarf_variable *table =
		gr_dwarf_variables(dwarf, &count);
	uint32_t found = find_longest(dwarf, c->prefix, &bytes);

	if (found >= count)
		return NULL;
	const struct gr_dwarf_type *type = struct_at(
		dwarf, walk(dwarf, table[found].type, c->prefix + bytes, dot));
	const struct gr_dwarf_field *fields = fields_of(dwarf, type);
	for (uint32_t i = 0; fields && i < type->nfields; i++) {
		if (c->count == c->max ||
		    strncmp(fields[i].name, dot + 1, strlen(dot + 1)) != 0)
			continue;
		struct gr_error *err = add_field(c, fields[i].name, dot);
		if (err)
			return err;
	}
	return NULL;
}

/* Enter the fields of the struct at a place. */
static struct gr_error *list_at(struct completion *c, struct gr_place *place,
				const char *dot)
{
	const struct gr_types *types = c->program->types;
	size_t bytes = strlen(dot + 1);
	struct gr_error *err =
		gr_place_follow(c->program, place, c->prefix, dot);

	if (err)
		return err;
	const struct gr_type *type = gr_types_get(types, place->type);
	for (uint32_t i = 0; type->kind == GR_KIND_STRUCT && i < type->nfields;
	     i++) {
		const char *name = gr_types_field(types, type, i)->name;

		if (strncmp(name, dot + 1, bytes) != 0)
			continue;
		err = add_field(c, name, dot);
		if (err || c->count == c->max)
			return err;
	}
	return NULL;
}

/* The same through interfaces, whose types some words of memory tell. A key of
 * a map may take long to find, so there is no index on the path. */
static struct gr_error *complete_values(struct completion *c,
					struct gr_stop *stop,
					const struct gr_module *module)
{
	const char *dot = strrchr(c->prefix, '.');
	size_t count, bytes = dot ? (size_t)(dot - c->prefix) : 0;
	const struct gr_dwarf_variable *table =
		gr_dwarf_variables(module->dwarf, &count);
	uint32_t found = find_longest(module->dwarf, c->prefix, &bytes);
	struct gr_place place = { .name = c->prefix };

	if (found >= count || strchr(c->prefix, '['))
		return NULL;
	char *head = strndup(c->prefix, (size_t)(dot - c->prefix));
	if (!head)
		return &gr_enomem;
	place.addr = table[found].addr + module->bias;
	place.type = gr_types_from_dwarf(c->program->types, module,
					 table[found].type);
	struct gr_error *err = gr_place_walk(stop, head, head + bytes, &place);
	free(head);
	if (!err)
		err = list_at(c, &place, dot);
	// It leads nowhere, or not now.
	gr_error_catch(&err, GR_ERROR_ARGUMENT);
	return err;
}

static void complete_variables(struct completion *c,
			       const struct gr_dwarf *dwarf)
{
	size_t len = strlen(c->prefix), n;
	const struct gr_dwarf_variable *table = gr_dwarf_variables(dwarf, &n);

	for (size_t i = 0; i < n && c->count < c->max; i++)
		if (!strncmp(table[i].name, c->prefix, len))
			c->names[c->count++] = table[i].name;
}

static void complete_types(struct completion *c, const struct gr_dwarf *dwarf)
{
	size_t len = strlen(c->prefix), n;
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &n);

	for (size_t i = 0; i < n && c->count < c->max; i++)
		if (!strncmp(types[i].name, c->prefix, len))
			c->names[c->count++] = types[i].name;
}

static struct gr_error *complete_all(struct completion *c, struct gr_stop *stop,
				     bool is_type)
{
	const struct gr_runtime *rt = &c->program->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; i < rt->nmodules && !err; i++) {
		const struct gr_dwarf *dwarf = rt->modules[i].dwarf;

		if (dwarf && is_type) {
			complete_types(c, dwarf);
		} else if (dwarf) {
			complete_variables(c, dwarf);
			err = complete_fields(c, dwarf);
		}
	}
	for (size_t i = 0; i < rt->nmodules && !err && !c->count; i++)
		if (rt->modules[i].dwarf && !is_type)
			err = complete_values(c, stop, &rt->modules[i]);
	return err;
}

struct gr_error *gr_scan_complete(struct gr_scan *scan, const char *prefix,
				  bool is_type, size_t max, const char ***ret,
				  size_t *count)
{
	_cleanup_free_ const char **names = calloc(max + 1, sizeof(*names));
	struct completion c = { .prefix = prefix, .names = names, .max = max };
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;

	if (!names)
		return &gr_enomem;
	// No stage is needed: completion does not wait for one.
	struct gr_error *err = gr_scan_enter_buckets(scan, &guard, &stop);
	c.program = stop->program;
	if (!err)
		err = complete_all(&c, stop, is_type);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		return err;
	*ret = steal_ptr(names);
	*count = c.count;
	return NULL;
}
