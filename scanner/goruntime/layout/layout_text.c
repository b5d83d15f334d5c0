// SPDX-License-Identifier: Apache-2.0
/* This file writes the layout table as text, parses such a text, and compares
 * the table with other sources. */
#include "goruntime/layout/layout.h"
#include "goruntime/layout/layout_internal.h"

#include "goruntime/layout/known_layouts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEY_BYTES = 128, MAX_LINE_BYTES = 256 };

/* The place of a row's answer, moved from row to row. */
struct cursor {
	const uint8_t *answer;
	const struct gr_layout_row *owner;
	uint64_t size;
	struct gr_field field;
};

/* Load the answer of @p row and step over it. */
static void load_row(struct cursor *c, const struct gr_layout_row *row)
{
	if (row->kind == ROW_STRUCT) {
		c->owner = row;
		memcpy(&c->size, c->answer, sizeof(c->size));
		c->answer += sizeof(c->size);
	} else if (row->kind == ROW_FIELD) {
		memcpy(&c->field, c->answer, sizeof(c->field));
		c->answer += sizeof(c->field);
	}
}

static void print_rows(const struct gr_layout *layout, FILE *out)
{
	struct cursor c = { .answer = (const uint8_t *)layout };

	for (size_t i = 0; i < gr_layout_nrows; i++) {
		const struct gr_layout_row *row = &gr_layout_rows[i];

		load_row(&c, row);
		if (row->kind == ROW_STRUCT && c.size)
			fprintf(out, "%s %" PRIu64 "\n", row->id, c.size);
		else if (row->kind == ROW_STRUCT)
			fprintf(out, "%s -\n", row->id);
		else if (row->kind == ROW_FIELD && c.field.bytes)
			fprintf(out, "%s.%s %u %u\n", c.owner->id, row->id,
				c.field.off, c.field.bytes);
		else if (row->kind == ROW_FIELD)
			fprintf(out, "%s.%s -\n", c.owner->id, row->id);
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
#define PRINT_CONSTANT(id, fallback, names)            \
	if (layout->has.id)                            \
		fprintf(out, "const %s %lld\n", #id,   \
			(long long)layout->consts.id); \
	else                                           \
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

void gr_layout_init(struct gr_layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	for (size_t i = 0; i < gr_layout_nconstants; i++)
		memcpy((uint8_t *)layout + gr_layout_constants[i].off,
		       &gr_layout_constants[i].fallback,
		       sizeof(gr_layout_constants[i].fallback));
}

/* False: @p value is no answer. A constant that the table lacks is left out. */
static bool set_constant(struct gr_layout *layout, const char *id,
			 const char *value)
{
	static const bool has = true;
	int64_t number;

	for (size_t i = 0; i < gr_layout_nconstants; i++) {
		if (strcmp(gr_layout_constants[i].id, id))
			continue;
		if (!strcmp(value, "-"))
			return true;
		if (sscanf(value, "%" SCNd64, &number) != 1)
			return false;
		memcpy((uint8_t *)layout + gr_layout_constants[i].off, &number,
		       sizeof(number));
		memcpy((uint8_t *)layout + gr_layout_constants[i].has_off, &has,
		       sizeof(has));
		return true;
	}
	return true;
}

static bool set_row(uint8_t *answer, enum gr_layout_row_kind kind,
		    const char *value)
{
	struct gr_field field = { 0, 0 };
	uint64_t size = 0;
	bool is_absent = !strcmp(value, "-");

	if (kind == ROW_STRUCT) {
		if (!is_absent && (sscanf(value, "%" SCNu64, &size) != 1 ||
				   size > UINT32_MAX))
			return false;
		memcpy(answer, &size, sizeof(size));
		return true;
	}
	if (!is_absent && sscanf(value, "%" SCNu32 " %" SCNu32, &field.off,
				 &field.bytes) != 2)
		return false;
	memcpy(answer, &field, sizeof(field));
	return true;
}

/* Is `key` the key that gr_layout_text() writes for the row? */
static bool is_key(const struct cursor *c, const struct gr_layout_row *row,
		   const char *key)
{
	size_t len = strlen(c->owner->id);

	if (row->kind == ROW_STRUCT)
		return !strcmp(row->id, key);
	return row->kind == ROW_FIELD && !strncmp(key, c->owner->id, len) &&
	       key[len] == '.' && !strcmp(key + len + 1, row->id);
}

/* Set the row of that key, as gr_layout_text() writes it. False: @p value is no
 * answer. A row that the table lacks is left out: a saved file may be of a goref
 * that reads more of the runtime, and a known layout of one that did. */
static bool set_answer(struct gr_layout *layout, const char *key,
		       const char *value)
{
	struct cursor c = { .answer = (const uint8_t *)layout };

	if (!strncmp(key, "const ", 6))
		return set_constant(layout, key + 6, value);
	for (size_t i = 0; i < gr_layout_nrows; i++) {
		size_t off = c.answer - (const uint8_t *)layout;

		load_row(&c, &gr_layout_rows[i]);
		if (is_key(&c, &gr_layout_rows[i], key))
			return set_row((uint8_t *)layout + off,
				       gr_layout_rows[i].kind, value);
	}
	return true;
}

/* Split "key value". The key is one word, or two if the first is "const". */
static bool split_line(const char *line, size_t len, char *key, char *value)
{
	size_t at = !strncmp(line, "const ", 6) ? 6 : 0;

	while (at < len && line[at] != ' ')
		at++;
	if (at >= len || at >= MAX_KEY_BYTES || len - at > MAX_LINE_BYTES)
		return false;
	snprintf(key, MAX_KEY_BYTES, "%.*s", (int)at, line);
	snprintf(value, MAX_LINE_BYTES, "%.*s", (int)(len - at - 1),
		 line + at + 1);
	return true;
}

struct gr_error *gr_layout_parse(const char *text, struct gr_layout *ret)
{
	char key[MAX_KEY_BYTES], value[MAX_LINE_BYTES];

	gr_layout_init(ret);
	while (*text) {
		size_t len = strcspn(text, "\n");

		// Rows of variables and names only show that one exists.
		if (len && strncmp(text, "var ", 4) &&
		    strncmp(text, "name ", 5) && *text != '#' &&
		    (!split_line(text, len, key, value) ||
		     !set_answer(ret, key, value)))
			return gr_error_format(GR_ERROR_LAYOUT,
					       "no row of a layout: %.*s",
					       (int)len, text);
		text += len + (text[len] == '\n');
	}
	return gr_layout_check(ret);
}

/* Copy answer @p column of a row. An empty answer repeats the one before it. */
static void copy_cell(const char *cells, size_t column, char *value)
{
	const char *cell = cells;

	for (size_t i = 0; i < column && cells[strcspn(cells, "|")]; i++) {
		cells += strcspn(cells, "|") + 1;
		if (*cells && *cells != '|')
			cell = cells;
	}
	snprintf(value, MAX_LINE_BYTES, "%.*s", (int)strcspn(cell, "|"), cell);
}

struct gr_error *gr_known_layout_get(size_t i, struct gr_layout *ret)
{
	char value[MAX_LINE_BYTES];

	gr_layout_init(ret);
	for (size_t row = 0; row < gr_nknown_rows; row++) {
		copy_cell(gr_known_rows[row].values, i, value);
		set_answer(ret, gr_known_rows[row].key, value);
	}
	return gr_layout_check(ret);
}

static int first_name(const char *names)
{
	return strcspn(names, "|");
}

struct gr_error *gr_layout_check(const struct gr_layout *layout)
{
	struct cursor c = { .answer = (const uint8_t *)layout };

	for (size_t i = 0; i < gr_layout_nrows; i++) {
		const struct gr_layout_row *row = &gr_layout_rows[i];
		const char *names = row->names;

		load_row(&c, row);
		if (row->kind == ROW_STRUCT && row->need == REQUIRED && !c.size)
			return gr_error_format(GR_ERROR_LAYOUT, "no type %.*s",
					       first_name(names), names);
		if (row->kind != ROW_FIELD)
			continue;
		if (c.size && row->need == REQUIRED && !c.field.bytes)
			return gr_error_format(GR_ERROR_LAYOUT,
					       "%.*s has no field %.*s",
					       first_name(c.owner->names),
					       c.owner->names,
					       first_name(names), names);
		// Readers load fields of whole records without a check.
		if ((uint64_t)c.field.off + c.field.bytes > c.size)
			return gr_error_format(
				GR_ERROR_LAYOUT,
				"field %.*s lies outside its struct",
				first_name(names), names);
	}
	return NULL;
}

bool gr_layout_is_same(const struct gr_layout *a, const struct gr_layout *b)
{
	return !memcmp(a, b, offsetof(struct gr_layout, vars)) &&
	       !memcmp(&a->consts, &b->consts, sizeof(a->consts)) &&
	       !memcmp(&a->has, &b->has, sizeof(a->has));
}

static bool source_find(const struct gr_layout_source *source,
			const char *names, uint32_t *type)
{
	char name[MAX_KEY_BYTES];

	while (gr_layout_next_name(&names, name, sizeof(name)))
		if (source->find(source->ctx, name, type))
			return true;
	return false;
}

/* A dotted path, as gr_layout_resolve() follows it in DWARF. */
static bool source_path(const struct gr_layout_source *source, uint32_t type,
			const char *path, struct gr_field *ret)
{
	uint64_t off = 0, field_off;

	for (;;) {
		size_t len = strcspn(path, ".");

		if (!source->member(source->ctx, type, path, len, &field_off,
				    &type))
			return false;
		off += field_off;
		if (!path[len])
			break;
		path += len + 1;
	}
	uint64_t bytes = source->size(source->ctx, type);
	if (off > UINT32_MAX || !bytes || bytes > UINT32_MAX)
		return false;
	*ret = (struct gr_field){ off, bytes };
	return true;
}

bool gr_layout_agrees(const struct gr_layout *layout,
		      const struct gr_layout_source *source, size_t *structs)
{
	struct cursor c = { .answer = (const uint8_t *)layout };
	bool has_struct = false;
	uint32_t type = 0;

	*structs = 0;
	for (size_t i = 0; i < gr_layout_nrows; i++) {
		const struct gr_layout_row *row = &gr_layout_rows[i];
		struct gr_field field = { 0, 0 };
		char path[MAX_KEY_BYTES];
		const char *paths = row->names;

		load_row(&c, row);
		if (row->kind == ROW_STRUCT) {
			has_struct = source_find(source, row->names, &type);
			*structs += has_struct;
			if (has_struct &&
			    source->size(source->ctx, type) != c.size)
				return false;
		}
		if (row->kind != ROW_FIELD || !has_struct)
			continue;
		while (!field.bytes &&
		       gr_layout_next_name(&paths, path, sizeof(path)))
			source_path(source, type, path, &field);
		if (field.off != c.field.off || field.bytes != c.field.bytes)
			return false;
	}
	return true;
}

bool gr_layout_variable(struct gr_layout *layout, size_t i,
			struct gr_layout_variable *ret)
{
	if (i >= gr_layout_nvariables)
		return false;
	ret->names = gr_layout_variables[i].names;
	ret->addr =
		(uint64_t *)((uint8_t *)layout + gr_layout_variables[i].off);
	return true;
}
