// SPDX-License-Identifier: Apache-2.0
#include "dwarf/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "rows.h"

// Tables as a block and back, blocks that are damaged, and files of blocks.

enum { NTYPES = 3, HEADER_MAGIC = 0, HEADER_STAMP = 8 };

static void add_answers(struct gr_dwarf *dwarf)
{
	struct gr_dwarf_local locals[2] = {
		{ .name = "x",
		  .function = "main.main",
		  .type = 0,
		  .is_param = true,
		  .npieces = 1,
		  .pieces = { { .kind = GR_LOCATION_CFA, .offset = -8 } },
		  .file = "main.go",
		  .line = 7 },
		{ .name = "&y", .function = "main.f", .type = GR_DWARF_NONE },
	};
	struct gr_dwarf_capture capture = { .name = "c", .type = 2 };
	uint32_t type = 1;

	// Out of order, and one twice.
	gr_answers_add(&dwarf->answers, GR_ASK_FIRST_PARAM, 1, 0, &type, 0);
	gr_answers_add(&dwarf->answers, GR_ASK_CAPTURES, 1, 0, &capture, 1);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1010, locals, 2);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1004, locals, 0);
	gr_answers_add(&dwarf->answers, GR_ASK_LOCALS, 0, 0x1010, locals, 2);
}

static void add_indexes(struct gr_dwarf *dwarf)
{
	assert_true(gr_index_init(&dwarf->types_by_name, NTYPES));
	assert_true(gr_index_init(&dwarf->types_by_runtime_type, NTYPES));
	assert_true(gr_index_init(&dwarf->variables_by_name, 1));
	assert_true(gr_index_init(&dwarf->constants_by_name, 1));
	for (uint32_t i = 0; i < NTYPES; i++) {
		gr_index_add_name(&dwarf->types_by_name,
				  GR_COLUMN(dwarf->types.data, name), i);
		gr_index_add_number(&dwarf->types_by_runtime_type,
				    GR_COLUMN(dwarf->types.data, runtime_type),
				    i);
	}
	gr_index_add_name(&dwarf->variables_by_name,
			  GR_COLUMN(dwarf->variables.data, name), 0);
	gr_index_add_name(&dwarf->constants_by_name,
			  GR_COLUMN(dwarf->constants.data, name), 0);
}

static const struct gr_dwarf_key some_key = {
	.build_id = "Ab_c/d-e",
	.file_bytes = 1234,
	.mtime_ns = 99,
};

static struct gr_dwarf *create(void)
{
	struct gr_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	assert_non_null(dwarf);
	dwarf->fd = -1;
	dwarf->key = some_key;
	dwarf->is_cached = true;
	return dwarf;
}

static struct gr_dwarf *create_tables(void)
{
	static const struct gr_dwarf_type types[NTYPES] = {
		{ "int", 0x10, 8, 0x40, 2, false, 0, -1, -1, -1, 0, 0, 0 },
		{ "*main.Größe", 0x20, 8, 0x60, 22, false, 0, 2, -1, -1, 0, 0,
		  0 },
		{ "main.Größe", 0x30, 16, 0x80, 25, true, 3, -1, -1, -1, 0, 0,
		  2 },
	};
	struct gr_dwarf *dwarf = create();

	for (int i = 0; i < NTYPES; i++)
		assert_true(
			gr_dwarf_type_vector_append(&dwarf->types, types[i]));
	gr_dwarf_field_vector_append(&dwarf->fields,
				     (struct gr_dwarf_field){ "int", 0, 0, 0 });
	gr_dwarf_field_vector_append(
		&dwarf->fields, (struct gr_dwarf_field){ "next", 8, 1, true });
	gr_dwarf_variable_vector_append(
		&dwarf->variables,
		(struct gr_dwarf_variable){ "main.v", 0x5000, 1 });
	gr_dwarf_function_vector_append(
		&dwarf->functions,
		(struct gr_dwarf_function){ "main.main", 0x1000, 0x1100, 7 });
	gr_dwarf_function_vector_append(
		&dwarf->functions,
		(struct gr_dwarf_function){ "main.f", 0x1100, 0x1200, 9 });
	gr_dwarf_constant_vector_append(&dwarf->constants,
					(struct gr_dwarf_constant){ "k", -5 });
	dwarf->canonical = calloc(NTYPES, sizeof(*dwarf->canonical));
	for (uint32_t i = 0; i < NTYPES; i++)
		dwarf->canonical[i] = i;
	dwarf->producer = "Go cmd/compile go1.99";
	add_indexes(dwarf);
	add_answers(dwarf);
	return dwarf;
}

static void *pack_tables(size_t *bytes)
{
	struct gr_dwarf *dwarf = create_tables();
	void *block = gr_store_pack(dwarf, bytes);

	assert_non_null(block);
	gr_dwarf_destroy(dwarf);
	return block;
}

static void *copy_of(const void *data, size_t bytes)
{
	void *copy = malloc(bytes + 1);

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	return copy;
}

static void test_round_trip(void **state)
{
	struct gr_dwarf *dwarf = create();
	struct gr_dwarf_capture *captures;
	struct gr_dwarf_local *locals;
	size_t bytes, count;
	int64_t value;

	(void)state;
	void *block = pack_tables(&bytes);
	assert_int_equal(gr_store_unpack(dwarf, block, bytes), GR_STORED_FINE);
	assert_string_equal(gr_dwarf_producer(dwarf), "Go cmd/compile go1.99");
	assert_int_equal(gr_dwarf_find_type(dwarf, "main.Größe"), 2);
	assert_int_equal(gr_dwarf_find_runtime_type(dwarf, 0x60), 1);
	assert_int_equal(gr_dwarf_find_type(dwarf, "main.g"), GR_DWARF_NONE);
	assert_int_equal(gr_dwarf_types(dwarf, &count)[2].dict_index, 3);
	assert_int_equal(count, NTYPES);
	assert_string_equal(gr_dwarf_fields(dwarf)[1].name, "next");
	assert_int_equal(gr_dwarf_find_variable(dwarf, "main.v"), 0);
	assert_true(gr_dwarf_find_constant(dwarf, "k", &value));
	assert_int_equal(value, -5);
	assert_int_equal(gr_dwarf_function_at(dwarf, 0x1105), 1);
	assert_null(gr_dwarf_locals(dwarf, 0, 0x1010, &locals, &count));
	assert_int_equal(count, 2);
	assert_string_equal(locals[0].file, "main.go");
	assert_int_equal(locals[0].pieces[0].offset, -8);
	assert_string_equal(locals[1].function, "main.f");
	assert_null(locals[1].file);
	free(locals);
	assert_null(gr_dwarf_locals(dwarf, 0, 0x1004, &locals, &count));
	assert_int_equal(count, 0);
	free(locals);
	assert_null(gr_dwarf_captures(dwarf, 1, &captures, &count));
	assert_int_equal(count, 1);
	assert_string_equal(captures[0].name, "c");
	free(captures);
	assert_int_equal(gr_dwarf_first_param_type(dwarf, 1), 1);
	assert_int_equal(dwarf->answers.rows.size, 4);
	gr_dwarf_destroy(dwarf);
}

static enum gr_stored unpack_changed(size_t off, int change, size_t key_off)
{
	struct gr_dwarf *dwarf = create();
	size_t bytes;
	void *block = pack_tables(&bytes);

	((char *)block)[off] ^= change;
	((char *)&dwarf->key)[key_off] ^= key_off != 0;
	enum gr_stored stored = gr_store_unpack(dwarf, block, bytes);
	if (stored != GR_STORED_FINE)
		free(block);
	gr_dwarf_destroy(dwarf);
	return stored;
}

static void test_others(void **state)
{
	(void)state;
	assert_int_equal(unpack_changed(0, 0, 0), GR_STORED_FINE);
	assert_int_equal(unpack_changed(HEADER_MAGIC, 1, 0), GR_STORED_DAMAGED);
	assert_int_equal(unpack_changed(HEADER_STAMP, 1, 0), GR_STORED_OTHER);
	assert_int_equal(unpack_changed(2000, 1, 0), GR_STORED_DAMAGED);
	assert_int_equal(unpack_changed(0, 0, 1), GR_STORED_OTHER);
	assert_int_equal(
		unpack_changed(0, 0, offsetof(struct gr_dwarf_key, file_bytes)),
		GR_STORED_OTHER);
	assert_int_equal(
		unpack_changed(0, 0, offsetof(struct gr_dwarf_key, mtime_ns)),
		GR_STORED_OTHER);
}

// Look at all that the tables lead to.
static size_t use(struct gr_dwarf *dwarf)
{
	const char *names[] = { "int", "main.Größe", "main.v", "k", "?" };
	struct gr_dwarf_capture *captures;
	struct gr_dwarf_local *locals;
	size_t sum = 0, count, n;
	int64_t value;

	const struct gr_dwarf_type *types = gr_dwarf_types(dwarf, &n);
	for (size_t i = 0; i < n; i++) {
		const struct gr_dwarf_type *t = &types[i];
		sum += strlen(t->name) + t->is_interface_with_methods;
		sum += t->elem == GR_DWARF_NONE ? 0 : types[t->elem].kind;
		sum += t->key == GR_DWARF_NONE ? 0 : types[t->key].kind;
		sum += t->header == GR_DWARF_NONE ? 0 : types[t->header].kind;
		for (uint32_t j = 0; j < t->nfields; j++)
			sum += gr_dwarf_fields(dwarf)[t->first_field + j].type;
		sum += gr_types_at(dwarf, t->die_off);
	}
	const struct gr_dwarf_variable *variables =
		gr_dwarf_variables(dwarf, &n);
	for (size_t i = 0; i < n; i++)
		sum += strlen(variables[i].name);
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		sum += gr_dwarf_find_type(dwarf, names[i]) +
		       gr_dwarf_find_variable(dwarf, names[i]) +
		       gr_dwarf_find_constant(dwarf, names[i], &value) +
		       gr_dwarf_find_runtime_type(dwarf, i * 0x20);
	for (size_t i = 0; i < dwarf->answers.rows.size; i++) {
		struct gr_answer *a = &dwarf->answers.rows.data[i];
		if (a->function >= dwarf->functions.size)
			continue;
		if (a->question == GR_ASK_LOCALS) {
			assert_null(gr_dwarf_locals(dwarf, a->function, a->pc,
						    &locals, &count));
			for (size_t j = 0; j < count; j++)
				sum += strlen(locals[j].name) +
				       locals[j].pieces[0].kind;
			free(locals);
		} else if (a->question == GR_ASK_CAPTURES && !a->pc) {
			assert_null(gr_dwarf_captures(dwarf, a->function,
						      &captures, &count));
			for (size_t j = 0; j < count; j++)
				sum += strlen(captures[j].name);
			free(captures);
		}
	}
	return sum;
}

// Any bytes under the right checksum: refused, or safe to use.
static bool survives(const void *block, size_t bytes)
{
	struct gr_dwarf *dwarf = create();
	// Exactly as large, for AddressSanitizer.
	void *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	memcpy(copy, block, bytes);
	gr_store_seal(copy, bytes);
	bool is_fine = gr_store_unpack(dwarf, copy, bytes) == GR_STORED_FINE;
	if (is_fine)
		assert_true(use(dwarf) != 1);
	else
		free(copy);
	gr_dwarf_destroy(dwarf);
	return is_fine;
}

static void test_mutations(void **state)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t bytes, fine = 0;
	uint8_t *block = pack_tables(&bytes);

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		uint8_t was = block[i];
		for (size_t j = 0; j < GR_ARRAY_SIZE(values); j++) {
			block[i] = values[j];
			fine += survives(block, bytes);
		}
		block[i] = was;
	}
	// Sizes and addresses may be anything, offsets and numbers may not.
	assert_true(fine > 0 && fine < 5 * bytes);
	free(block);
}

static void test_random_mutations(void **state)
{
	uint64_t seed = 20210528;
	size_t bytes;
	uint8_t *block = pack_tables(&bytes);

	(void)state;
	for (int i = 0; i < 4000; i++) {
		uint8_t *copy = copy_of(block, bytes);
		for (uint64_t n = rows_random(&seed) % 8 + 1; n; n--)
			copy[rows_random(&seed) % bytes] =
				(uint8_t)rows_random(&seed);
		survives(copy, bytes);
		free(copy);
	}
	free(block);
}

static void test_truncations(void **state)
{
	size_t bytes;
	uint8_t *block = pack_tables(&bytes);

	(void)state;
	for (size_t i = 0; i < bytes; i++)
		assert_false(survives(block, i));
	free(block);
}

// ------------------------------------------------------------------- files

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
static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
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
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	run("rm -rf '%s'", place->folder);
	free(place);
	return 0;
}

// From the file itself or the cache; skips where this program has no DWARF.
static struct gr_dwarf *open_exe(const struct place *place)
{
	struct gr_dwarf *dwarf = NULL;
	struct gr_error *err = gr_dwarf_open_cached(place->exe, NULL, "ab/cd",
						    NULL, NULL, &dwarf);

	if (gr_error_catch(&err, GR_ERROR_NO_DWARF))
		skip();
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

static void test_saved(void **state)
{
	struct gr_dwarf_local *first_locals = NULL, *again_locals = NULL;
	size_t n, m, first_count, again_count;
	const struct place *place = *state;
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

static void test_changed_file(void **state)
{
	const struct place *place = *state;

	save_exe(place);
	assert_true(is_from_cache(place));
	struct gr_dwarf *dwarf = open_exe(place);
	run("touch -d 2001-02-03 '%s'", place->exe);
	assert_false(is_from_cache(place));
	// What was opened before must not mix two files.
	struct gr_dwarf_local *locals;
	size_t count;
	struct gr_error *err = gr_dwarf_locals(dwarf, 0, 1, &locals, &count);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_FORMAT);
	gr_error_destroy(err);
	gr_dwarf_destroy(dwarf);
}

static void test_damaged_file(void **state)
{
	const struct place *place = *state;

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

static void test_no_folder(void **state)
{
	const struct place *place = *state;
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

static void test_bounded(void **state)
{
	const struct place *place = *state;

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

static void test_writers(void **state)
{
	const struct place *place = *state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_random_mutations),
		cmocka_unit_test(test_truncations),
		cmocka_unit_test_setup_teardown(test_saved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_folder, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_writers, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
