// SPDX-License-Identifier: Apache-2.0
/* Edit distances against the table of the textbook; the nearest names. */
#include "base/nearest.h"

#include "suite.h"

/* The table of the textbook. */
static unsigned int naive(const char *a, const char *b)
{
	static unsigned int d[80][80];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t i = 0; i <= na; i++)
		for (size_t j = 0; j <= nb; j++) {
			unsigned int best = (unsigned int)(i ? i : j);

			if (i && j) {
				best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
				best = d[i - 1][j] + 1 < best ?
					       d[i - 1][j] + 1 :
					       best;
				best = d[i][j - 1] + 1 < best ?
					       d[i][j - 1] + 1 :
					       best;
			}
			d[i][j] = best;
		}
	return d[na][nb];
}

TEST(distance)
{
	uint64_t seed = 7;
	char a[72], b[72];

	for (int round = 0; round < 20000; round++) {
		size_t na = suite_random(&seed) % (round % 50 ? 12 : 70);
		size_t nb = suite_random(&seed) % (round % 50 ? 12 : 70);
		unsigned int max = suite_random(&seed) % 9;

		for (size_t i = 0; i < na; i++)
			a[i] = (char)('a' + suite_random(&seed) % 3);
		for (size_t i = 0; i < nb; i++)
			b[i] = (char)('a' + suite_random(&seed) % 3);
		a[na] = b[nb] = '\0';
		unsigned int want = naive(a, b);
		want = want > max ? max + 1 : want;
		if (gr_edit_distance(a, b, max) != want)
			fail_msg("%s %s within %u: %u, not %u", a, b, max,
				 gr_edit_distance(a, b, max), want);
	}
}

TEST(long_names)
{
	char a[4 * GR_NEAR_BYTES], b[GR_NEAR_BYTES + 1];

	memset(a, 'a', sizeof(a) - 1);
	a[sizeof(a) - 1] = '\0';
	memset(b, 'a', sizeof(b) - 1);
	b[sizeof(b) - 1] = '\0';
	assert_int_equal(gr_edit_distance(a, a, 3), 4);
	assert_int_equal(gr_edit_distance(b, b, 3), 0);
	assert_int_equal(gr_edit_distance(b, b + 2, 3), 2);
	assert_int_equal(gr_edit_distance("", "", 0), 0);
	assert_int_equal(gr_edit_distance("", "abc", 3), 3);
}

TEST(limit)
{
	static const struct {
		const char *name;
		unsigned int want;
	} rows[] = {
		{ "", 0 },
		{ "ab", 0 },
		{ "abc", 1 },
		{ "abcd", 2 },
		{ "abcdefgh", 2 },
		{ "abcdefghi", 3 },
		{ "abcdefghijklmnopqrstuvwxyz", 6 },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++)
		assert_int_equal(gr_near_limit(rows[i].name), rows[i].want);
}

TEST(order)
{
	struct gr_nearest nearest = { .count = 0 };
	char text[GR_NEAREST_TEXT];

	assert_string_equal(gr_nearest_text(&nearest, text), "");
	gr_nearest_enter(&nearest, "far", 5);
	assert_string_equal(gr_nearest_text(&nearest, text),
			    "; did you mean far?");
	gr_nearest_enter(&nearest, "near", 1);
	assert_string_equal(gr_nearest_text(&nearest, text),
			    "; did you mean near or far?");
	gr_nearest_enter(&nearest, "near", 1);
	gr_nearest_enter(&nearest, "too far", 6);
	gr_nearest_enter(&nearest, "as near", 1);
	gr_nearest_enter(&nearest, "farthest", 7);
	assert_string_equal(gr_nearest_text(&nearest, text),
			    "; did you mean near, as near or far?");
	gr_nearest_enter(&nearest, "nearest", 0);
	assert_string_equal(gr_nearest_text(&nearest, text),
			    "; did you mean nearest, near or as near?");
}

/* Names of a program may have any length. */
TEST(long_text)
{
	struct gr_nearest nearest = { .count = 0 };
	char text[GR_NEAREST_TEXT], names[3][1000];

	for (int i = 0; i < 3; i++) {
		memset(names[i], 'a' + i, sizeof(names[i]) - 1);
		names[i][sizeof(names[i]) - 1] = '\0';
		gr_nearest_enter(&nearest, names[i], 1);
	}
	gr_nearest_text(&nearest, text);
	assert_int_equal(strlen(text),
			 strlen("; did you mean , or ?") + 3 * 200 + 1);
	assert_null(strstr(text, "..."));
}

/* An error stays one line, whatever names the program has. */
TEST(names_of_a_program)
{
	struct gr_nearest nearest = { .count = 0 };
	char text[GR_NEAREST_TEXT];

	gr_nearest_enter(&nearest, "main.a\nb\x1b[1m", 1);
	gr_nearest_enter(&nearest, "main.\xc3\xa9\xff", 1);
	assert_string_equal(gr_nearest_text(&nearest, text),
			    "; did you mean main.a?b?[1m or main.\xc3\xa9?"
			    "?");
}

GR_SUITE("nearest")
