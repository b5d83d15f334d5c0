// SPDX-License-Identifier: Apache-2.0
/* What a person types: addresses, Delve's casts, package variables. */
#include "scan.h"

#include "goruntime/symbols.h"

#include <ctype.h>
#include <errno.h>

/* The module and index of a package variable, or NULL. */
static const struct gr_dwarf_variable *
find_variable(struct gr_scan *scan, const char *name,
	      const struct gr_module **ret)
{
	for (size_t i = 0; i < scan->rt.nmodules; i++) {
		const struct gr_module *m = &scan->rt.modules[i];
		size_t count;
		if (!m->dwarf)
			continue;
		uint32_t index = gr_dwarf_find_variable(m->dwarf, name);
		const struct gr_dwarf_variable *table =
			gr_dwarf_variables(m->dwarf, &count);
		if (index >= count)
			continue;
		*ret = m;
		return &table[index];
	}
	return NULL;
}

/* What a variable's first words point to: for questions about its object. */
static uint64_t pointed_to(struct gr_scan *scan, uint64_t addr, gr_type_id id)
{
	struct gr_error *err;
	uint64_t value = 0;

	if (id == GR_TYPE_NONE)
		return 0;
	switch (gr_types_get(scan->rt.types, id)->kind) {
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
	err = gr_image_read_u64(scan->image, addr, &value);
	gr_error_destroy(err);
	return err ? 0 : value;
}

static struct gr_error *no_variable(const char *name)
{
	return gr_error_format(GR_ERROR_NOT_FOUND,
			       "no package variable is called \"%s\"", name);
}

/* Without debug information: what the symbol table calls so. Its type is not
 * known; that its first word is a pointer is likely where it leads. */
static struct gr_error *resolve_symbol(struct gr_scan *scan, const char *name,
				       struct gr_place *ret)
{
	const struct gr_symbol *found = NULL;
	const struct gr_span *span;
	struct gr_error *err;
	uint64_t value;

	for (size_t i = 0; i < scan->rt.nsymbols && !found; i++)
		if (!strcmp(scan->rt.symbols[i].name, name))
			found = &scan->rt.symbols[i];
	if (!found)
		return no_variable(name);
	ret->addr = found->addr;
	if (found->bytes < GR_WORD_BYTES)
		return NULL;
	err = gr_image_read_u64(scan->image, found->addr, &value);
	if (!err &&
	    gr_heap_object_at(scan->rt.heap, value, &span) != GR_OBJ_NONE)
		ret->value = value;
	gr_error_destroy(err);
	return NULL;
}

static struct gr_error *resolve_variable(struct gr_scan *scan, const char *name,
					 struct gr_place *ret)
{
	const struct gr_module *m;
	const struct gr_dwarf_variable *v = find_variable(scan, name, &m);

	if (!v)
		return resolve_symbol(scan, name, ret);
	ret->addr = v->addr + m->bias;
	ret->type = gr_types_from_dwarf(&scan->rt, m, v->type);
	ret->is_variable = true;
	ret->value = pointed_to(scan, ret->addr, ret->type);
	return NULL;
}

/* The field of a struct, or NULL. */
static const struct gr_type_field *find_field(const struct gr_scan *scan,
					      gr_type_id id, const char *name,
					      size_t len)
{
	const struct gr_type *type = gr_types_get(scan->rt.types, id);

	if (type->kind != GR_KIND_STRUCT)
		return NULL;
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(scan->rt.types, type, i);
		if (!strncmp(field->name, name, len) && !field->name[len])
			return field;
	}
	return NULL;
}

/* From a variable along `Left.Right`, through pointers, as Go writes it. */
static struct gr_error *follow_fields(struct gr_scan *scan, const char *path,
				      struct gr_place *ret)
{
	while (*path && ret->type != GR_TYPE_NONE) {
		const struct gr_type *type =
			gr_types_get(scan->rt.types, ret->type);
		size_t len = strcspn(path, ".");

		if (type->kind == GR_KIND_PTR) {
			if (!ret->value)
				return gr_error_format(
					GR_ERROR_ARGUMENT,
					"%s: there is a nil pointer before "
					"\"%s\"",
					ret->name, path);
			ret->addr = ret->value;
			ret->type = type->elem;
			ret->value = 0;
			if (ret->type == GR_TYPE_NONE)
				break;
		}
		const struct gr_type_field *field =
			find_field(scan, ret->type, path, len);
		if (!field)
			return gr_error_format(
				GR_ERROR_ARGUMENT,
				"%s: %s has no field \"%.*s\"", ret->name,
				gr_types_get(scan->rt.types, ret->type)->name,
				(int)len, path);
		ret->addr += field->off_bytes;
		ret->type = field->type;
		ret->value = pointed_to(scan, ret->addr, ret->type);
		path += len + (path[len] == '.');
	}
	return NULL;
}

/* A variable, or what lies behind the longest part that names one. */
static struct gr_error *resolve_path(struct gr_scan *scan, char *name,
				     struct gr_place *ret)
{
	struct gr_error *err = resolve_variable(scan, name, ret);
	char *end = name + strlen(name);

	while (err && err->code == GR_ERROR_NOT_FOUND) {
		do
			end--;
		while (end > name && *end != '.');
		if (end <= name || !strchr(name, '.') || strchr(end, '/'))
			return err;
		*end = '\0';
		struct gr_error *shorter = resolve_variable(scan, name, ret);
		if (!shorter && ret->type != GR_TYPE_NONE) {
			gr_error_destroy(err);
			return follow_fields(scan, end + 1, ret);
		}
		*end = '.';
		gr_error_destroy(shorter);
	}
	return err;
}

/* A whole text that is one number, with C's prefixes; false if it is not. */
static bool parse_number(const char *text, size_t len, uint64_t *ret)
{
	char buf[32], *end;

	if (!len || len >= sizeof(buf) || !isdigit((unsigned char)*text))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	errno = 0;
	*ret = strtoull(buf, &end, 0);
	return !*end && !errno;
}

/* One word that begins with a digit: whatever it is, it was to be a number. */
static bool is_number_alone(const char *text)
{
	return isdigit((unsigned char)*text) &&
	       !text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")];
}

/* `(*T)(0x…)`, as Delve prints it, with or without a star before. */
static struct gr_error *resolve_cast(struct gr_scan *scan, const char *text,
				     struct gr_place *ret)
{
	const char *open = *text == '*' ? text + 1 : text;
	size_t len = strlen(open);
	const char *number = strrchr(open, '(');
	const char *middle = number;

	// Blanks between the two are Go's, too.
	while (middle > open && isspace((unsigned char)middle[-1]))
		middle--;
	middle--;
	if (len < 6 || open[len - 1] != ')' || middle <= open + 2 ||
	    *middle != ')' ||
	    !parse_number(number + 1, open + len - 1 - (number + 1),
			  &ret->addr))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read \"%s\"; a cast is written "
				       "(*main.T)(0xc000782240)",
				       text);
	// Between "(*" and ")": quotes of import paths are Delve's.
	char *name = gr_arena_alloc(&scan->arena, middle - open);
	size_t n = 0;
	if (!name)
		return &gr_enomem;
	for (const char *p = open + 2; p < middle; p++)
		if (*p != '"')
			name[n++] = *p;
	name[n] = '\0';
	ret->type = gr_types_find(&scan->rt, name);
	if (ret->type == GR_TYPE_NONE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "no type is called \"%s\"", name);
	return NULL;
}

struct gr_error *gr_scan_resolve(struct gr_scan *scan, const char *text,
				 struct gr_place *ret)
{
	struct gr_sigbus_guard guard;
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	memset(ret, 0, sizeof(*ret));
	ret->type = GR_TYPE_NONE;
	ret->name = gr_arena_intern(&scan->arena, text, len);
	if (!ret->name)
		return &gr_enomem;
	text = ret->name;
	if (!len)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "an address or expression is missing");
	if (parse_number(text, len, &ret->addr))
		return NULL;
	if (!strncmp(text, "(*", 2) || !strncmp(text, "*(*", 3))
		return resolve_cast(scan, text, ret);
	if (is_number_alone(text))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read \"%s\": an address is "
				       "written 0xc000782240",
				       text);
	if (*text == '"' && !strstr(text, "\"."))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "cannot read %s: a quoted package is "
				       "followed by a variable, as "
				       "\"path/to/pkg\".Var",
				       text);
	// `&main.cache` and `"path/to/pkg".Var` are names of variables, too.
	char *name = gr_arena_alloc(&scan->arena, len + 1);
	size_t n = 0;
	if (!name)
		return &gr_enomem;
	for (size_t i = *text == '&'; i < len; i++)
		if (text[i] != '"' && text[i] != '\'')
			name[n++] = text[i];
	name[n] = '\0';
	struct gr_error *err = gr_scan_enter(scan, &guard);
	if (!err)
		err = resolve_path(scan, name, ret);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err && *text == '&')
		ret->value = 0;
	return err;
}

struct gr_error *gr_scan_complete(struct gr_scan *scan, const char *prefix,
				  size_t max, const char ***ret, size_t *count)
{
	size_t len = strlen(prefix);
	const char **names = calloc(max + 1, sizeof(*names));

	if (!names)
		return &gr_enomem;
	*count = 0;
	for (size_t i = 0; i < scan->rt.nmodules; i++) {
		size_t n;
		if (!scan->rt.modules[i].dwarf)
			continue;
		const struct gr_dwarf_variable *table =
			gr_dwarf_variables(scan->rt.modules[i].dwarf, &n);
		for (size_t j = 0; j < n && *count < max; j++)
			if (!strncmp(table[j].name, prefix, len))
				names[(*count)++] = table[j].name;
	}
	*ret = names;
	return NULL;
}
