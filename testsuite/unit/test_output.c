// SPDX-License-Identifier: Apache-2.0
// What becomes of the file that is written: whole or not at all.
#include "profile_fixture.h"

#include <sys/stat.h>

#include "proto/output.h"

static struct gr_error *interrupt(void *ctx)
{
	(void)ctx;
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

static void test_interrupted(void **state)
{
	(void)state;
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	char old[8] = "";
	FILE *f = fopen(file_path("old"), "w");

	fputs("before", f);
	fclose(f);
	profile.poll = interrupt;
	struct gr_error *err =
		gr_profile_write(&profile, file_path("old"), &stats);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_INTERRUPTED);
	gr_error_destroy(err);
	read_bytes(file_path("old"), old, sizeof(old) - 1);
	assert_string_equal(old, "before");
}

static void expect_unwritable(const char *path, const char *reason)
{
	struct gr_error *err = gr_profile_check_writable(path);

	assert_non_null(err);
	if (!strstr(err->message, reason))
		fail_msg("\"%s\" does not say \"%s\"", err->message, reason);
	gr_error_destroy(err);
}

static void test_check_writable(void **state)
{
	(void)state;
	struct stat st;

	must(gr_profile_check_writable(file_path("new")));
	assert_int_equal(stat(file_path("new"), &st), -1);
	must(gr_profile_check_writable("/dev/null"));
	expect_unwritable(dir, "Is a directory");
	expect_unwritable(file_path("no/such"), "No such file or directory");
	expect_unwritable("", "empty");
	expect_unwritable("/proc/x", "cannot write /proc/x");
}

// A device stays a device, and what a link names is written, not the link.
static void test_special(void **state)
{
	(void)state;
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	struct stat st;

	must(gr_profile_write(&profile, "/dev/null", &stats));
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	must(gr_profile_write(&profile, file_path("aim"), &stats));
	assert_int_equal(symlink("aim", file_path("link")), 0);
	must(gr_profile_write(&profile, file_path("link"), &stats));
	assert_int_equal(lstat(file_path("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_full_disk(void **state)
{
	(void)state;
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	if (access("/dev/full", W_OK))
		skip();
	struct gr_error *err = gr_profile_write(&profile, "/dev/full", &stats);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_IO);
	assert_non_null(strstr(err->message, "No space left"));
	gr_error_destroy(err);
}

// Text is written as it is, and only when all of it is there.
static void test_plain(void **state)
{
	(void)state;
	struct gr_output out;
	char text[16] = "";
	struct stat st;

	must(gr_output_init(&out, file_path("text"), GR_OUTPUT_PLAIN));
	must(gr_output_write(&out, "0xc0 8\n", 7));
	assert_int_equal(stat(file_path("text"), &st), -1);
	must(gr_output_commit(&out));
	gr_output_deinit(&out);
	assert_int_equal(read_bytes(file_path("text"), text, sizeof(text)), 7);
	assert_string_equal(text, "0xc0 8\n");
	must(gr_output_init(&out, file_path("text"), GR_OUTPUT_PLAIN));
	must(gr_output_write(&out, "half", 4));
	gr_output_deinit(&out);
	assert_int_equal(read_bytes(file_path("text"), text, sizeof(text)), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_check_writable),
		cmocka_unit_test(test_special),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_plain),
	};

	if (!mkdtemp(dir))
		return 99;
	return cmocka_run_group_tests_name("output", tests, NULL, remove_dir);
}
