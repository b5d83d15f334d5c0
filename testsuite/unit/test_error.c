// SPDX-License-Identifier: Apache-2.0
/* error: messages, prefixes, catching, and the static out-of-memory error. */
#include "base/error.h"

#include "rows.h"

static void test_format(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_format(GR_ERROR_LAYOUT, "%s has no %d",
					       "runtime.g", 42);

	assert_int_equal(err->code, GR_ERROR_LAYOUT);
	assert_string_equal(err->message, "runtime.g has no 42");
	gr_error_destroy(err);
}

static void test_format_empty(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_format(GR_ERROR_IO, "%s", "");

	assert_string_equal(err->message, "");
	err = gr_error_prefix(err, "open: ");
	assert_string_equal(err->message, "open: ");
	gr_error_destroy(err);
}

static void test_format_long(void **state)
{
	(void)state;
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

static void test_fault(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_fault(UINT64_MAX, 1 << 20);

	assert_int_equal(err->code, GR_ERROR_FAULT);
	assert_string_equal(err->message, "cannot read 1048576 bytes of target "
					  "memory at 0xffffffffffffffff");
	gr_error_destroy(err);
}

static void test_prefix_keeps_the_kind(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_fault(0x1000, 8);
	struct gr_error *same = gr_error_prefix(err, "allgs[%d]: ", 7);

	assert_ptr_equal(same, err);
	assert_int_equal(same->code, GR_ERROR_FAULT);
	assert_string_equal(
		same->message,
		"allgs[7]: cannot read 8 bytes of target memory at 0x1000");
	gr_error_destroy(same);
}

static void test_prefix_twice(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_format(GR_ERROR_IO, "no such file");

	err = gr_error_prefix(err, "main.debug: ");
	err = gr_error_prefix(err, "main: ");
	assert_string_equal(err->message, "main: main.debug: no such file");
	gr_error_destroy(err);
}

/* Names of files and expressions may hold anything. */
static void test_format_controls(void **state)
{
	(void)state;
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
static void test_prefix_percent_signs(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_format(GR_ERROR_FORMAT, "%s", "%s%n");

	err = gr_error_prefix(err, "%s: ", "%d");
	assert_string_equal(err->message, "%d: %s%n");
	gr_error_destroy(err);
}

static void test_enomem_stays_itself(void **state)
{
	(void)state;
	struct gr_error *err = gr_error_prefix(&gr_enomem, "reading: ");

	assert_ptr_equal(err, &gr_enomem);
	assert_int_equal(err->code, GR_ERROR_NO_MEMORY);
	assert_string_equal(err->message, "out of memory");
	gr_error_destroy(err);
	gr_error_destroy(&gr_enomem);
	assert_string_equal(gr_enomem.message, "out of memory");
}

static void test_destroy_null(void **state)
{
	(void)state;
	gr_error_destroy(NULL);
}

static void test_catch_enomem(void **state)
{
	(void)state;
	struct gr_error *err = &gr_enomem;

	assert_false(gr_error_catch(&err, GR_ERROR_FAULT));
	assert_ptr_equal(err, &gr_enomem);
	assert_true(gr_error_catch(&err, GR_ERROR_NO_MEMORY));
	assert_null(err);
	assert_string_equal(gr_enomem.message, "out of memory");
}

static void test_catch_nothing(void **state)
{
	(void)state;
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

static void test_catch(void **state)
{
	const struct catch_case *c = *state;

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_format_empty),
		cmocka_unit_test(test_format_long),
		cmocka_unit_test(test_format_controls),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_prefix_keeps_the_kind),
		cmocka_unit_test(test_prefix_twice),
		cmocka_unit_test(test_prefix_percent_signs),
		cmocka_unit_test(test_enomem_stays_itself),
		cmocka_unit_test(test_destroy_null),
		cmocka_unit_test(test_catch_enomem),
		cmocka_unit_test(test_catch_nothing),
	};

	return ROWS_RUN("catching errors", catch_cases, test_catch) +
	       cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
