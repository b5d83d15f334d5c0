// SPDX-License-Identifier: Apache-2.0
/* Expressions behind a variable, over memory that makes sense or does not. */
#include "path_fixture.h"
#include "suite.h"

enum { SLOT = 8 };

/* Addresses of what the tests put into the memory. */
#define LIST (MEMORY + 0x400)
#define HEADER (MEMORY + 0x800)
#define TABLE (MEMORY + 0x900)
#define DIR (MEMORY + 0xa00)
#define GROUP (MEMORY + 0x1000)
#define TEXT (MEMORY + 0x3000)

static void set(struct path_fixture *f, uint64_t addr, uint64_t value)
{
	fake_set(&f->image, addr, value, 8);
}

static uint64_t good(struct path_fixture *f, const char *path)
{
	struct gr_place place;
	struct gr_error *err = path_walk(f, path, &place);

	if (err)
		fail_msg("%s: %s", path, err->message);
	return place.addr;
}

static void bad(struct path_fixture *f, const char *path, const char *wanted)
{
	struct gr_place place;
	struct gr_error *err = path_walk(f, path, &place);

	assert_non_null(err);
	if (!strstr(err->message, wanted))
		fail_msg("%s: %s", path, err->message);
	gr_error_destroy(err);
}

/* ---------------------------------------------------- fields and elements */

TEST(fields)
{
	struct path_fixture *f = path_fixture_create();
	struct gr_place place;

	set(f, MEMORY, LIST);
	set(f, MEMORY + 8, LIST);
	set(f, MEMORY + 16, 3);
	set(f, LIST + 128 + 88 + 8, LIST);
	assert_int_equal(good(f, ""), MEMORY);
	assert_int_equal(good(f, ".text"), MEMORY + 72);
	assert_int_equal(good(f, ".next.text"), LIST + 72);
	assert_int_equal(good(f, ".list[2].rows"), LIST + 256 + 88);
	assert_int_equal(good(f, ".list[ 1 ].rows[1].rows"), LIST + 88);
	assert_null(path_walk(f, ".list[1].rows[1]", &place));
	assert_int_equal(place.value, LIST);
	assert_int_equal(place.type, T_NODE_PTR);
	bad(f, ".list[3]", "index 3 is out of range: n.list has 3 elements");
	bad(f, ".rows[2]", "index 2 is out of range: n.rows has 2 elements");
	bad(f, ".rows[0].text", "cannot follow \"text\": the pointer is nil");
	bad(f, ".next.nope", "Node has no field \"nope\"");
	bad(f, ".any.text", "cannot follow \"text\": the interface is nil");
	bad(f, ".odd.text", "its type is not known");
	bad(f, ".text.x", "string has no field \"x\"");
	bad(f, "]", "cannot read \"]\"");
	assert_null(path_walk(f, ".odd", &place));
	assert_false(place.is_variable);
	path_fixture_destroy(f);
}

TEST(wild_slices)
{
	struct path_fixture *f = path_fixture_create();

	set(f, MEMORY + 8, UINT64_MAX - 8);
	set(f, MEMORY + 16, UINT64_MAX);
	bad(f, ".list[18446744073709551614]", "makes no sense");
	bad(f, ".list[1]", "makes no sense");
	bad(f, ".list[1][1]", "makes no sense");
	set(f, MEMORY, 7);
	bad(f, ".next.list[0]", "");
	path_fixture_destroy(f);
}

/* ------------------------------------------------------------------- maps */

/* A group of map[int8]*Node: control word, slots of 16 bytes. */
static void put_group(struct path_fixture *f, uint64_t addr, unsigned int full)
{
	uint64_t control = UINT64_C(0x8080808080808080);

	for (unsigned int i = 0; i < SLOT; i++)
		if (full >> i & 1)
			control &= ~(UINT64_C(0xff) << 8 * i);
	set(f, addr, control);
}

static void put_swiss(struct path_fixture *f, uint64_t dir_len, uint64_t dir)
{
	path_set_layout(&f->program.rt.layout, true);
	set(f, MEMORY + 40, HEADER);
	set(f, HEADER + 16, dir);
	set(f, HEADER + 24, dir_len);
}

TEST(small_map)
{
	struct path_fixture *f = path_fixture_create();

	put_swiss(f, 0, GROUP);
	put_group(f, GROUP, 1 << 3);
	fake_set(&f->image, GROUP + 8 + 3 * 16, 0xfe, 1);
	fake_set(&f->image, GROUP + 8 + 4 * 16, 0x05, 1);
	assert_int_equal(good(f, ".byLevel[-2]"), GROUP + 8 + 3 * 16 + 8);
	bad(f, ".byLevel[254]", "n.byLevel has no key 254");
	bad(f, ".byLevel[5]", "has no key 5");
	bad(f, ".byLevel[\"x\"]", "keys of type int8: no string finds one");
	bad(f, ".byLevel[true]", "no bool finds one");
	bad(f, ".byName[\"x\"]", "n.byName has no key \"x\"");
	bad(f, ".floats[1]", "no number finds one");
	path_fixture_destroy(f);
}

/* A directory whose entries lead to one table in turns: looked at as long as
 * there could be groups, not for ever. */
TEST(endless_directory)
{
	struct path_fixture *f = path_fixture_create();

	put_swiss(f, UINT64_MAX, DIR);
	for (unsigned int i = 0; i < 64; i++)
		set(f, DIR + i * 8, TABLE + (i & 1) * 32);
	for (unsigned int i = 0; i < 2; i++) {
		set(f, TABLE + i * 32 + 16, GROUP);
		set(f, TABLE + i * 32 + 24, UINT64_MAX);
	}
	bad(f, ".byLevel[1]", "");
	set(f, TABLE + 24, 3);
	set(f, TABLE + 32 + 24, 3);
	bad(f, ".byLevel[1]", "");
	path_fixture_destroy(f);
}

static void put_hmap(struct path_fixture *f, unsigned int b, uint64_t buckets,
		     uint64_t old)
{
	path_set_layout(&f->program.rt.layout, false);
	set(f, MEMORY + 40, HEADER);
	fake_set(&f->image, HEADER + 9, b, 1);
	set(f, HEADER + 16, buckets);
	set(f, HEADER + 24, old);
}

/* A bucket of map[int8]*Node: 8 + 8 * 1 + 8 * 8 + 8 bytes. */
TEST(buckets)
{
	struct path_fixture *f = path_fixture_create();
	const uint64_t second = GROUP + 88;

	put_hmap(f, 1, GROUP, 0);
	fake_set(&f->image, second + 6, 200, 1);
	fake_set(&f->image, second + 8 + 6, 7, 1);
	assert_int_equal(good(f, ".byLevel[7]"), second + 16 + 6 * 8);
	bad(f, ".byLevel[0]", "has no key 0");
	// Moved away: its mark is below minTopHash.
	fake_set(&f->image, second + 6, 2, 1);
	bad(f, ".byLevel[7]", "has no key 7");
	// In the old array, and behind an overflow pointer there.
	fake_set(&f->image, second + 6, 200, 1);
	put_hmap(f, 0, TEXT, GROUP);
	set(f, GROUP + 80, second);
	assert_int_equal(good(f, ".byLevel[7]"), second + 16 + 6 * 8);
	path_fixture_destroy(f);
}

TEST(endless_chain)
{
	struct path_fixture *f = path_fixture_create();

	put_hmap(f, 0, GROUP, 0);
	set(f, GROUP + 80, GROUP);
	bad(f, ".byLevel[1]", "makes no sense: it is larger than the heap");
	put_hmap(f, 48, GROUP, 0);
	bad(f, ".byLevel[1]", "");
	put_hmap(f, 200, GROUP, 0);
	bad(f, ".byLevel[1]", "makes no sense");
	path_fixture_destroy(f);
}

/* A heap of many bytes has many groups: now and then it is asked whether to
 * go on. */
TEST(polls)
{
	struct path_fixture *f = path_fixture_create();

	f->heap.span_bytes = 1 << 28;
	put_hmap(f, 0, GROUP, 0);
	set(f, GROUP + 80, GROUP);
	bad(f, ".byLevel[1]", "larger than the heap");
	assert_true(f->npolls > 100);
	path_fixture_destroy(f);
}

TEST(strings)
{
	struct path_fixture *f = path_fixture_create();

	path_set_layout(&f->program.rt.layout, true);
	set(f, MEMORY + 32, HEADER);
	set(f, HEADER + 16, GROUP);
	put_group(f, GROUP, 3);
	// Slots of a string and a Node.
	set(f, GROUP + 8, TEXT);
	set(f, GROUP + 16, 3);
	memcpy(f->memory + (TEXT - MEMORY), "a\0b", 3);
	set(f, GROUP + 8 + 144, 1);
	set(f, GROUP + 16 + 144, UINT64_MAX);
	assert_int_equal(good(f, ".byName[\"a\\x00b\"].text"), GROUP + 24 + 72);
	bad(f, ".byName[\"a\"]", "has no key \"a\"");
	// Its text cannot be read: it might be the key.
	set(f, GROUP + 16 + 144, 2);
	bad(f, ".byName[\"ab\"]", "");
	path_fixture_destroy(f);
}

GR_SUITE("path")
