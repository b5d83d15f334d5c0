// SPDX-License-Identifier: Apache-2.0
/*
 * known_layouts: the compiled-in layouts are whole, up to date with the rows
 * of the table, and each another one; the text of a layout reads back.
 */
#include "goruntime/layout/known_layouts.h"

#include "suite.h"

static void get(size_t i, struct gr_layout *layout)
{
	struct gr_error *err = gr_known_layout_get(i, layout);

	if (err)
		fail_msg("%s: %s", gr_known_layout_names[i], err->message);
}

TEST(whole)
{
	struct gr_layout layout;

	assert_true(gr_nknown_layouts > 0);
	for (size_t i = 0; i < gr_nknown_layouts; i++)
		get(i, &layout);
}

TEST(different)
{
	struct gr_layout one, other;

	for (size_t i = 0; i < gr_nknown_layouts; i++)
		for (size_t j = 0; j < i; j++) {
			get(i, &one);
			get(j, &other);
			assert_false(gr_layout_is_same(&one, &other));
		}
}

static bool is_known_row(const char *line, size_t len)
{
	for (size_t i = 0; i < gr_nknown_rows; i++) {
		size_t key = strlen(gr_known_rows[i].key);
		if (key < len && !memcmp(line, gr_known_rows[i].key, key) &&
		    line[key] == ' ')
			return true;
	}
	return false;
}

/* A new row of the table needs new golden columns. */
TEST(up_to_date)
{
	struct gr_layout layout;
	char *text;

	get(0, &layout);
	text = gr_layout_text(&layout);
	assert_non_null(text);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, "var ", 4) &&
		    !is_known_row(at, strcspn(at, "\n")))
			fail_msg("no known layout has the row of \"%.*s\": "
				 "run testsuite/e2e/layouts.py --update",
				 (int)strcspn(at, "\n"), at);
	free(text);
}

TEST(text_reads_back)
{
	struct gr_layout layout, again;

	for (size_t i = 0; i < gr_nknown_layouts; i++) {
		get(i, &layout);
		char *text = gr_layout_text(&layout);
		assert_non_null(text);
		assert_null(gr_layout_parse(text, &again));
		assert_true(gr_layout_is_same(&layout, &again));
		free(text);
	}
}

static const struct bad_row {
	const char *name;
	const char *text;
	const char *message;
} bad_rows[] = {
	{ "empty: the first required type", "", "no type runtime.mheap" },
	{ "no number", "mspan.nelems x\n", "mspan.nelems x" },
	{ "half a field", "mspan.nelems 56\n", "mspan.nelems 56" },
	{ "only a key", "mspan\n", "mspan" },
	{ "a key without end", "const ", "const " },
};

TEST_ROWS(bad_text, bad_rows, row)
{
	struct gr_layout layout;
	assert_fails(gr_layout_parse(row->text, &layout), GR_ERROR_LAYOUT,
		     row->message);
}

GR_SUITE("known layouts")
