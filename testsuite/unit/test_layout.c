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

static void test_missing(void **state)
{
	const struct row_case *c = *state;
	size_t i = c->change.row;
	struct gr_dwarf *d = dwarf_create(&c->change);
	struct gr_layout *layout = calloc(1, sizeof(*layout));
	char newest[96];

	assert_non_null(layout);
	struct gr_error *err = gr_layout_resolve(d, BIAS, layout);
	snprintf(newest, sizeof(newest), "%.*s",
		 (int)strcspn(rows[i].names, "|"), rows[i].names);
	if (rows[i].need == OPTIONAL) {
		if (err)
			fail_msg("%s", err->message);
		check_answers(layout, i);
	} else {
		assert_non_null(err);
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

static void test_found(void **state)
{
	const struct row_case *c = *state;
	struct gr_dwarf *d = dwarf_create(&c->change);
	struct gr_layout *layout = calloc(1, sizeof(*layout));

	assert_non_null(layout);
	struct gr_error *err = gr_layout_resolve(d, BIAS, layout);
	if (err)
		fail_msg("%s", err->message);
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

static int run_missing(void)
{
	struct row_case *cases = calloc(NROWS, sizeof(*cases));
	size_t n = 0;

	if (!cases)
		return 1;
	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].kind == END)
			continue;
		cases[n].change = (struct change){ i, true, 0 };
		name_case(&cases[n++], rows[i].need == REQUIRED ?
					       "missing: an error" :
					       "missing: absent");
	}
	int failed = rows_run("rows that are missing", cases, n, sizeof(*cases),
			      test_missing);
	free(cases);
	return failed;
}

/* Append one test for each older name of row i, and one for all of them. */
static size_t add_alternatives(struct row_case *cases, size_t n, size_t i)
{
	char what[64];
	size_t len;
	const char *name;

	if (!strchr(rows[i].names, '|'))
		return n;
	for (unsigned int k = 1; (name = alternative(rows[i].names, k, &len));
	     k++) {
		cases[n].change = (struct change){ i, false, k };
		snprintf(what, sizeof(what), "as %.*s", (int)len, name);
		name_case(&cases[n++], what);
	}
	cases[n].change = (struct change){ i, false, ALL };
	name_case(&cases[n++], "under every name: the newest");
	return n;
}

static int run_alternatives(void)
{
	struct row_case *cases = calloc(NROWS * 5, sizeof(*cases));
	size_t n = 0;

	if (!cases)
		return 1;
	for (size_t i = 0; i < NROWS; i++)
		n = add_alternatives(cases, n, i);
	int failed =
		rows_run("alternatives", cases, n, sizeof(*cases), test_found);
	free(cases);
	return failed;
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

static void expect_error(const struct gr_dwarf *d, enum gr_error_code code,
			 const char *text)
{
	struct gr_layout layout;
	struct gr_error *err = gr_layout_resolve(d, 0, &layout);

	assert_non_null(err);
	assert_error_code(err, code);
	if (!strstr(err->message, text))
		fail_msg("%s", err->message);
	gr_error_destroy(err);
}

static void test_everything(void **state)
{
	struct gr_layout layout;

	assert_null(gr_layout_resolve(*state, BIAS, &layout));
	check_answers(&layout, SIZE_MAX);
}

static void test_widths(void **state)
{
	static const uint64_t widths[] = { 1, 2, 4, 8 };
	struct gr_dwarf *d = *state;
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

static void test_absent_field_reads_zero(void **state)
{
	(void)state;
	const struct gr_field absent = { 0, 0 };

	assert_false(gr_field_is_present(absent));
	assert_int_equal(gr_field_uint("12345678", absent), 0);
	assert_int_equal(gr_field_word("12345678", absent), 0);
}

/* A word is not read of a field that has none: what follows is not ours. */
static void test_word_of_a_narrow_field(void **state)
{
	(void)state;
	const struct gr_field narrow = { 0, 4 };
	const uint64_t record = UINT64_MAX;

	assert_int_equal(gr_field_word(&record, narrow), 0);
}

static void test_field_without_bytes(void **state)
{
	struct gr_dwarf *d = *state;

	d->types[member(d, "runtime.mspan", "nelems")->type].size_bytes = 0;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan has no field nelems");
}

static void test_field_of_absurd_size(void **state)
{
	struct gr_dwarf *d = *state;

	d->types[member(d, "runtime.mspan", "nelems")->type].size_bytes =
		UINT64_C(1) << 32;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

static void test_field_far_away(void **state)
{
	struct gr_dwarf *d = *state;

	member(d, "runtime.mspan", "nelems")->off_bytes = UINT64_C(1) << 32;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

static void test_field_outside(void **state)
{
	struct gr_dwarf *d = *state;
	uint32_t mspan = gr_dwarf_find_type(d, "runtime.mspan");

	member(d, "runtime.mspan", "nelems")->off_bytes =
		d->types[mspan].size_bytes - 7;
	expect_error(d, GR_ERROR_LAYOUT, "nelems");
}

static void test_field_ends_with_its_struct(void **state)
{
	struct gr_dwarf *d = *state;
	struct gr_layout layout;
	uint32_t mspan = gr_dwarf_find_type(d, "runtime.mspan");
	uint64_t off = d->types[mspan].size_bytes - 8;

	member(d, "runtime.mspan", "nelems")->off_bytes = off;
	assert_null(gr_layout_resolve(d, 0, &layout));
	assert_int_equal(layout.mspan.nelems.off, off);
}

static void test_field_of_unknown_type(void **state)
{
	struct gr_dwarf *d = *state;

	member(d, "runtime.mspan", "nelems")->type = GR_DWARF_NONE;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan has no field nelems");
}

static void test_path_through_unknown_type(void **state)
{
	struct gr_dwarf *d = *state;

	member(d, "runtime.g", "stack")->type = MAX_TYPES + 5;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.g has no field stack.lo");
}

static void test_struct_without_bytes(void **state)
{
	struct gr_dwarf *d = *state;

	d->types[gr_dwarf_find_type(d, "runtime.mspan")].size_bytes = 0;
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mspan");
}

static void test_optional_struct_without_bytes(void **state)
{
	struct gr_dwarf *d = *state;
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

static void test_not_go(void **state)
{
	struct gr_dwarf *d = *state;

	d->types[gr_dwarf_find_type(d, "runtime.mheap")].name = "heap";
	expect_error(d, GR_ERROR_LAYOUT, "runtime.mheap");
	d->types[gr_dwarf_find_type(d, "runtime.g")].name = "g";
	expect_error(d, GR_ERROR_NOT_GO, "not a Go program");
	d->ntypes = 0;
	expect_error(d, GR_ERROR_NOT_GO, "not a Go program");
}

// -------------------------------------------------------------------- text

static void test_text(void **state)
{
	struct gr_layout layout;
	char want[64];

	assert_null(gr_layout_resolve(*state, BIAS, &layout));
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
static void test_text_without_addresses(void **state)
{
	struct gr_layout layout;

	assert_null(gr_layout_resolve(*state, 0, &layout));
	char *one = gr_layout_text(&layout);
	assert_null(gr_layout_resolve(*state, BIAS, &layout));
	char *two = gr_layout_text(&layout);
	assert_non_null(one);
	assert_non_null(two);
	assert_string_equal(one, two);
	free(one);
	free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DWARF(test_everything),
		WITH_DWARF(test_widths),
		cmocka_unit_test(test_absent_field_reads_zero),
		cmocka_unit_test(test_word_of_a_narrow_field),
		WITH_DWARF(test_field_without_bytes),
		WITH_DWARF(test_field_of_absurd_size),
		WITH_DWARF(test_field_far_away),
		WITH_DWARF(test_field_outside),
		WITH_DWARF(test_field_ends_with_its_struct),
		WITH_DWARF(test_field_of_unknown_type),
		WITH_DWARF(test_path_through_unknown_type),
		WITH_DWARF(test_struct_without_bytes),
		WITH_DWARF(test_optional_struct_without_bytes),
		WITH_DWARF(test_not_go),
		WITH_DWARF(test_text),
		WITH_DWARF(test_text_without_addresses),
	};

	return run_missing() + run_alternatives() +
	       cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
