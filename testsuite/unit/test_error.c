// SPDX-License-Identifier: Apache-2.0
/* error: messages, prefixes, catching, and the static out-of-memory error. */
#include "base/error.h"

#include "suite.h"

TEST(format)
{
	struct gr_error *err = gr_error_format(GR_ERROR_LAYOUT, "%s has no %d",
					       "runtime.g", 42);

	assert_int_equal(err->code, GR_ERROR_LAYOUT);
	assert_string_equal(err->message, "runtime.g has no 42");
	gr_error_destroy(err);
}

TEST(format_empty)
{
	struct gr_error *err = gr_error_format(GR_ERROR_IO, "%s", "");

	assert_string_equal(err->message, "");
	err = gr_error_prefix(err, "open: ");
	assert_string_equal(err->message, "open: ");
	gr_error_destroy(err);
}

TEST(format_long)
{
	enum { LONG = 100000 };
	char *text = malloc(LONG + 1);

	assert_non_null(text);
	memset(text, 'x', LONG);
	text[LONG] = '\0';
	struct gr_error *err = gr_error_format(GR_ERROR_FORMAT, "%s", text);
	err = gr_error_prefix(err, "%s", text);
	assert_int_equal(strlen(err->message), 2 * LONG);
	gr_error_destroy(err);
	free(text);
}

TEST(fault)
{
	struct gr_error *err = gr_error_fault(UINT64_MAX, 1 << 20);

	assert_int_equal(err->code, GR_ERROR_FAULT);
	assert_string_equal(err->message, "cannot read 1048576 bytes of target "
					  "memory at 0xffffffffffffffff");
	gr_error_destroy(err);
}

TEST(prefix_keeps_the_kind)
{
	struct gr_error *err = gr_error_fault(0x1000, 8);
	struct gr_error *same = gr_error_prefix(err, "allgs[%d]: ", 7);

	assert_ptr_equal(same, err);
	assert_int_equal(same->code, GR_ERROR_FAULT);
	assert_string_equal(
		same->message,
		"allgs[7]: cannot read 8 bytes of target memory at 0x1000");
	gr_error_destroy(same);
}

TEST(prefix_twice)
{
	struct gr_error *err = gr_error_format(GR_ERROR_IO, "no such file");

	err = gr_error_prefix(err, "main.debug: ");
	err = gr_error_prefix(err, "main: ");
	assert_string_equal(err->message, "main: main.debug: no such file");
	gr_error_destroy(err);
}

/* Names of files and expressions may hold anything. */
TEST(format_controls)
{
	struct gr_error *err =
		gr_error_format(GR_ERROR_IO, "cannot open %s",
				"a\nb\x1b[31m\x7f\t\xff\xc3\xbc");

	assert_string_equal(err->message, "cannot open a?b?[31m???\xc3\xbc");
	gr_error_destroy(err);
	err = gr_error_format(GR_ERROR_IO, "%s",
			      "\xc2\x9b"
			      "31m\u202e");
	err = gr_error_prefix(err, "%s: ", "\x1b[m");
	assert_string_equal(err->message, "?[m: ??31m???");
	gr_error_destroy(err);
}

/* A message is text, not a format: what it quotes comes from the target. */
TEST(prefix_percent_signs)
{
	struct gr_error *err = gr_error_format(GR_ERROR_FORMAT, "%s", "%s%n");

	err = gr_error_prefix(err, "%s: ", "%d");
	assert_string_equal(err->message, "%d: %s%n");
	gr_error_destroy(err);
}

TEST(enomem_stays_itself)
{
	struct gr_error *err = gr_error_prefix(&gr_enomem, "reading: ");

	assert_ptr_equal(err, &gr_enomem);
	assert_int_equal(err->code, GR_ERROR_NO_MEMORY);
	assert_string_equal(err->message, "out of memory");
	gr_error_destroy(err);
	gr_error_destroy(&gr_enomem);
	assert_string_equal(gr_enomem.message, "out of memory");
}

TEST(destroy_null)
{
	gr_error_destroy(NULL);
}

TEST(catch_enomem)
{
	struct gr_error *err = &gr_enomem;

	assert_false(gr_error_catch(&err, GR_ERROR_FAULT));
	assert_ptr_equal(err, &gr_enomem);
	assert_true(gr_error_catch(&err, GR_ERROR_NO_MEMORY));
	assert_null(err);
	assert_string_equal(gr_enomem.message, "out of memory");
}

TEST(catch_nothing)
{
	struct gr_error *err = NULL;

	assert_false(gr_error_catch(&err, GR_ERROR_NO_MEMORY));
	assert_false(gr_error_catch(&err, GR_ERROR_FAULT));
	assert_null(err);
}

/* Every kind is caught by its own code and by no other. */
struct catch_case {
	const char *name;
	enum gr_error_code code;
};

static const struct catch_case catch_cases[] = {
	{ "catch: no memory", GR_ERROR_NO_MEMORY },
	{ "catch: fault", GR_ERROR_FAULT },
	{ "catch: interrupted", GR_ERROR_INTERRUPTED },
	{ "catch: I/O", GR_ERROR_IO },
	{ "catch: format", GR_ERROR_FORMAT },
	{ "catch: architecture", GR_ERROR_ARCH },
	{ "catch: not Go", GR_ERROR_NOT_GO },
	{ "catch: no DWARF", GR_ERROR_NO_DWARF },
	{ "catch: layout", GR_ERROR_LAYOUT },
	{ "catch: mismatch", GR_ERROR_MISMATCH },
	{ "catch: argument", GR_ERROR_ARGUMENT },
	{ "catch: not found", GR_ERROR_NOT_FOUND },
	{ "catch: limit", GR_ERROR_LIMIT },
};

TEST_ROWS(catch, catch_cases, c)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(catch_cases); i++) {
		struct gr_error *err = gr_error_format(c->code, "text");
		bool caught = gr_error_catch(&err, catch_cases[i].code);

		assert_int_equal(caught, catch_cases[i].code == c->code);
		if (caught)
			assert_null(err);
		else
			assert_string_equal(err->message, "text");
		gr_error_destroy(err);
	}
}

GR_SUITE("errors")
