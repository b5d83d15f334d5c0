// SPDX-License-Identifier: Apache-2.0
/* What a person types: addresses, Delve's casts, package variables. */
#include "scan.h"

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

static struct gr_error *resolve_variable(struct gr_scan *scan, const char *name,
					 struct gr_place *ret)
{
	const struct gr_module *m;
	const struct gr_dwarf_variable *v = find_variable(scan, name, &m);

	if (!v)
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "no package variable is called \"%s\"",
				       name);
	ret->addr = v->addr + m->bias;
	ret->type = gr_types_from_dwarf(&scan->rt, m, v->type);
	ret->is_variable = true;
	ret->value = pointed_to(scan, ret->addr, ret->type);
	return NULL;
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

/* `(*T)(0x…)`, as Delve prints it, with or without a star before. */
static struct gr_error *resolve_cast(struct gr_scan *scan, const char *text,
				     struct gr_place *ret)
{
	const char *open = *text == '*' ? text + 1 : text;
	size_t len = strlen(open);
	const char *middle = strstr(open, ")(");

	for (const char *next = middle; next; next = strstr(next + 1, ")("))
		middle = next;
	if (len < 6 || open[len - 1] != ')' || !middle ||
	    !parse_number(middle + 2, open + len - 1 - (middle + 2),
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
		err = resolve_variable(scan, name, ret);
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
