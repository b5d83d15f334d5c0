// SPDX-License-Identifier: Apache-2.0
/* arena: blocks, interned strings, and what becomes of bytes that are no text. */
#include "base/arena.h"

#include "suite.h"

static struct gr_arena *setup(void)
{
	return calloc(1, sizeof(struct gr_arena));
}

static void teardown(struct gr_arena *arena)
{
	gr_arena_deinit(arena);
	free(arena);
}

#define FIXTURE struct gr_arena *arena, setup, teardown

static bool is_zero(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return true;
}

TEST_F(alloc)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 4096, 65535 };
	uint8_t *pieces[64 * GR_ARRAY_SIZE(sizes)];
	size_t n = 0;

	for (; n < GR_ARRAY_SIZE(pieces); n++) {
		size_t bytes = sizes[n % GR_ARRAY_SIZE(sizes)];

		pieces[n] = gr_arena_alloc(arena, bytes);
		assert_non_null(pieces[n]);
		assert_int_equal((uintptr_t)pieces[n] % 8, 0);
		assert_true(is_zero(pieces[n], bytes));
		memset(pieces[n], (int)(n % 255) + 1, bytes);
	}
	// No piece was touched by a later one.
	for (n = 0; n < GR_ARRAY_SIZE(pieces); n++)
		for (size_t i = 0; i < sizes[n % GR_ARRAY_SIZE(sizes)]; i++)
			assert_int_equal(pieces[n][i], n % 255 + 1);
}

TEST_F(big_block_keeps_the_current_one)
{
	enum { BIG = 3 << 20 };
	uint8_t *first = gr_arena_alloc(arena, 8);
	uint8_t *big = gr_arena_alloc(arena, BIG);
	uint8_t *second = gr_arena_alloc(arena, 8);

	assert_non_null(big);
	assert_true(is_zero(big, BIG));
	memset(big, 0xff, BIG);
	assert_ptr_equal(second, first + 8);
	assert_true(is_zero(second, 8));
}

TEST_F(big_block_first)
{
	enum { BIG = 1 << 20 };
	uint8_t *big = gr_arena_alloc(arena, BIG);
	uint8_t *small = gr_arena_alloc(arena, 16);

	assert_non_null(big);
	assert_non_null(small);
	memset(big, 0xff, BIG);
	assert_true(is_zero(small, 16));
}

TEST_F(absurd_size)
{
	assert_null(gr_arena_alloc(arena, SIZE_MAX));
	assert_null(gr_arena_alloc(arena, SIZE_MAX - 7));
	assert_null(gr_arena_alloc(arena, PTRDIFF_MAX));
	assert_non_null(gr_arena_alloc(arena, 8));
}

TEST_F(intern_once)
{
	char text[] = "main.Node";
	const char *first = gr_arena_intern(arena, text, 9);

	assert_ptr_not_equal(first, text);
	assert_string_equal(first, "main.Node");
	assert_ptr_equal(gr_arena_intern(arena, "main.Node", 9), first);
	assert_ptr_equal(gr_arena_internf(arena, "%s.%s", "main", "Node"),
			 first);
	text[0] = 'M';
	assert_string_equal(first, "main.Node");
	assert_ptr_not_equal(gr_arena_intern(arena, text, 9), first);
}

TEST_F(intern_prefixes)
{
	const char *all = gr_arena_intern(arena, "abcdef", 6);
	const char *part = gr_arena_intern(arena, "abcdef", 3);

	assert_string_equal(all, "abcdef");
	assert_string_equal(part, "abc");
	assert_ptr_not_equal(all, part);
	assert_ptr_equal(gr_arena_intern(arena, "abc", 3), part);
}

TEST_F(intern_empty)
{
	const char *empty = gr_arena_intern(arena, "", 0);

	assert_string_equal(empty, "");
	assert_ptr_equal(gr_arena_internf(arena, "%s", ""), empty);
}

TEST_F(two_arenas)
{
	struct gr_arena other = { NULL, NULL };
	const char *text = gr_arena_intern(&other, "x", 1);

	assert_ptr_not_equal(gr_arena_intern(arena, "x", 1), text);
	gr_arena_deinit(&other);
	// An arena that is gone can begin again.
	assert_string_equal(gr_arena_intern(&other, "x", 1), "x");
	gr_arena_deinit(&other);
}

TEST_F(intern_many)
{
	enum { MANY = 20000 };
	const char **texts = calloc(MANY, sizeof(*texts));
	char want[32];

	assert_non_null(texts);
	for (int i = 0; i < MANY; i++)
		texts[i] = gr_arena_internf(arena, "goroutine %d", i);
	for (int i = 0; i < MANY; i++) {
		snprintf(want, sizeof(want), "goroutine %d", i);
		assert_string_equal(texts[i], want);
		assert_ptr_equal(gr_arena_intern(arena, want, strlen(want)),
				 texts[i]);
	}
	free(texts);
}

TEST_F(intern_long)
{
	enum { LONG = 1 << 20 };
	char *text = malloc(LONG);

	assert_non_null(text);
	memset(text, 'n', LONG);
	const char *copy = gr_arena_intern(arena, text, LONG);
	assert_int_equal(strlen(copy), LONG);
	assert_ptr_equal(gr_arena_intern(arena, text, LONG), copy);
	free(text);
}

// ------------------------------------------------------------------- UTF-8

struct text_case {
	const char *name;
	const char *text;
	uint8_t bytes;
	const char *want;
};

static const struct text_case text_cases[] = {
	{ "plain text stays", "main.T", 6, "main.T" },
	{ "two-byte letter stays", "gr\xc3\xbc\xc3\x9f", 6,
	  "gr\xc3\xbc\xc3\x9f" },
	{ "three-byte letter stays", "\xe4\xb8\x96", 3, "\xe4\xb8\x96" },
	{ "four-byte letter stays", "\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80" },
	{ "Go's middle dot stays",
	  "a\xc2\xb7"
	  "b",
	  4,
	  "a\xc2\xb7"
	  "b" },
	{ "last code point stays", "\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf" },
	{ "control characters go", "a\tb\n\x1b[m", 7, "a?b??[m" },
	{ "delete goes", "a\x7f", 2, "a?" },
	{ "a NUL inside goes", "a\0b", 3, "a?b" },
	{ "controls of a terminal go", "a\xc2\x9b[m\xc2\x85", 7, "a??[m??" },
	{ "direction marks go", "a\u202eb\u2066", 8, "a???b???" },
	{ "ends of lines go", "a\u2028b", 5, "a???b" },
	{ "joiners stay", "a\u200d\u200cb", 8, "a\u200d\u200cb" },
	{ "lone continuation", "a\x80z", 3, "a?z" },
	{ "never a first byte", "\xff\xfe\xc0\xc1", 4, "????" },
	{ "two-byte letter cut off", "a\xc3", 2, "a?" },
	{ "three-byte letter cut off", "a\xe4\xb8", 3, "a??" },
	{ "four-byte letter cut off", "\xf0\x9f\x98", 3, "???" },
	{ "text goes on after a broken letter", "\xe4zz", 3, "?zz" },
	{ "overlong two bytes", "\xc0\xaf", 2, "??" },
	{ "overlong three bytes", "\xe0\x80\xaf", 3, "???" },
	{ "overlong four bytes", "\xf0\x80\x80\xaf", 4, "????" },
	{ "half of a surrogate pair", "\xed\xa0\x80", 3, "???" },
	{ "past the last code point", "\xf4\x90\x80\x80", 4, "????" },
	{ "first byte past f4", "\xf5\x80\x80\x80", 4, "????" },
};

TEST_ROWS(text, text_cases, c)
{
	struct gr_arena arena = { NULL, NULL };
	char *exact = malloc(c->bytes);

	// Nothing past the given bytes may be looked at.
	assert_non_null(exact);
	memcpy(exact, c->text, c->bytes);
	const char *got = gr_arena_intern(&arena, exact, c->bytes);
	assert_string_equal(got, c->want);
	assert_ptr_equal(gr_arena_intern(&arena, c->want, strlen(c->want)),
			 got);
	free(exact);
	gr_arena_deinit(&arena);
}

GR_SUITE("arena")
