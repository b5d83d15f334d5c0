// SPDX-License-Identifier: Apache-2.0
#include "dwarf_tables.h"
#include "format_digest.h"
#include "suite.h"

// Tables as a block and back, and blocks that are damaged.

enum { HEADER_MAGIC = 0, HEADER_STAMP = 8 };

static void *copy_of(const void *data, size_t bytes)
{
	void *copy = malloc(bytes + 1);

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	return copy;
}

TEST(round_trip)
{
	struct gr_dwarf *dwarf = tables_create_empty();
	struct gr_dwarf_capture *captures;
	struct gr_dwarf_local *locals;
	size_t bytes, count;
	int64_t value;

	void *block = tables_pack(&bytes);
	assert_int_equal(tables_unpack(dwarf, block, bytes), GR_STORED_FINE);
	assert_string_equal(dwarf->producer, "Go cmd/compile go1.99");
	assert_int_equal(gr_dwarf_find_type(dwarf, "main.Größe"), 2);
	assert_int_equal(gr_dwarf_find_runtime_type(dwarf, 0x60), 1);
	assert_int_equal(gr_dwarf_find_type(dwarf, "main.g"), GR_DWARF_NONE);
	assert_int_equal(gr_dwarf_types(dwarf, &count)[2].dict_index, 3);
	assert_int_equal(count, TABLES_NTYPES);
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
	uint32_t type;
	assert_null(gr_dwarf_first_param_type(dwarf, 1, &type));
	assert_int_equal(type, 1);
	assert_int_equal(dwarf->answers.rows.size, 5);
	gr_dwarf_destroy(dwarf);
}

// Saved files have such blocks: all builds of a version read the same bytes.
// The fixture has every section, every bool, and the slots of the indexes.
TEST(format)
{
	static const struct format_digest digests[] = {
		{ 1, 0x52fc1b1bba2764ed },
	};
	// Numbers that rows have, which the fixture need not have all of.
	const uint8_t numbers[] = {
		GR_KIND_BOOL,		GR_KIND_STRUCT,
		GR_KIND_UNSAFE_POINTER, GR_LOCATION_NONE,
		GR_LOCATION_CFA,	GR_LOCATION_REGISTER,
		GR_LOCATION_REG_OFFSET, GR_LOCATION_ADDRESS,
		GR_LOCATION_UNKNOWN,	GR_ASK_LOCALS,
		GR_ASK_CAPTURES,	GR_ASK_FIRST_PARAM,
		GR_ASK_ALL_LOCALS,	GR_NQUESTIONS,
	};
	size_t bytes;
	uint8_t *block = tables_pack(&bytes);

	uint8_t *all = malloc(bytes + sizeof(numbers));
	assert_non_null(all);
	memcpy(all, block, bytes);
	memcpy(all + bytes, numbers, sizeof(numbers));
	format_check(digests, GR_ARRAY_SIZE(digests), GR_DWARF_TABLES_VERSION,
		     all, bytes + sizeof(numbers));
	free(block);
	free(all);
}

static enum gr_stored unpack_changed(size_t off, int change, size_t key_off)
{
	struct gr_dwarf *dwarf = tables_create_empty();
	size_t bytes;
	void *block = tables_pack(&bytes);

	((char *)block)[off] ^= change;
	((char *)&dwarf->key)[key_off] ^= key_off != 0;
	enum gr_stored stored = tables_unpack(dwarf, block, bytes);
	if (stored != GR_STORED_FINE)
		free(block);
	gr_dwarf_destroy(dwarf);
	return stored;
}

TEST(others)
{
	assert_int_equal(unpack_changed(0, 0, 0), GR_STORED_FINE);
	assert_int_equal(unpack_changed(HEADER_MAGIC, 1, 0), GR_STORED_DAMAGED);
	assert_int_equal(unpack_changed(HEADER_STAMP, 1, 0), GR_STORED_OTHER);
	assert_int_equal(unpack_changed(2000, 1, 0), GR_STORED_DAMAGED);
	assert_int_equal(unpack_changed(0, 0, 1), GR_STORED_OTHER);
	assert_int_equal(
		unpack_changed(0, 0, offsetof(struct gr_dwarf_key, file_bytes)),
		GR_STORED_OTHER);
	assert_int_equal(
		unpack_changed(0, 0, offsetof(struct gr_dwarf_key, ctime_ns)),
		GR_STORED_OTHER);
}

static struct gr_error *refuse(void *ctx)
{
	++*(uint64_t *)ctx;
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

// If poll fails, a large block is not read to its end.
TEST(interrupted)
{
	struct gr_dwarf *dwarf = tables_create_empty();
	enum gr_stored stored;
	uint64_t polls = 0;
	size_t bytes;
	char *block = tables_pack(&bytes);

	// The bytes behind the names belong to no section.
	block = realloc(block, bytes + (8 << 20));
	assert_non_null(block);
	memset(block + bytes, 0, 8 << 20);
	bytes += 8 << 20;
	gr_store_seal(block, bytes);
	dwarf->poll = refuse;
	dwarf->ctx = &polls;
	struct gr_error *err =
		gr_store_unpack(dwarf, block, bytes, TABLES_STAMP, &stored);
	assert_error_code(err, GR_ERROR_INTERRUPTED);
	assert_int_equal(polls, 1);
	gr_error_destroy(err);
	free(block);
	gr_dwarf_destroy(dwarf);
}

// Any bytes under the right checksum: refused, or safe to use.
static bool survives(const void *block, size_t bytes)
{
	struct gr_dwarf *dwarf = tables_create_empty();
	// Exactly as large, for AddressSanitizer.
	void *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	memcpy(copy, block, bytes);
	gr_store_seal(copy, bytes);
	bool is_fine = tables_unpack(dwarf, copy, bytes) == GR_STORED_FINE;
	if (is_fine)
		assert_true(tables_use(dwarf));
	else
		free(copy);
	gr_dwarf_destroy(dwarf);
	return is_fine;
}

TEST(mutations)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t bytes, fine = 0;
	uint8_t *block = tables_pack(&bytes);

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

TEST(random_mutations)
{
	uint64_t seed = 20210528;
	size_t bytes;
	uint8_t *block = tables_pack(&bytes);

	for (int i = 0; i < 4000; i++) {
		uint8_t *copy = copy_of(block, bytes);
		for (uint64_t n = suite_random(&seed) % 8 + 1; n; n--)
			copy[suite_random(&seed) % bytes] =
				(uint8_t)suite_random(&seed);
		survives(copy, bytes);
		free(copy);
	}
	free(block);
}

TEST(truncations)
{
	size_t bytes;
	uint8_t *block = tables_pack(&bytes);

	for (size_t i = 0; i < bytes; i++)
		assert_false(survives(block, i));
	free(block);
}

GR_SUITE("dwarf store")
