// SPDX-License-Identifier: Apache-2.0
/* checks: what a check of an error prints when it fails (cmocka.h). */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

enum { MAX_BYTES = 4096 };

static struct gr_error *fails(void)
{
	return gr_error_format(GR_ERROR_IO, "the disk is %s", "100 % full");
}

static void of_variable(void **state)
{
	(void)state;
	struct gr_error *err = fails();

	assert_null(err);
}

static void of_call(void **state)
{
	(void)state;
	assert_null(fails());
}

static void of_memory(void **state)
{
	(void)state;
	struct gr_error *err = &gr_enomem;

	assert_null(err);
}

static void of_kind(void **state)
{
	(void)state;
	struct gr_error *err = fails();

	assert_error_code(err, GR_ERROR_FAULT);
}

static void of_none(void **state)
{
	(void)state;
	struct gr_error *none = NULL;

	assert_non_null(none);
}

static void of_no_kind(void **state)
{
	(void)state;
	struct gr_error *none = NULL;

	assert_error_code(none, GR_ERROR_FAULT);
}

static void of_pointer(void **state)
{
	char text[] = "no error";

	(void)state;
	assert_null(strstr(text, "err"));
}

static void of_no_pointer(void **state)
{
	char text[] = "no error";

	(void)state;
	assert_non_null(strstr(text, "problem"));
}

static void of_text(void **state)
{
	(void)state;
	assert_fails(fails(), GR_ERROR_IO, "empty");
}

/* A check that fails. */
struct check_case {
	const char *name;
	CMUnitTestFunction test;
	const char *want;
};

static const struct check_case cases[] = {
	{ "a variable", of_variable, "err: the disk is 100 % full\n" },
	{ "a call", of_call, "fails(): the disk is 100 % full\n" },
	{ "no memory", of_memory, "err: out of memory\n" },
	{ "another kind", of_kind, ": the disk is 100 % full\n" },
	{ "another text", of_text, "\"empty\" is not in \"the disk is 100" },
	{ "no error", of_none, "none: no error, where one is due\n" },
	{ "no error of a kind", of_no_kind, "none: no error, where one" },
	{ "a pointer", of_pointer, "strstr(text, \"err\")" },
	{ "no pointer", of_no_pointer, "strstr(text, \"problem\")" },
};

/* Each check printed this, and ended in this way. */
static struct outcome {
	char printed[MAX_BYTES];
	int status;
} outcomes[GR_ARRAY_SIZE(cases)];

/* Run the check in a process of its own: cmocka cannot run within cmocka. */
static void run_case(const struct check_case *c, struct outcome *o)
{
	const struct CMUnitTest tests[] = { { c->name, c->test, NULL, NULL,
					      NULL } };
	int fds[2];
	size_t used = 0;
	ssize_t got;

	if (pipe(fds))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		int failed = cmocka_run_group_tests(tests, NULL, NULL);
		fflush(NULL);
		_exit(failed);
	}
	close(fds[1]);
	while (pid > 0 && used < MAX_BYTES - 1 &&
	       (got = read(fds[0], o->printed + used, MAX_BYTES - 1 - used)) >
		       0)
		used += (size_t)got;
	close(fds[0]);
	waitpid(pid, &o->status, 0);
}

TEST_ROWS(prints, cases, c)
{
	const struct outcome *o = &outcomes[c - cases];

	assert_true(WIFEXITED(o->status));
	assert_int_equal(WEXITSTATUS(o->status), 1);
	if (!strstr(o->printed, c->want))
		fail_msg("\"%s\" is not in \"%s\"", c->want, o->printed);
	if (!strstr(o->printed, "test_checks.c:"))
		fail_msg("no line is named in \"%s\"", o->printed);
}

TEST(passes)
{
	struct gr_error *err = NULL;
	const void *none = NULL;

	assert_null(err);
	assert_null(none);
	assert_non_null(&none);
	err = fails();
	assert_non_null(err);
	assert_error_code(err, GR_ERROR_IO);
	gr_error_destroy(err);
}

int main(void)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(cases); i++)
		run_case(&cases[i], &outcomes[i]);
	return suite_run("checks", NULL, NULL);
}
