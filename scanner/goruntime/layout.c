// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

enum need { OPTIONAL, REQUIRED };
enum row_kind { ROW_STRUCT, ROW_FIELD, ROW_END };

/* One row of GR_LAYOUT_TABLE. The answers lie in struct gr_layout in the same
 * order: a uint64_t for a struct, a gr_field for a field, nothing between. */
struct row {
	enum row_kind kind;
	enum need need;
	const char *names; /* alternatives, separated by '|' */
	const char *id;
};

static const struct row rows[] = {
#define STRUCT_ROW(id_, need_, names_) { ROW_STRUCT, need_, names_, #id_ },
#define FIELD_ROW(id_, need_, names_) { ROW_FIELD, need_, names_, #id_ },
#define END_ROW(id_) { ROW_END, OPTIONAL, "", #id_ },
	GR_LAYOUT_TABLE(STRUCT_ROW, FIELD_ROW, END_ROW)
};

struct named_row {
	const char *names;
	enum need need;
	size_t off;
	size_t has_off;
	int64_t fallback;
};

static const struct named_row variables[] = {
#define VARIABLE_ROW(id, need_, names_)          \
	{ .names = names_,                       \
	  .need = need_,                         \
	  .off = offsetof(struct gr_layout, vars.id) },
	GR_LAYOUT_VARIABLES(VARIABLE_ROW)
};

static const struct named_row constants[] = {
#define CONSTANT_ROW(id, fallback_, names_)             \
	{ .names = names_,                              \
	  .off = offsetof(struct gr_layout, consts.id), \
	  .has_off = offsetof(struct gr_layout, has.id), \
	  .fallback = fallback_ },
	GR_LAYOUT_CONSTANTS(CONSTANT_ROW)
};

/* Copy the alternative at *names to buf and step over it; false at the end. */
static bool next_name(const char **names, char *buf, size_t bytes)
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

	while (next_name(&names, name, sizeof(name))) {
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
		if (strlen(field->name) == len &&
		    !memcmp(field->name, name, len))
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

	while (next_name(&paths, path, sizeof(path)))
		if (find_path(dwarf, type, path, ret))
			return true;
	return false;
}

/* The part of a list of names before the first '|', for messages. */
static int first_name(const char *names)
{
	return strcspn(names, "|");
}

/* State while the table is gone through in order. */
struct cursor {
	uint8_t *answer;
	const struct row *owner;
	uint32_t type;
};

static struct gr_error *resolve_row(const struct gr_dwarf *dwarf,
				    const struct row *row, struct cursor *c)
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

	for (size_t i = 0; i < GR_ARRAY_SIZE(variables); i++) {
		const char *names = variables[i].names;
		uint64_t addr = 0;
		char name[128];

		while (!addr && next_name(&names, name, sizeof(name))) {
			uint32_t found = gr_dwarf_find_variable(dwarf, name);
			if (found < count)
				addr = table[found].addr + bias;
		}
		if (!addr && variables[i].need == REQUIRED)
			return gr_error_format(
				GR_ERROR_LAYOUT,
				"the target's debug information has no "
				"variable %.*s",
				first_name(variables[i].names),
				variables[i].names);
		memcpy((uint8_t *)ret + variables[i].off, &addr, sizeof(addr));
	}
	return NULL;
}

static void resolve_constants(const struct gr_dwarf *dwarf,
			      struct gr_layout *ret)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(constants); i++) {
		const char *names = constants[i].names;
		int64_t value = constants[i].fallback;
		bool has = false;
		char name[128];

		while (!has && next_name(&names, name, sizeof(name)))
			has = gr_dwarf_find_constant(dwarf, name, &value);
		if (!has)
			value = constants[i].fallback;
		memcpy((uint8_t *)ret + constants[i].off, &value,
		       sizeof(value));
		memcpy((uint8_t *)ret + constants[i].has_off, &has,
		       sizeof(has));
	}
}

/* Widths that readers load without a check must be loadable. */
static struct gr_error *check_widths(const struct gr_layout *layout)
{
	const uint8_t *answer = (const uint8_t *)layout;
	uint64_t size = 0;

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		if (rows[i].kind == ROW_STRUCT) {
			memcpy(&size, answer, sizeof(size));
			answer += sizeof(size);
		} else if (rows[i].kind == ROW_FIELD) {
			struct gr_field field;
			memcpy(&field, answer, sizeof(field));
			answer += sizeof(field);
			if ((uint64_t)field.off + field.bytes > size)
				return gr_error_format(
					GR_ERROR_LAYOUT,
					"field %.*s lies outside its struct",
					first_name(rows[i].names),
					rows[i].names);
		}
	}
	return NULL;
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
	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		err = resolve_row(dwarf, &rows[i], &cursor);
		if (err)
			return err;
	}
	err = check_widths(ret);
	if (err)
		return err;
	resolve_constants(dwarf, ret);
	return resolve_variables(dwarf, bias, ret);
}

static void print_rows(const struct gr_layout *layout, FILE *out)
{
	const uint8_t *answer = (const uint8_t *)layout;
	const struct row *owner = NULL;
	uint64_t size;
	struct gr_field field;

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		switch (rows[i].kind) {
		case ROW_STRUCT:
			owner = &rows[i];
			memcpy(&size, answer, sizeof(size));
			answer += sizeof(size);
			if (size)
				fprintf(out, "%s %llu\n", owner->id,
					(unsigned long long)size);
			else
				fprintf(out, "%s -\n", owner->id);
			break;
		case ROW_FIELD:
			memcpy(&field, answer, sizeof(field));
			answer += sizeof(field);
			if (field.bytes)
				fprintf(out, "%s.%s %u %u\n", owner->id,
					rows[i].id, field.off, field.bytes);
			else
				fprintf(out, "%s.%s -\n", owner->id,
					rows[i].id);
			break;
		case ROW_END:
			break;
		}
	}
}

char *gr_layout_text(const struct gr_layout *layout)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	print_rows(layout, out);
#define PRINT_CONSTANT(id, fallback, names)                         \
	if (layout->has.id)                                         \
		fprintf(out, "const %s %lld\n", #id,                \
			(long long)layout->consts.id);              \
	else                                                        \
		fprintf(out, "const %s -\n", #id);
	GR_LAYOUT_CONSTANTS(PRINT_CONSTANT)
#define PRINT_VARIABLE(id, need, names) \
	fprintf(out, "var %s %s\n", #id, layout->vars.id ? "yes" : "-");
	GR_LAYOUT_VARIABLES(PRINT_VARIABLE)
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
