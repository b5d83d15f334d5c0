// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/layout.h"
#include "goruntime/layout/layout_internal.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

const struct gr_layout_row gr_layout_rows[] = {
#define STRUCT_ROW(id_, need_, names_) { ROW_STRUCT, need_, names_, #id_ },
#define FIELD_ROW(id_, need_, names_) { ROW_FIELD, need_, names_, #id_ },
#define END_ROW(id_) { ROW_END, OPTIONAL, "", #id_ },
	GR_LAYOUT_TABLE(STRUCT_ROW, FIELD_ROW, END_ROW)
};
const size_t gr_layout_nrows = GR_ARRAY_SIZE(gr_layout_rows);

const struct gr_layout_named_row gr_layout_variables[] = {
#define VARIABLE_ROW(id_, need_, names_) \
	{ .names = names_,               \
	  .id = #id_,                    \
	  .need = need_,                 \
	  .off = offsetof(struct gr_layout, vars.id_) },
	GR_LAYOUT_VARIABLES(VARIABLE_ROW)
};
const size_t gr_layout_nvariables = GR_ARRAY_SIZE(gr_layout_variables);

const struct gr_layout_named_row gr_layout_constants[] = {
#define CONSTANT_ROW(id_, fallback_, names_)              \
	{ .names = names_,                                \
	  .id = #id_,                                     \
	  .off = offsetof(struct gr_layout, consts.id_),  \
	  .has_off = offsetof(struct gr_layout, has.id_), \
	  .fallback = fallback_ },
	GR_LAYOUT_CONSTANTS(CONSTANT_ROW)
};
const size_t gr_layout_nconstants = GR_ARRAY_SIZE(gr_layout_constants);

bool gr_layout_next_name(const char **names, char *buf, size_t bytes)
{
	if (!**names)
		return false;
	size_t len = strcspn(*names, "|");
	snprintf(buf, bytes, "%.*s", (int)len, *names);
	*names += len + ((*names)[len] == '|');
	return true;
}

static uint32_t find_type(const struct gr_dwarf *dwarf, const char *names)
{
	char name[128];

	while (gr_layout_next_name(&names, name, sizeof(name))) {
		uint32_t type = gr_dwarf_find_type(dwarf, name);
		if (type != GR_DWARF_NONE)
			return type;
	}
	return GR_DWARF_NONE;
}

/* The member `name` (len bytes) of a struct type, or NULL. */
static const struct gr_dwarf_field *find_member(const struct gr_dwarf *dwarf,
						uint32_t type, const char *name,
						size_t len)
{
	size_t ntypes;
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &ntypes);
	const struct gr_dwarf_field *fields = gr_dwarf_fields(dwarf);

	if (type >= ntypes)
		return NULL;
	for (uint32_t i = 0; i < types[type].nfields; i++) {
		const struct gr_dwarf_field *field =
			&fields[types[type].first_field + i];
		if (!strncmp(field->name, name, len) && !field->name[len])
			return field;
	}
	return NULL;
}

/* Follow a dotted path from a struct type. */
static bool find_path(const struct gr_dwarf *dwarf, uint32_t type,
		      const char *path, struct gr_field *ret)
{
	size_t ntypes;
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &ntypes);
	uint64_t off = 0;

	for (;;) {
		size_t len = strcspn(path, ".");
		const struct gr_dwarf_field *field =
			find_member(dwarf, type, path, len);
		if (!field || field->type >= ntypes)
			return false;
		off += field->off_bytes;
		type = field->type;
		if (!path[len])
			break;
		path += len + 1;
	}
	if (off > UINT32_MAX || !types[type].size_bytes ||
	    types[type].size_bytes > UINT32_MAX)
		return false;
	ret->off = off;
	ret->bytes = types[type].size_bytes;
	return true;
}

static bool find_field(const struct gr_dwarf *dwarf, uint32_t type,
		       const char *paths, struct gr_field *ret)
{
	char path[128];

	while (gr_layout_next_name(&paths, path, sizeof(path)))
		if (find_path(dwarf, type, path, ret))
			return true;
	return false;
}

/* The part of a list of names before the first '|', for messages. */
static int first_name(const char *names)
{
	return strcspn(names, "|");
}

/* The state of a walk over the table, in order. */
struct cursor {
	uint8_t *answer;
	const struct gr_layout_row *owner;
	uint32_t type;
};

static struct gr_error *resolve_row(const struct gr_dwarf *dwarf,
				    const struct gr_layout_row *row,
				    struct cursor *c)
{
	size_t ntypes;
	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &ntypes);

	if (row->kind == ROW_END)
		return NULL;
	if (row->kind == ROW_STRUCT) {
		c->owner = row;
		c->type = find_type(dwarf, row->names);
		uint64_t size = c->type == GR_DWARF_NONE ?
					0 :
					types[c->type].size_bytes;
		memcpy(c->answer, &size, sizeof(size));
		c->answer += sizeof(size);
		if (size || row->need == OPTIONAL)
			return NULL;
		return gr_error_format(GR_ERROR_LAYOUT,
				       "the target's debug information has no "
				       "type %.*s",
				       first_name(row->names), row->names);
	}
	struct gr_field field = { 0, 0 };
	bool found = c->type != GR_DWARF_NONE &&
		     find_field(dwarf, c->type, row->names, &field);
	memcpy(c->answer, &field, sizeof(field));
	c->answer += sizeof(field);
	if (found || row->need == OPTIONAL || c->type == GR_DWARF_NONE)
		return NULL;
	return gr_error_format(GR_ERROR_LAYOUT, "%.*s has no field %.*s",
			       first_name(c->owner->names), c->owner->names,
			       first_name(row->names), row->names);
}

static struct gr_error *resolve_variables(const struct gr_dwarf *dwarf,
					  uint64_t bias, struct gr_layout *ret)
{
	size_t count;
	const struct gr_dwarf_variable *table =
		gr_dwarf_variables(dwarf, &count);

	for (size_t i = 0; i < gr_layout_nvariables; i++) {
		const char *names = gr_layout_variables[i].names;
		uint64_t addr = 0;
		char name[128];

		while (!addr &&
		       gr_layout_next_name(&names, name, sizeof(name))) {
			uint32_t found = gr_dwarf_find_variable(dwarf, name);
			if (found < count)
				addr = table[found].addr + bias;
		}
		if (!addr && gr_layout_variables[i].need == REQUIRED)
			return gr_error_format(
				GR_ERROR_LAYOUT,
				"the target's debug information has no "
				"variable %.*s",
				first_name(gr_layout_variables[i].names),
				gr_layout_variables[i].names);
		memcpy((uint8_t *)ret + gr_layout_variables[i].off, &addr,
		       sizeof(addr));
	}
	return NULL;
}

static void resolve_constants(const struct gr_dwarf *dwarf,
			      struct gr_layout *ret)
{
	for (size_t i = 0; i < gr_layout_nconstants; i++) {
		const char *names = gr_layout_constants[i].names;
		int64_t value = gr_layout_constants[i].fallback;
		bool has = false;
		char name[128];

		while (!has && gr_layout_next_name(&names, name, sizeof(name)))
			has = gr_dwarf_find_constant(dwarf, name, &value);
		if (!has)
			value = gr_layout_constants[i].fallback;
		memcpy((uint8_t *)ret + gr_layout_constants[i].off, &value,
		       sizeof(value));
		memcpy((uint8_t *)ret + gr_layout_constants[i].has_off, &has,
		       sizeof(has));
	}
}

struct gr_error *gr_layout_resolve(const struct gr_dwarf *dwarf, uint64_t bias,
				   struct gr_layout *ret)
{
	struct gr_error *err;
	struct cursor cursor = { (uint8_t *)ret, NULL, GR_DWARF_NONE };

	memset(ret, 0, sizeof(*ret));
	if (gr_dwarf_find_type(dwarf, "runtime.mheap") == GR_DWARF_NONE &&
	    gr_dwarf_find_type(dwarf, "runtime.g") == GR_DWARF_NONE)
		return gr_error_format(
			GR_ERROR_NOT_GO,
			"not a Go program: its debug information has no type "
			"runtime.mheap");
	for (size_t i = 0; i < gr_layout_nrows; i++) {
		err = resolve_row(dwarf, &gr_layout_rows[i], &cursor);
		if (err)
			return err;
	}
	err = gr_layout_check(ret);
	if (err)
		return err;
	resolve_constants(dwarf, ret);
	return resolve_variables(dwarf, bias, ret);
}
