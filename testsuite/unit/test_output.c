// SPDX-License-Identifier: Apache-2.0
// output: the file is written as a whole or not at all.
#include "profile_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "proto/nameless.h"
#include "proto/output.h"

enum { NOBODY = 65534 };

// Each test runs in each of these ways.
static int no_nameless; // what creating files without a name fails with
static int no_link;	// or giving them their name
static int last_nameless;

int __real_gr_nameless_create(const char *path, mode_t mode);
int __wrap_gr_nameless_create(const char *path, mode_t mode);
int __wrap_gr_nameless_create(const char *path, mode_t mode)
{
	errno = no_nameless;
	last_nameless = no_nameless ? -1 :
				      __real_gr_nameless_create(path, mode);
	return last_nameless;
}

int __real_gr_nameless_link(int fd, const char *path);
int __wrap_gr_nameless_link(int fd, const char *path);
int __wrap_gr_nameless_link(int fd, const char *path)
{
	errno = no_link;
	return no_link ? -1 : __real_gr_nameless_link(fd, path);
}

static int no_owner; // what fchown() fails with

int __real_fchown(int fd, uid_t uid, gid_t gid);
int __wrap_fchown(int fd, uid_t uid, gid_t gid);
int __wrap_fchown(int fd, uid_t uid, gid_t gid)
{
	errno = no_owner;
	return no_owner ? -1 : __real_fchown(fd, uid, gid);
}

static size_t count_files(void)
{
	DIR *list = opendir(dir);
	size_t found = 0;

	assert_non_null(list);
	while (readdir(list))
		found++;
	closedir(list);
	return found;
}

TEST(interrupted)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	char old[8] = "";
	FILE *f = fopen(file_path("old"), "w");

	fputs("before", f);
	fclose(f);
	profile.poll = suite_refuse;
	struct gr_error *err =
		gr_profile_write(&profile, file_path("old"), &stats);
	assert_error_code(err, GR_ERROR_INTERRUPTED);
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

TEST(check_writable)
{
	struct stat st;

	assert_null(gr_profile_check_writable(file_path("new")));
	assert_int_equal(stat(file_path("new"), &st), -1);
	assert_null(gr_profile_check_writable("/dev/null"));
	expect_unwritable(dir, "Is a directory");
	expect_unwritable(file_path("no/such"), "No such file or directory");
	expect_unwritable("", "empty");
	expect_unwritable("/proc/x", "cannot write /proc/x");
}

// A device stays a device, and what a link names is written, not the link.
TEST(special)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	struct stat st;

	assert_null(gr_profile_write(&profile, "/dev/null", &stats));
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_null(gr_profile_write(&profile, file_path("aim"), &stats));
	assert_int_equal(symlink("aim", file_path("link")), 0);
	assert_null(gr_profile_write(&profile, file_path("link"), &stats));
	assert_int_equal(lstat(file_path("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

TEST(full_disk)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	if (access("/dev/full", W_OK))
		skip();
	assert_fails(gr_profile_write(&profile, "/dev/full", &stats),
		     GR_ERROR_IO, "No space left");
}

// Text is written as it is, and only when all of it is there.
TEST(plain)
{
	struct gr_output out;
	char text[16] = "";
	struct stat st;

	assert_null(gr_output_init(&out, file_path("text"), GR_OUTPUT_PLAIN));
	assert_null(gr_output_write(&out, "0xc0 8\n", 7));
	assert_int_equal(stat(file_path("text"), &st), -1);
	assert_null(gr_output_commit(&out));
	gr_output_deinit(&out);
	assert_int_equal(read_bytes(file_path("text"), text, sizeof(text)), 7);
	assert_string_equal(text, "0xc0 8\n");
	assert_null(gr_output_init(&out, file_path("text"), GR_OUTPUT_PLAIN));
	assert_null(gr_output_write(&out, "half", 4));
	gr_output_deinit(&out);
	assert_int_equal(read_bytes(file_path("text"), text, sizeof(text)), 7);
}

static void create(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(file_path(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(file_path(name), mode), 0);
}

static void write_text(const char *name, const char *text)
{
	_cleanup_(gr_output_deinit) struct gr_output out;

	assert_null(gr_output_check(file_path(name)));
	assert_null(gr_output_init(&out, file_path(name), GR_OUTPUT_PLAIN));
	assert_null(gr_output_write(&out, text, strlen(text)));
	assert_null(gr_output_commit(&out));
}

static void expect_file(const char *name, const char *text, uid_t owner,
			mode_t mode)
{
	char have[16] = "";
	struct stat st;

	assert_int_equal(stat(file_path(name), &st), 0);
	assert_int_equal(st.st_uid, owner);
	assert_int_equal(st.st_mode & 07777, mode);
	read_bytes(file_path(name), have, sizeof(have) - 1);
	assert_string_equal(have, text);
}

// Write as a user who is not root, in a process of its own.
static void write_as_nobody(const char *name, const char *text)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct gr_output out;
		bool is_fine = !setgid(NOBODY) && !setuid(NOBODY) &&
			       !gr_output_init(&out, file_path(name),
					       GR_OUTPUT_PLAIN) &&
			       !gr_output_write(&out, text, strlen(text)) &&
			       !gr_output_commit(&out);
		_exit(!is_fine);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

// A file that exists keeps who may read it; a new one follows the umask.
TEST(mode)
{
	mode_t umask_before = umask(022);

	create("kept", "old", 0600);
	write_text("kept", "new");
	expect_file("kept", "new", geteuid(), 0600);
	create("kept", "old", 0666);
	write_text("kept", "newer");
	expect_file("kept", "newer", geteuid(), 0666);
	write_text("fresh", "first");
	expect_file("fresh", "first", geteuid(), 0644);
	umask(umask_before);
}

// While it is written, the new file is for nobody else either.
TEST(mode_meanwhile)
{
	_cleanup_(gr_output_deinit) struct gr_output out;
	struct stat st;

	create("secret", "old", 0600);
	assert_null(gr_output_init(&out, file_path("secret"), GR_OUTPUT_PLAIN));
	if (out.temp_path)
		assert_int_equal(stat(out.temp_path, &st), 0);
	else
		assert_int_equal(fstat(last_nameless, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

// A kill before the end leaves no name, if the file system can do it.
TEST(names_meanwhile)
{
	static const char *const names[] = { "fresh", "kept", "mine" };

	unlink(file_path("fresh"));
	create("kept", "old", 0644);
	create("mine", "old", 0644);
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		_cleanup_(gr_output_deinit) struct gr_output out;
		size_t before = count_files();
		bool is_copied = !strcmp(names[i], "mine");

		if (is_copied && geteuid())
			continue;
		if (is_copied)
			assert_int_equal(chown(file_path("mine"), NOBODY, 0),
					 0);
		no_owner = EPERM;
		assert_null(gr_output_check(file_path(names[i])));
		assert_null(gr_output_init(&out, file_path(names[i]),
					   GR_OUTPUT_PLAIN));
		no_owner = 0;
		assert_null(gr_output_write(&out, "new", 3));
		assert_int_equal(count_files(), before + !!no_nameless);
		assert_null(gr_output_commit(&out));
		assert_int_equal(count_files(), before + !i);
		expect_file(names[i], "new", is_copied ? NOBODY : geteuid(),
			    0644);
	}
	unlink(file_path("mine"));
}

// A file that others have put there meanwhile is replaced.
TEST(comes_meanwhile)
{
	_cleanup_(gr_output_deinit) struct gr_output out;
	mode_t umask_before = umask(022);

	unlink(file_path("fresh"));
	assert_null(gr_output_init(&out, file_path("fresh"), GR_OUTPUT_PLAIN));
	umask(umask_before);
	assert_null(gr_output_write(&out, "new", 3));
	create("fresh", "of others", 0600);
	size_t before = count_files();
	assert_null(gr_output_commit(&out));
	assert_int_equal(count_files(), before - !!no_nameless);
	// Only the copy asks again who may read it.
	expect_file("fresh", "new", geteuid(),
		    no_link && !no_nameless ? 0600 : 0644);
}

// A file without a name is written in place. What its link seems to lead to is
// another file.
TEST(nameless_target)
{
	char path[64], seen[300] = "", have[16] = "";

	int fd = __real_gr_nameless_create(file_path("x"), 0600);
	if (fd < 0)
		skip();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(readlink(path, seen, sizeof(seen) - 1) > 0);
	for (int i = 0; i < 2; i++) {
		size_t before = count_files();
		_cleanup_(gr_output_deinit) struct gr_output out;

		assert_null(gr_output_check(path));
		assert_null(gr_output_init(&out, path, GR_OUTPUT_PLAIN));
		assert_null(gr_output_write(&out, i ? "short" : "longer text",
					    i ? 5 : 11));
		assert_null(gr_output_commit(&out));
		memset(have, 0, sizeof(have));
		assert_true(pread(fd, have, sizeof(have) - 1, 0) > 0);
		assert_string_equal(have, i ? "short" : "longer text");
		assert_int_equal(count_files(), before);
		// The second time, the name is there.
		int other = open(seen, O_CREAT | O_RDWR, 0600);
		assert_true(other >= 0);
		assert_int_equal(pread(other, have, 1, 0), 0);
		close(other);
	}
	unlink(seen);
	close(fd);
}

// The umask holds, and so does the list that a folder gives its files.
TEST(folder_list)
{
	// user::rwx group::r-x other::---
	static const uint16_t list[] = {
		2, 0,	   0x01,   7,	 0xffff, 0xffff, 0x04,
		5, 0xffff, 0xffff, 0x20, 0,	 0xffff, 0xffff,
	};
	mode_t umask_before = umask(077);

	unlink(file_path("fresh"));
	write_text("fresh", "new");
	expect_file("fresh", "new", geteuid(), 0600);
	unlink(file_path("fresh"));
	int rc = setxattr(dir, "system.posix_acl_default", list, sizeof(list),
			  0);
	if (!rc) {
		write_text("fresh", "new");
		expect_file("fresh", "new", geteuid(), 0640);
		removexattr(dir, "system.posix_acl_default");
	}
	umask(umask_before);
}

// Root writes another user's file, which stays that user's.
TEST(owner)
{
	struct stat st;

	if (geteuid())
		skip();
	create("theirs", "old", 0640);
	assert_int_equal(chown(file_path("theirs"), NOBODY, NOBODY), 0);
	write_text("theirs", "new");
	expect_file("theirs", "new", NOBODY, 0640);
	assert_int_equal(stat(file_path("theirs"), &st), 0);
	assert_int_equal(st.st_gid, NOBODY);
}

// Who may write a file but not give it away writes it at its place.
TEST(not_the_owner)
{
	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 0777), 0);
	create("shared", "a longer text", 0666);
	write_as_nobody("shared", "short");
	expect_file("shared", "short", 0, 0666);
	create("group", "a longer text", 0664);
	assert_int_equal(chown(file_path("group"), NOBODY, 0), 0);
	write_as_nobody("group", "short");
	expect_file("group", "short", NOBODY, 0664);
	write_as_nobody("made", "first");
	assert_int_equal(chmod(file_path("made"), 0600), 0);
	write_as_nobody("made", "again");
	expect_file("made", "again", NOBODY, 0600);
	assert_int_equal(chmod(dir, 0700), 0);
}

// Another name of the file keeps what it had: no moment has a part of either.
TEST(hard_link)
{
	char one[256];

	create("one", "a longer text", 0640);
	snprintf(one, sizeof(one), "%s", file_path("one"));
	assert_int_equal(link(one, file_path("two")), 0);
	write_text("one", "new");
	expect_file("one", "new", geteuid(), 0640);
	expect_file("two", "a longer text", geteuid(), 0640);
}

static int full_disk; // or what else fallocate() fails with

int __real_fallocate(int fd, int mode, off_t off, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t off, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t off, off_t bytes)
{
	errno = full_disk;
	return full_disk ? -1 : __real_fallocate(fd, mode, off, bytes);
}

// A full disk leaves what was there: room comes before the first byte.
TEST(not_the_owner_without_room)
{
	_cleanup_(gr_output_deinit) struct gr_output out = { .fd = -1 };

	if (geteuid())
		skip();
	create("mine", "a longer text", 0640);
	assert_int_equal(chown(file_path("mine"), NOBODY, NOBODY), 0);
	no_owner = EPERM;
	assert_null(gr_output_init(&out, file_path("mine"), GR_OUTPUT_PLAIN));
	no_owner = 0;
	assert_null(gr_output_write(&out, "new content", 11));
	expect_file("mine", "a longer text", NOBODY, 0640);
	full_disk = ENOSPC;
	struct gr_error *err = gr_output_commit(&out);
	full_disk = 0;
	assert_non_null(err);
	assert_non_null(strstr(err->message, "No space left"));
	assert_non_null(strstr(err->message, "name another file"));
	gr_error_destroy(err);
	expect_file("mine", "a longer text", NOBODY, 0640);
}

// A file that only the owner may read, new or in the place of one for others.
TEST(private)
{
	static const char *const names[] = { "fresh", "kept", "one" };
	mode_t umask_before = umask(022);

	unlink(file_path("fresh"));
	unlink(file_path("two"));
	create("kept", "old", 0644);
	create("one", "old", 0664);
	char one[256];
	snprintf(one, sizeof(one), "%s", file_path("one"));
	assert_int_equal(link(one, file_path("two")), 0);
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		_cleanup_(gr_output_deinit) struct gr_output out;

		assert_null(gr_output_init(&out, file_path(names[i]),
					   GR_OUTPUT_PRIVATE));
		assert_null(gr_output_write(&out, "new", 3));
		assert_null(gr_output_commit(&out));
		expect_file(names[i], "new", geteuid(), 0600);
	}
	expect_file("two", "old", geteuid(), 0664);
	umask(umask_before);
}

// user::rw- user:65534:r-- group::--- mask::r-- other::---
static const uint16_t acl[] = {
	2,	0,	0x01, 6, 0xffff, 0xffff, 0x02, 4,
	NOBODY, 0,	0x04, 0, 0xffff, 0xffff, 0x10, 4,
	0xffff, 0xffff, 0x20, 0, 0xffff, 0xffff,
};

// The mode of a file with such a list says of the group what holds for others.
TEST(access_list)
{
	static const char name[] = "system.posix_acl_access";
	char have[sizeof(acl)];

	create("listed", "a longer text", 0600);
	if (setxattr(file_path("listed"), name, acl, sizeof(acl), 0))
		skip();
	write_text("listed", "new");
	expect_file("listed", "new", geteuid(), 0640);
	assert_int_equal(getxattr(file_path("listed"), name, have,
				  sizeof(have)),
			 sizeof(have));
	assert_memory_equal(have, acl, sizeof(acl));
}

static void expect_link(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(file_path(name), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

// A link that leads to nothing yet makes what it names, as in a shell.
TEST(dangling_link)
{
	struct stat st;

	assert_int_equal(mkdir(file_path("below"), 0700), 0);
	assert_int_equal(symlink("below/second", file_path("first")), 0);
	assert_int_equal(symlink("../third", file_path("below/second")), 0);
	write_text("first", "text");
	expect_link("first");
	expect_link("below/second");
	assert_int_equal(lstat(file_path("third"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, 4);
	assert_int_equal(symlink("no/such/folder", file_path("astray")), 0);
	expect_unwritable(file_path("astray"), "No such file or directory");
	expect_link("astray");
}

TEST(circular_link)
{
	struct gr_output out;

	assert_int_equal(symlink("round", file_path("round")), 0);
	expect_unwritable(file_path("round"), strerror(ELOOP));
	struct gr_error *err =
		gr_output_init(&out, file_path("round"), GR_OUTPUT_PLAIN);
	assert_non_null(err);
	gr_error_destroy(err);
	gr_output_deinit(&out);
	expect_link("round");
}

static int remove_all(void **state)
{
	static const char *const names[] = {
		"mine",	  "kept",  "fresh",  "secret",	     "theirs", "shared",
		"group",  "made",  "one",    "two",	     "first",  "third",
		"astray", "round", "listed", "below/second",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		unlink(file_path(names[i]));
	rmdir(file_path("below"));
	return remove_dir(state);
}

int main(void)
{
	static const struct way {
		const char *name;
		int no_nameless, no_link;
	} ways[] = {
		{ "output", 0, 0 },
		{ "output without nameless files", EOPNOTSUPP, 0 },
		{ "output where nameless files get no name", 0, EPERM },
	};
	static const char template[] = "XXXXXX";
	int failures = 0;

	for (size_t i = 0; i < GR_ARRAY_SIZE(ways); i++) {
		no_nameless = ways[i].no_nameless;
		no_link = ways[i].no_link;
		memcpy(dir + strlen(dir) - strlen(template), template,
		       sizeof(template));
		if (!mkdtemp(dir))
			return 99;
		failures += suite_run(ways[i].name, NULL, remove_all);
	}
	return failures;
}
