// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/column_scan.h"

#include "base/cleanup.h"
#include "retention/type_text.h"

enum {
	MAX_NESTED = 16, /* structs in structs, in a name */
};

GR_DEFINE_CLEANUP(columns, struct gr_columns, gr_columns_destroy)

void gr_columns_destroy(struct gr_columns *columns)
{
	if (!columns)
		return;
	free(columns->first);
	free(columns->columns);
	free(columns->equal);
	free(columns);
}

// -------------------------------------------------------------------- create

static bool is_fixed(const struct gr_type *type, const char *name)
{
	return !type->size_bytes || !strcmp(name, "_") ||
	       gr_has_prefix(type->name, "sync.") ||
	       gr_has_prefix(type->name, "internal/sync.");
}

/* Is a nested struct one of another package? Its fields are not the author's to
 * change. */
static bool is_foreign(const struct gr_types *types, const struct gr_columns *c,
		       const struct gr_type *type)
{
	const char *own, *other;
	size_t n = gr_type_package(
		gr_types_get(types, c->columns[0].type)->name, &own);
	size_t m = gr_type_package(type->name, &other);

	// A struct without a name belongs to the struct around it.
	return m && (n != m || memcmp(own, other, n));
}

/* Is this a struct with fields that can be columns? */
static struct gr_error *is_open(struct gr_types *types,
				const struct gr_columns *c, uint32_t i,
				bool *ret)
{
	const struct gr_scanned_field *column = &c->columns[i];
	const struct gr_type *type = gr_types_get(types, column->type);
	struct gr_struct_layout layout;

	*ret = false;
	if (type->kind != GR_KIND_STRUCT || type->role != GR_ROLE_PLAIN ||
	    column->is_fixed || (i && is_foreign(types, c, type)) ||
	    type->nfields > GR_MAX_COLUMNS - c->ncolumns)
		return NULL;
	return gr_struct_layout_of(types, column->type, &layout, ret);
}

/* Make a column for each field of the struct in column @p i. */
static struct gr_error *open_struct(struct gr_types *types,
				    struct gr_columns *c, uint32_t i)
{
	struct gr_scanned_field *column = &c->columns[i];
	const struct gr_type *type = gr_types_get(types, column->type);
	struct gr_error *err = NULL;

	column->first_field = c->ncolumns;
	column->nfields = type->nfields;
	for (uint32_t k = 0; !err && k < column->nfields; k++) {
		const struct gr_type_field *f = gr_types_field(types, type, k);
		const struct gr_type *info = gr_types_get(types, f->type);
		struct gr_scanned_field *field = &c->columns[c->ncolumns++];

		*field = (struct gr_scanned_field){
			.name = f->name,
			.type = f->type,
			.parent = i,
			.off_bytes = column->off_bytes + f->off_bytes,
			.bytes = info->size_bytes,
			.is_fixed = is_fixed(info, f->name),
		};
		err = gr_types_align(types, f->type, &field->align);
	}
	return err;
}

/* Columns that no object has contradicted: all that have no columns inside and
 * are not fixed. */
static void list_equal(struct gr_columns *c)
{
	for (uint32_t i = 1; i < c->ncolumns; i++) {
		struct gr_scanned_field *column = &c->columns[i];

		column->is_equal = !column->nfields && !column->is_fixed;
		if (column->is_equal)
			c->equal[c->nequal++] = (uint16_t)i;
	}
}

struct gr_error *gr_columns_create(struct gr_types *types, gr_type_id type,
				   struct gr_columns **ret)
{
	_cleanup_(gr_cleanup_columns) struct gr_columns *c =
		calloc(1, sizeof(*c));
	uint64_t bytes = gr_types_get(types, type)->size_bytes;
	struct gr_error *err = NULL;

	*ret = NULL;
	if (!c)
		return &gr_enomem;
	c->columns = calloc(GR_MAX_COLUMNS, sizeof(*c->columns));
	c->equal = calloc(GR_MAX_COLUMNS, sizeof(*c->equal));
	c->first = malloc(bytes + 1);
	if (!c->columns || !c->equal || !c->first)
		return &gr_enomem;
	c->columns[c->ncolumns++] = (struct gr_scanned_field){
		.name = "",
		.type = type,
		.bytes = bytes,
	};
	for (uint32_t i = 0; !err && i < c->ncolumns; i++) {
		bool opens;

		err = is_open(types, c, i, &opens);
		if (!err && opens)
			err = open_struct(types, c, i);
	}
	if (err)
		return err;
	list_equal(c);
	// Most types have few columns.
	struct gr_scanned_field *columns =
		realloc(c->columns, c->ncolumns * sizeof(*columns));
	uint16_t *equal = realloc(c->equal, (c->nequal + 1) * sizeof(*equal));
	c->columns = columns ? columns : c->columns;
	c->equal = equal ? equal : c->equal;
	if (c->nequal)
		*ret = steal_ptr(c);
	return NULL;
}

// ---------------------------------------------------------------------- look

static inline bool is_same(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	switch (bytes) {
	case 1:
		return *a == *b;
	case 2:
		return !memcmp(a, b, 2);
	case 4:
		return !memcmp(a, b, 4);
	case 8:
		return gr_load_u64(a) == gr_load_u64(b);
	default:
		return !memcmp(a, b, bytes);
	}
}

void gr_columns_look(struct gr_columns *c, const uint8_t *host)
{
	if (!c->objects++) {
		memcpy(c->first, host, c->columns[0].bytes);
		return;
	}
	for (uint32_t i = 0; i < c->nequal;) {
		struct gr_scanned_field *column = &c->columns[c->equal[i]];

		if (is_same(c->first + column->off_bytes,
			    host + column->off_bytes, column->bytes)) {
			i++;
			continue;
		}
		column->is_equal = false;
		c->equal[i] = c->equal[--c->nequal];
	}
}

// -------------------------------------------------------------------- settle

/* Find out about a struct by its fields: has it one value, and how large is it
 * without the fields that have one? */
static void settle_struct(struct gr_columns *c, struct gr_scanned_field *column)
{
	struct gr_struct_layout rest = { 0 };
	bool is_equal = true, has_equal = false;

	for (uint32_t k = 0; k < column->nfields; k++) {
		const struct gr_scanned_field *field =
			&c->columns[column->first_field + k];

		has_equal = has_equal || field->is_equal;
		is_equal = is_equal && (field->is_equal || !field->bytes);
		if (!field->is_equal)
			gr_struct_layout_add(&rest, field->rest_bytes,
					     field->rest_align);
	}
	column->is_equal = is_equal && has_equal;
	if (column->is_equal) // whose fields without bytes go, too
		rest = (struct gr_struct_layout){ 0 };
	column->rest_bytes = gr_struct_layout_bytes(&rest);
	column->rest_align = rest.align;
}

uint64_t gr_columns_settle(struct gr_columns *c)
{
	// The fields of a struct come behind it.
	for (uint32_t i = c->ncolumns; i-- > 0;) {
		struct gr_scanned_field *column = &c->columns[i];

		column->rest_bytes = column->bytes;
		column->rest_align = column->align;
		if (column->nfields)
			settle_struct(c, column);
	}
	return c->columns[0].rest_bytes;
}

static void put_path(const struct gr_columns *c, uint32_t i,
		     struct gr_text *text)
{
	const char *names[MAX_NESTED];
	uint32_t n = 0;

	for (; i && n < MAX_NESTED; i = c->columns[i].parent)
		names[n++] = c->columns[i].name;
	while (n-- > 0)
		gr_text_put(text, ".%s", names[n]);
}

static bool is_zero(const uint8_t *bytes, uint64_t n)
{
	return !n || (!*bytes && !memcmp(bytes, bytes + 1, n - 1));
}

bool gr_columns_name(const struct gr_columns *c, struct gr_text *text)
{
	bool all_zero = true;

	for (uint32_t i = 1; i < c->ncolumns; i++) {
		const struct gr_scanned_field *column = &c->columns[i];

		if (!column->is_equal ||
		    (column->parent && c->columns[column->parent].is_equal))
			continue;
		if (text->bytes)
			gr_text_put(text, ", ");
		put_path(c, i, text);
		all_zero = all_zero &&
			   is_zero(c->first + column->off_bytes, column->bytes);
	}
	return all_zero;
}
