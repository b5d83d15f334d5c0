// SPDX-License-Identifier: Apache-2.0
/* literal: constants as Go writes them. */
#include "expr/literal.h"

#include "suite.h"

struct number_case {
	const char *text;
	uint64_t magnitude;
	bool is_negative;
};

static const struct number_case number_cases[] = {
	{ "0", 0, false },
	{ "7", 7, false },
	{ "-7", 7, true },
	{ "+7", 7, false },
	{ "-0", 0, false },
	{ " 7 ", 7, false },
	{ "0x1F", 31, false },
	{ "0X_1f", 31, false },
	{ "0b101", 5, false },
	{ "0o17", 15, false },
	{ "017", 15, false },
	{ "1_000", 1000, false },
	{ "18446744073709551615", UINT64_MAX, false },
	{ "-9223372036854775808", UINT64_C(1) << 63, true },
	{ "'a'", 'a', false },
	{ "'\\''", '\'', false },
	{ "'\\n'", '\n', false },
	{ "'\\x41'", 'A', false },
	{ "'\\xff'", 255, false },
	{ "'\\377'", 255, false },
	{ "'\\u00fc'", 0xfc, false },
	{ "'\xc3\xbc'", 0xfc, false },
	{ "'\xe2\x82\xac'", 0x20ac, false },
	{ "'\\U0001f600'", 0x1f600, false },
};

TEST_ROWS(number, number_cases, c)
{
	struct gr_literal literal;
	const char *end;

	assert_int_equal(gr_literal_parse(c->text, &end, &literal),
			 GR_LITERAL_FINE);
	assert_int_equal(literal.kind, GR_LITERAL_NUMBER);
	assert_int_equal(literal.magnitude, c->magnitude);
	assert_int_equal(literal.is_negative, c->is_negative);
	assert_int_equal(*end, 0);
	gr_literal_deinit(&literal);
}

struct text_case {
	const char *text, *wanted;
	size_t bytes;
};

static const struct text_case text_cases[] = {
	{ "\"\"", "", 0 },
	{ "\"abc\"", "abc", 3 },
	{ "`a\\n`", "a\\n", 3 },
	{ "\"a]b[\"", "a]b[", 4 },
	{ "\"\\\"\\\\'\"", "\"\\'", 3 },
	{ "\"\\a\\b\\f\\n\\r\\t\\v\"", "\a\b\f\n\r\t\v", 7 },
	{ "\"\\x00\\xff\"", "\0\xff", 2 },
	{ "\"\\101\"", "A", 1 },
	{ "\"\\u00fc\\U0001F600\"", "\xc3\xbc\xf0\x9f\x98\x80", 6 },
	{ "\"\\u20ac\"", "\xe2\x82\xac", 3 },
	{ "\"\xff\"", "\xff", 1 },
};

TEST_ROWS(text, text_cases, c)
{
	struct gr_literal literal;
	const char *end;

	assert_int_equal(gr_literal_parse(c->text, &end, &literal),
			 GR_LITERAL_FINE);
	assert_int_equal(literal.kind, GR_LITERAL_STRING);
	assert_int_equal(literal.text_bytes, c->bytes);
	assert_memory_equal(literal.text, c->wanted, c->bytes);
	assert_int_equal(*end, 0);
	gr_literal_deinit(&literal);
}

struct wrong_case {
	const char *text;
	enum gr_literal_result wanted;
};

static const struct wrong_case wrong_cases[] = {
	{ "", GR_LITERAL_MALFORMED },
	{ " ", GR_LITERAL_MALFORMED },
	{ "x", GR_LITERAL_MALFORMED },
	{ "-", GR_LITERAL_MALFORMED },
	{ "--1", GR_LITERAL_MALFORMED },
	{ "0x", GR_LITERAL_MALFORMED },
	{ "0b2", GR_LITERAL_MALFORMED },
	{ "08", GR_LITERAL_MALFORMED },
	{ "1a", GR_LITERAL_MALFORMED },
	{ "true1", GR_LITERAL_MALFORMED },
	{ "truex", GR_LITERAL_MALFORMED },
	{ "18446744073709551616", GR_LITERAL_TOO_LARGE },
	{ "0x1_0000_0000_0000_0000", GR_LITERAL_TOO_LARGE },
	{ "\"", GR_LITERAL_MALFORMED },
	{ "\"a", GR_LITERAL_MALFORMED },
	{ "\"\\\"", GR_LITERAL_MALFORMED },
	{ "\"\\", GR_LITERAL_MALFORMED },
	{ "\"\\q\"", GR_LITERAL_MALFORMED },
	{ "\"\\x4\"", GR_LITERAL_MALFORMED },
	{ "\"\\400\"", GR_LITERAL_MALFORMED },
	{ "\"\\ud800\"", GR_LITERAL_MALFORMED },
	{ "\"\\U00110000\"", GR_LITERAL_MALFORMED },
	{ "'", GR_LITERAL_MALFORMED },
	{ "''", GR_LITERAL_MALFORMED },
	{ "'ab'", GR_LITERAL_MALFORMED },
	{ "'\\", GR_LITERAL_MALFORMED },
};

TEST_ROWS(wrong, wrong_cases, c)
{
	// A copy of just these bytes: a sanitizer sees what is read past it.
	char *text = strdup(c->text);
	struct gr_literal literal;
	const char *end;

	assert_non_null(text);
	enum gr_literal_result result = gr_literal_parse(text, &end, &literal);
	assert_int_equal(result, c->wanted);
	gr_literal_deinit(&literal);
	free(text);
}

TEST(bools_and_ends)
{
	struct gr_literal literal;
	const char *end;

	assert_int_equal(gr_literal_parse(" true]", &end, &literal),
			 GR_LITERAL_FINE);
	assert_int_equal(literal.kind, GR_LITERAL_BOOL);
	assert_true(literal.truth);
	assert_string_equal(end, "]");
	assert_int_equal(gr_literal_parse("false ].x", &end, &literal),
			 GR_LITERAL_FINE);
	assert_false(literal.truth);
	assert_string_equal(end, "].x");
}

/* Every literal of 8 bits against every value. */
TEST(integers)
{
	for (int number = -300; number <= 300; number++) {
		struct gr_literal literal;
		const char *end;
		char text[16];

		snprintf(text, sizeof(text), "%d", number);
		assert_int_equal(gr_literal_parse(text, &end, &literal),
				 GR_LITERAL_FINE);
		for (int i = 0; i < 256; i++) {
			uint8_t value = (uint8_t)i;
			assert_int_equal(gr_literal_is_integer(&literal, &value,
							       1, true),
					 (int8_t)value == number);
			assert_int_equal(gr_literal_is_integer(&literal, &value,
							       1, false),
					 value == number);
		}
	}
}

GR_SUITE("literal")
