// SPDX-License-Identifier: Apache-2.0
/* Texts of limited length, and Go string literals in them. */
#include "base/text.h"
#include "suite.h"

struct quote_case {
	const char *name;
	const char *bytes;
	size_t count;
	bool is_more;
	const char *want;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct quote_case quote_cases[] = {
	{ "empty", BYTES(""), false, "\"\"" },
	{ "plain", BYTES("abc"), false, "\"abc\"" },
	{ "goes on", BYTES("abc"), true, "\"abc...\"" },
	{ "quote and backslash", BYTES("\"\\'"), false, "\"\\\"\\\\'\"" },
	{ "control characters", BYTES("\a\b\f\n\r\t\v"), false,
	  "\"\\a\\b\\f\\n\\r\\t\\v\"" },
	{ "zero, escape, delete", BYTES("\0\x1b\x7f"), false,
	  "\"\\x00\\x1b\\x7f\"" },
	{ "UTF-8", BYTES("\u00fc\u20ac\U0001f600"), false,
	  "\"\u00fc\u20ac\U0001f600\"" },
	{ "C1 controls", BYTES("\xc2\x9b"), false, "\"\\u009b\"" },
	{ "direction of text", BYTES("\u202e\u2066"), false,
	  "\"\\u202e\\u2066\"" },
	{ "tags", BYTES("\U000e0041"), false, "\"\\U000e0041\"" },
	{ "no UTF-8", BYTES("\xff\x80"), false, "\"\\xff\\x80\"" },
	{ "too long a form", BYTES("\xc0\xaf\xe0\x80\xaf"), false,
	  "\"\\xc0\\xaf\\xe0\\x80\\xaf\"" },
	{ "surrogates", BYTES("\xed\xa0\x80"), false, "\"\\xed\\xa0\\x80\"" },
	{ "beyond Unicode", BYTES("\xf4\x90\x80\x80"), false,
	  "\"\\xf4\\x90\\x80\\x80\"" },
	{ "a character's end is missing", BYTES("a\xe2\x82"), false,
	  "\"a\\xe2\\x82\"" },
};

TEST(numbers)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++)
		assert_string_equal(gr_number_text(rows[i].n).text,
				    rows[i].text);
}

TEST_ROWS(quoted, quote_cases, c)
{
	char data[256];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	gr_text_put_quoted(&text, c->bytes, c->count, c->is_more);
	assert_string_equal(data, c->want);
	assert_int_equal(text.bytes, strlen(c->want));
	assert_false(text.is_cut);
}

TEST(put)
{
	char data[16];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	assert_string_equal(data, "");
	gr_text_put(&text, ".%s", "seven77");
	gr_text_put(&text, "[%d]", 12345);
	assert_string_equal(data, ".seven77[12345]");
	assert_int_equal(text.bytes, 15);
	assert_false(text.is_cut);
	gr_text_put(&text, "%s", "");
	assert_false(text.is_cut);
	gr_text_put(&text, "x");
	assert_string_equal(data, ".seven77[123...");
	assert_true(text.is_cut);
	gr_text_put(&text, "more");
	gr_text_put_quoted(&text, "more", 4, false);
	assert_string_equal(data, ".seven77[123...");
	assert_int_equal(text.bytes, strlen(data));
}

/* No character is cut in two, wherever the end is. */
TEST(cut_characters)
{
	static const char euros[] = "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac";
	char data[sizeof(euros)];

	for (size_t capacity = 4; capacity < sizeof(euros); capacity++) {
		struct gr_text text = gr_text_begin(data, capacity);
		gr_text_put(&text, "%s", euros);
		size_t kept = (capacity - 4) / 3 * 3;
		assert_int_equal(text.bytes, kept + 3);
		assert_memory_equal(data, euros, kept);
		assert_string_equal(data + kept, "...");
	}
}

GR_SUITE("text")
