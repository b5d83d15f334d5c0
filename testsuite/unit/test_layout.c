// SPDX-License-Identifier: Apache-2.0
/*
 * layout: the table resolved from debug information made up here. The tests
 * go through the table's own rows, so a new row is tested as it comes.
 */
#include "layout_rows.h"

/* Every answer is what dwarf_create() gave, but for a row that is missing. */
static void check_answers(const struct gr_layout *layout, size_t missing)
{
	const uint8_t *answer = (const uint8_t *)layout;
	bool owner_is_there = false;

	for (size_t i = 0; i < NROWS; i++) {
		uint64_t size;
		struct gr_field field;

		if (rows[i].kind == STRUCT) {
			owner_is_there = i != missing;
			memcpy(&size, answer, sizeof(size));
			answer += sizeof(size);
			if (size != (owner_is_there ? want_size(i) : 0))
				fail_msg("%s: size %u", rows[i].id,
					 (unsigned int)size);
		} else if (rows[i].kind == FIELD) {
			bool is_there = owner_is_there && i != missing;

			memcpy(&field, answer, sizeof(field));
			answer += sizeof(field);
			if (field.bytes != (is_there ? 8 : 0) ||
			    field.off != (is_there ? want_off(i) : 0))
				fail_msg("%s.%s: %u %u", owner_of(i)->id,
					 rows[i].id, field.off, field.bytes);
		}
	}
#define CHECK_VARIABLE(id_, need_, names_)                                 \
	for (size_t i = 0; i < NROWS; i++)                                 \
		if (rows[i].kind == VARIABLE && !strcmp(rows[i].id, #id_)) \
			assert_int_equal(layout->vars.id_,                 \
					 i == missing ? 0 :                \
							want_addr(i) + BIAS);
	GR_LAYOUT_VARIABLES(CHECK_VARIABLE)
#define CHECK_CONSTANT(id_, fallback_, names_)                               \
	for (size_t i = 0; i < NROWS; i++)                                   \
		if (rows[i].kind == CONSTANT && !strcmp(rows[i].id, #id_)) { \
			assert_int_equal(layout->has.id_, i != missing);     \
			assert_true(layout->consts.id_ ==                    \
				    (i == missing ? rows[i].fallback :       \
						    want_value(i)));         \
		}
	GR_LAYOUT_CONSTANTS(CHECK_CONSTANT)
}

// -------------------------------------------------------------- row after row

/** One test a row, and one for each of its older names. */
struct row_case {
	const char *name;
	struct change change;
	char text[96];
};

/* Those of both tests; main() fills them. */
static struct row_case missing[NROWS], alternatives[NROWS * 5];

TEST_ROWS(missing, missing, c)
{
	size_t i = c->change.row;
	struct gr_dwarf *d = dwarf_create(&c->change);
	struct gr_layout *layout = suite_alloc(sizeof(*layout));
	char newest[96];

	struct gr_error *err = gr_layout_resolve(d, BIAS, layout);
	snprintf(newest, sizeof(newest), "%.*s",
		 (int)strcspn(rows[i].names, "|"), rows[i].names);
	if (rows[i].need == OPTIONAL) {
		assert_null(err);
		check_answers(layout, i);
	} else {
		assert_error_code(err, GR_ERROR_LAYOUT);
		if (!strstr(err->message, newest))
			fail_msg("%s is not named: %s", newest, err->message);
		if (rows[i].kind == FIELD) {
			const char *names = owner_of(i)->names;
			assert_memory_equal(err->message, names,
					    strcspn(names, "|"));
		}
	}
	gr_error_destroy(err);
	free(layout);
	free(d);
}

TEST_ROWS(found, alternatives, c)
{
	struct gr_dwarf *d = dwarf_create(&c->change);
	struct gr_layout *layout = suite_alloc(sizeof(*layout));

	assert_null(gr_layout_resolve(d, BIAS, layout));
	check_answers(layout, SIZE_MAX);
	free(layout);
	free(d);
}

static void name_case(struct row_case *c, const char *what)
{
	const struct row *row = &rows[c->change.row];
	const char *group = row->kind == VARIABLE ? "var" : "const";

	if (row->kind == STRUCT)
		snprintf(c->text, sizeof(c->text), "%s %s", row->id, what);
	else
		snprintf(c->text, sizeof(c->text), "%s.%s %s",
			 row->kind == FIELD ? owner_of(c->change.row)->id :
					      group,
			 row->id, what);
	c->name = c->text;
}

static void name_missing(void)
{
	size_t n = 0;

	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].kind == END)
			continue;
		missing[n].change = (struct change){ i, true, 0 };
		name_case(&missing[n++], rows[i].need == REQUIRED ?
						 "missing: an error" :
						 "missing: absent");
	}
}

/* Append one test for each older name of row i, and one for all of them. */
static size_t add_alternatives(size_t n, size_t i)
{
	char what[64];
	size_t len;
	const char *name;

	if (!strchr(rows[i].names, '|'))
		return n;
	for (unsigned int k = 1; (name = alternative(rows[i].names, k, &len));
	     k++) {
		alternatives[n].change = (struct change){ i, false, k };
		snprintf(what, sizeof(what), "as %.*s", (int)len, name);
		name_case(&alternatives[n++], what);
	}
	alternatives[n].change = (struct change){ i, false, ALL };
	name_case(&alternatives[n++], "under every name: the newest");
	return n;
}

// ----------------------------------------------------------- widths, damage

static struct gr_dwarf_field *member(struct gr_dwarf *d, const char *type,
				     const char *name)
{
	const struct gr_dwarf_type *t = &d->types[gr_dwarf_find_type(d, type)];

	for (uint32_t i = 0; i < t->nfields; i++)
		if (!strcmp(d->fields[t->first_field + i].name, name))
			return &d->fields[t->first_field + i];
	fail_msg("no %s.%s", type, name);
	return NULL;
}

/* The first error of the layout of @p d. */
#define expect_error(d, code, text)                                           \
	assert_fails(gr_layout_resolve(d, 0, &(struct gr_layout){ 0 }), code, \
		     text)

TEST_F(everything)
{
	struct gr_layout layout;

	assert_null(gr_layout_resolve(d, BIAS, &layout));
	check_answers(&layout, SIZE_MAX);
}

TEST_F(widths)
{
	static const uint64_t widths[] = { 1, 2, 4, 8 };
	struct gr_layout layout;
	struct gr_dwarf_field *nelems = member(d, "runtime.mspan", "nelems");

	for (size_t i = 0; i < GR_ARRAY_SIZE(widths); i++) {
		uint8_t record[16];

		nelems->off_bytes = 3;
		d->types[nelems->type].size_bytes = widths[i];
		assert_null(gr_layout_resolve(d, 0, &layout));
		assert_int_equal(layout.mspan.nelems.off, 3);
		assert_int_equal(layout.mspan.nelems.bytes, widths[i]);
		memset(record, 0xee, sizeof(record));
		memset(record + 3, 0x11, widths[i]);
		assert_true(gr_field_uint(record, layout.mspan.nelems) ==
			    UINT64_C(0x1111111111111111) >>
				    (64 - 8 * widths[i]));
	}
}

TEST(absent_field_reads_zero)
{
	const struct gr_field absent = { 0, 0 };

	assert_false(gr_field_is_present(absent));
	assert_int_equal(gr_field_uint("12345678", absent), 0);
	assert_int_equal(gr_field_word("12345678", absent), 0);
}

/* A word is not read of a field that has none: what follows is not ours. */
TEST(word_of_a_narrow_field)
{
	const struct gr_field narrow = { 0, 4 };
	const uint64_t record = UINT64_MAX;

	assert_int_equal(gr_field_word(&record, narrow), 0);
}

TEST_F(field_without_bytes)
{
	d->types[member(d, "runtime.mspan", "nelems")->type].size_bytes = 0;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan has no field nelems");
}

TEST_F(field_of_absurd_size)
{
	d->types[member(d, "runtime.mspan", "nelems")->type].size_bytes =
		UINT64_C(1) << 32;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

TEST_F(field_far_away)
{
	member(d, "runtime.mspan", "nelems")->off_bytes = UINT64_C(1) << 32;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

TEST_F(field_outside)
{
	uint32_t mspan = gr_dwarf_find_type(d, "runtime.mspan");

	member(d, "runtime.mspan", "nelems")->off_bytes =
		d->types[mspan].size_bytes - 7;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

TEST_F(field_ends_with_its_struct)
{
	struct gr_layout layout;
	uint32_t mspan = gr_dwarf_find_type(d, "runtime.mspan");
	uint64_t off = d->types[mspan].size_bytes - 8;

	member(d, "runtime.mspan", "nelems")->off_bytes = off;
	assert_null(gr_layout_resolve(d, 0, &layout));
	assert_int_equal(layout.mspan.nelems.off, off);
}

TEST_F(field_of_unknown_type)
{
	member(d, "runtime.mspan", "nelems")->type = GR_DWARF_NONE;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan has no field nelems");
}

TEST_F(path_through_unknown_type)
{
	member(d, "runtime.g", "stack")->type = MAX_TYPES + 5;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.g has no field stack.lo");
}

TEST_F(struct_without_bytes)
{
	d->types[gr_dwarf_find_type(d, "runtime.mspan")].size_bytes = 0;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan");
}

TEST_F(optional_struct_without_bytes)
{
	struct gr_layout layout;
	uint32_t type = gr_dwarf_find_type(d, "runtime.timer");

	// Its fields would lie outside: absent, or an error that names one.
	d->types[type].size_bytes = 0;
	struct gr_error *err = gr_layout_resolve(d, 0, &layout);
	if (err)
		assert_error_code(err, GR_ERROR_LAYOUT);
	else
		assert_int_equal(layout.timer.size_bytes, 0);
	gr_error_destroy(err);
}

TEST_F(not_go)
{
	d->types[gr_dwarf_find_type(d, "runtime.mheap")].name = "heap";
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mheap");
	d->types[gr_dwarf_find_type(d, "runtime.g")].name = "g";
	expect_error(d, GR_ERROR_NOT_GO, "not a Go program");
	d->ntypes = 0;
	expect_error(d, GR_ERROR_NOT_GO, "not a Go program");
}

// -------------------------------------------------------------------- text

TEST_F(text)
{
	struct gr_layout layout;
	char want[64];

	assert_null(gr_layout_resolve(d, BIAS, &layout));
	layout.timer_when.size_bytes = 0;
	layout.vars.gc_cleanups = 0;
	layout.has.gleaked = false;
	char *text = gr_layout_text(&layout);
	assert_non_null(text);
	snprintf(want, sizeof(want), "\nmspan.nelems %u 8\n",
		 layout.mspan.nelems.off);
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(text, "\ntimer_when -\n"));
	assert_non_null(strstr(text, "\nvar gc_cleanups -\n"));
	assert_non_null(strstr(text, "\nvar allgs yes\n"));
	assert_non_null(strstr(text, "\nconst gleaked -\n"));
	snprintf(want, sizeof(want), "\nconst gdead %d\n",
		 (int)layout.consts.gdead);
	assert_non_null(strstr(text, want));
	free(text);
}

/* Addresses differ from build to build: the text must not. */
TEST_F(text_without_addresses)
{
	struct gr_layout layout;

	assert_null(gr_layout_resolve(d, 0, &layout));
	char *one = gr_layout_text(&layout);
	assert_null(gr_layout_resolve(d, BIAS, &layout));
	char *two = gr_layout_text(&layout);
	assert_non_null(one);
	assert_non_null(two);
	assert_string_equal(one, two);
	free(one);
	free(two);
}

int main(void)
{
	size_t n = 0;

	name_missing();
	for (size_t i = 0; i < NROWS; i++)
		n = add_alternatives(n, i);
	return suite_run("layout", NULL, NULL);
}
