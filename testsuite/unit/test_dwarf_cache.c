// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "suite.h"

// The files of the cache. What is in one: test_dwarf_store.

struct place {
	char folder[64];
	char symbols[128];
	char exe[128];
};

static GR_PRINTF(1, 2) void run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

// A cache folder of its own, and a copy of this program as a file with DWARF.
static struct place *set_up(void)
{
	struct place *place = suite_alloc(sizeof(*place));

	snprintf(place->folder, sizeof(place->folder),
		 "/tmp/goref-cache-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->symbols, sizeof(place->symbols),
		 "%s/cache/goref-gdb/symbols", place->folder);
	snprintf(place->exe, sizeof(place->exe), "%s/exe", place->folder);
	char cache[128];
	snprintf(cache, sizeof(cache), "%s/cache", place->folder);
	setenv("XDG_CACHE_HOME", cache, 1);
	char self[256] = "";
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	run("cp '%s' '%s'", self, place->exe);
	return place;
}

static void tear_down(struct place *place)
{
	run("rm -rf '%s'", place->folder);
	free(place);
}

#define FIXTURE struct place *place, set_up, tear_down

// From the file itself or the cache; skips where this program has no DWARF.
static struct gr_dwarf *open_exe(const struct place *place)
{
	struct gr_dwarf *dwarf = NULL;
	struct gr_error *err = gr_dwarf_open_cached(place->exe, NULL, "ab/cd",
						    NULL, NULL, &dwarf);

	if (gr_error_catch(&err, GR_ERROR_NO_DWARF)) {
		print_message("this program is built without -g\n");
		skip();
	}
	assert_null(err);
	return dwarf;
}

static bool is_from_cache(const struct place *place)
{
	struct gr_dwarf *dwarf = open_exe(place);
	bool is = dwarf->block;

	gr_dwarf_destroy(dwarf);
	return is;
}

static void save_exe(const struct place *place)
{
	struct gr_dwarf *dwarf = open_exe(place);

	gr_dwarf_save(dwarf);
	gr_dwarf_destroy(dwarf);
}

static size_t count_files(const struct place *place, const char *end)
{
	DIR *dir = opendir(place->symbols);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += strlen(entry->d_name) > strlen(end) &&
		     !strcmp(entry->d_name + strlen(entry->d_name) -
				     strlen(end),
			     end);
	if (dir)
		closedir(dir);
	return n;
}

TEST_F(saved)
{
	struct gr_dwarf_local *first_locals = NULL, *again_locals = NULL;
	size_t n, m, first_count, again_count;
	struct stat status;
	char name[256];

	struct gr_dwarf *first = open_exe(place);
	assert_null(first->block);
	uint32_t f = 0;
	const struct gr_dwarf_function *functions =
		gr_dwarf_functions(first, &n);
	while (f + 1 < n && strcmp(functions[f].name, "test_saved"))
		f++;
	assert_null(gr_dwarf_locals(first, f, functions[f].low, &first_locals,
				    &first_count));
	gr_dwarf_save(first);
	snprintf(name, sizeof(name), "%s/ab.cd.tables", place->symbols);
	assert_int_equal(stat(name, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(stat(place->symbols, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);

	struct gr_dwarf *again = open_exe(place);
	assert_non_null(again->block);
	const struct gr_dwarf_type *types = gr_dwarf_types(first, &n);
	const struct gr_dwarf_type *same = gr_dwarf_types(again, &m);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(types[i].name, same[i].name);
		assert_int_equal(gr_dwarf_find_type(first, types[i].name),
				 gr_dwarf_find_type(again, types[i].name));
	}
	assert_null(gr_dwarf_locals(again, f, functions[f].low, &again_locals,
				    &again_count));
	assert_int_equal(first_count, again_count);
	for (size_t i = 0; i < first_count; i++)
		assert_string_equal(first_locals[i].name, again_locals[i].name);
	free(first_locals);
	free(again_locals);
	// So far no DIE was read; another pc needs the file.
	assert_null(again->dbg);
	assert_null(gr_dwarf_locals(again, f, functions[f].low + 1,
				    &again_locals, &again_count));
	assert_non_null(again->dbg);
	free(again_locals);
	gr_dwarf_destroy(first);
	gr_dwarf_destroy(again);
}

TEST_F(changed_file)
{
	save_exe(place);
	assert_true(is_from_cache(place));
	struct gr_dwarf *dwarf = open_exe(place);
	run("touch -d 2001-02-03 '%s'", place->exe);
	assert_false(is_from_cache(place));
	// Tables that were opened before must not mix two files.
	struct gr_dwarf_local *locals;
	size_t count;
	assert_fails(gr_dwarf_locals(dwarf, 0, 1, &locals, &count),
		     GR_ERROR_FORMAT, NULL);
	gr_dwarf_destroy(dwarf);
}

TEST_F(damaged_file)
{
	save_exe(place);
	run("printf x | dd of='%s/ab.cd.tables' bs=1 seek=5000 conv=notrunc "
	    "2>/dev/null",
	    place->symbols);
	assert_false(is_from_cache(place));
	// Dropped, so that it is not read again and again.
	assert_int_equal(count_files(place, ".tables"), 0);
	save_exe(place);
	run("truncate -s -1 '%s/ab.cd.tables'", place->symbols);
	assert_false(is_from_cache(place));
	save_exe(place);
	assert_true(is_from_cache(place));
}

TEST_F(no_folder)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

	setenv("XDG_CACHE_HOME", place->exe, 1);
	save_exe(place);
	assert_false(is_from_cache(place));
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/nowhere/at/all", 1);
	save_exe(place);
	assert_false(is_from_cache(place));
	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	save_exe(place);
	assert_false(is_from_cache(place));
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

TEST_F(bounded)
{
	save_exe(place);
	for (int i = 0; i < 3; i++)
		run("truncate -s 200M '%s/%d.tables' && "
		    "touch -d '2001-01-0%d' '%s/%d.tables'",
		    place->symbols, i, 3 - i, place->symbols, i);
	run("touch -d 2001-01-01 '%s/.new-1-1'", place->symbols);
	run("touch -d 2001-01-01 '%s/not-ours'", place->symbols);
	run("rm '%s/ab.cd.tables'", place->symbols);
	save_exe(place);
	assert_int_equal(count_files(place, ".tables"), 3);
	assert_int_equal(count_files(place, "2.tables"), 0);
	assert_int_equal(count_files(place, "new-1-1"), 0);
	assert_int_equal(count_files(place, "ot-ours"), 1);
	assert_true(is_from_cache(place));
}

TEST_F(writers)
{
	struct gr_dwarf *dwarf = open_exe(place);
	int status;

	gr_dwarf_save(dwarf);
	for (int i = 0; i < 4; i++) {
		if (fork())
			continue;
		for (int j = 0; j < 20; j++) {
			dwarf->is_saved = false;
			gr_dwarf_save(dwarf);
		}
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		assert_true(is_from_cache(place));
	for (int i = 0; i < 4; i++)
		assert_true(wait(&status) > 0 && status == 0);
	assert_true(is_from_cache(place));
	assert_int_equal(count_files(place, ""), 3); // and . and ..
	gr_dwarf_destroy(dwarf);
}

enum { NOBODY = 65534 };

// The cache below @name of the test's folder, which is made with @mode.
static void use_folder(const struct place *place, const char *name,
		       unsigned int mode)
{
	char base[128];

	snprintf(base, sizeof(base), "%s/%s", place->folder, name);
	run("mkdir -p '%s' && chmod %o '%s'", base, mode, base);
	setenv("XDG_CACHE_HOME", base, 1);
}

static void expect_cache(const struct place *place)
{
	assert_null(gr_dwarf_check_cache());
	save_exe(place);
	assert_true(is_from_cache(place));
	assert_null(gr_dwarf_check_cache());
}

static void expect_refused(const struct place *place, const char *reason)
{
	save_exe(place);
	assert_false(is_from_cache(place));
	struct gr_error *err = gr_dwarf_check_cache();
	assert_non_null(err);
	if (!strstr(err->message, reason))
		fail_msg("\"%s\" does not say \"%s\"", err->message, reason);
	gr_error_destroy(err);
}

// A folder of ours that a link of somebody else's leads to stays empty.
static void expect_empty(const struct place *place, const char *name)
{
	run("test -z \"$(ls -A '%s/%s')\"", place->folder, name);
}

TEST_F(open_to_all)
{
	use_folder(place, "all", 0777);
	expect_refused(place, "/all can be written by other users");
	expect_empty(place, "all");
	use_folder(place, "all", 0770);
	expect_refused(place, "/all can be written by other users");
	use_folder(place, "all/below", 0700);
	expect_refused(place, "/all can be written by other users");
	expect_empty(place, "all/below");
	use_folder(place, "all", 01777);
	expect_cache(place);
	run("chmod 777 '%s/all/goref-gdb'", place->folder);
	expect_refused(place, "/goref-gdb can be written by other users");
	run("chmod 1777 '%s/all/goref-gdb'", place->folder);
	expect_refused(place, "/goref-gdb can be written by other users");
}

TEST_F(link_of_others)
{
	run("mkdir '%s/aim'", place->folder);
	use_folder(place, "all", 01777);
	run("ln -s ../aim '%s/all/goref-gdb'", place->folder);
	expect_refused(place, "/all/goref-gdb is a link in a folder that other"
			      " users can write");
	expect_empty(place, "aim");
	run("cd '%s/all' && rm goref-gdb && ln -s ../aim base", place->folder);
	use_folder(place, "all/base", 0700);
	expect_refused(place, "/all/base is a link");
	expect_empty(place, "aim");
	run("cd '%s/all' && rm base && ln -s .. base", place->folder);
	use_folder(place, "all/base/aim", 0700);
	expect_refused(place, "/all/base is a link");
	expect_empty(place, "aim");
}

// Where only we can make links, they lead where we want.
TEST_F(link_of_ours)
{
	run("cd '%s' && mkdir -p aim own && ln -s ../aim own/goref-gdb",
	    place->folder);
	use_folder(place, "own", 0700);
	expect_cache(place);
	run("test -e '%s/aim/symbols/ab.cd.tables'", place->folder);
	run("cd '%s' && ln -s own linked", place->folder);
	use_folder(place, "linked", 0700);
	assert_true(is_from_cache(place));
	run("chmod 777 '%s/aim'", place->folder);
	expect_refused(place, "/aim can be written by other users");
	run("cd '%s' && ln -s round round", place->folder);
	char round[128];
	snprintf(round, sizeof(round), "%s/round", place->folder);
	setenv("XDG_CACHE_HOME", round, 1);
	assert_null(gr_dwarf_check_cache());
	assert_false(is_from_cache(place));
}

TEST_F(owner)
{
	if (geteuid())
		skip();
	use_folder(place, "theirs", 0755);
	run("chown %d '%s/theirs'", NOBODY, place->folder);
	expect_refused(place, "/theirs belongs to another user");
	expect_empty(place, "theirs");
	use_folder(place, "all", 01777);
	run("mkdir '%s/all/goref-gdb' && chown %d '%s/all/goref-gdb'",
	    place->folder, NOBODY, place->folder);
	expect_refused(place, "/goref-gdb belongs to another user");
}

// A file that others can write is not read, and gives way to a new one.
TEST_F(file_of_others)
{
	struct stat status;
	char name[256];

	save_exe(place);
	snprintf(name, sizeof(name), "%s/ab.cd.tables", place->symbols);
	assert_int_equal(chmod(name, 0666), 0);
	assert_false(is_from_cache(place));
	assert_int_equal(chmod(name, 0620), 0);
	assert_false(is_from_cache(place));
	save_exe(place);
	assert_int_equal(stat(name, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(is_from_cache(place));
	run("mv '%s' '%s/real' && ln -s real '%s'", name, place->symbols, name);
	assert_false(is_from_cache(place));
	run("rm '%s' && mkfifo '%s'", name, name);
	assert_false(is_from_cache(place));
	if (geteuid())
		return;
	run("rm '%s' && mv '%s/real' '%s'", name, place->symbols, name);
	assert_true(is_from_cache(place));
	assert_int_equal(chown(name, NOBODY, NOBODY), 0);
	assert_false(is_from_cache(place));
}

GR_SUITE("dwarf cache")
