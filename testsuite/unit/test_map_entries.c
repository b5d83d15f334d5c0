// SPDX-License-Identifier: Apache-2.0
/* Entries of maps of both designs, over memory that makes sense or does not. */
#include "goruntime/types/map_entries.h"

#include "polls.h"
#include "types_memory.h"

enum {
	MEMORY_BYTES = 0x10000,
	MAX_PIECES = 1000,
	HEADER = 0x100,
	PIECES = 0x400,	    /* where buckets or groups are */
	BUCKET_BYTES = 144, /* of map[int]int */
	GROUP_BYTES = 136,
	OVERFLOW = BUCKET_BYTES - 8,
};

enum { T_INT, T_WIDE, T_MAP, T_WIDE_MAP, T_UNKNOWN, T_HUGE_KEY, NTYPES };

struct fixture {
	struct types_memory m;
	struct gr_map_cursor cursor;
	uint64_t entries; /* of the last walk */
	uint64_t first_key, last_elem;
};

static void add(struct fixture *f, gr_type_id id, const char *name,
		uint8_t kind, uint64_t bytes, gr_type_id key, gr_type_id elem)
{
	types_memory_add(&f->m, id,
			 (struct gr_type){ .name = name,
					   .kind = kind,
					   .size_bytes = bytes,
					   .elem = elem,
					   .key = key });
}

static struct fixture *start(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));
	const gr_type_id none = GR_TYPE_NONE;

	types_memory_init(&f->m, MEMORY_BYTES);
	add(f, T_INT, "int", GR_KIND_INT, 8, none, none);
	add(f, T_WIDE, "main.Wide", GR_KIND_STRUCT, 200, none, none);
	add(f, T_MAP, "map[int]int", GR_KIND_MAP, 8, T_INT, T_INT);
	add(f, T_WIDE_MAP, "map[int]main.Wide", GR_KIND_MAP, 8, T_INT, T_WIDE);
	add(f, T_UNKNOWN, "map[a]b", GR_KIND_MAP, 8, none, none);
	add(f, T_HUGE_KEY, "map[main.K]int", GR_KIND_MAP, 8, T_WIDE, T_INT);
	return f;
}

#define FIXTURE struct fixture *f, start, types_memory_stop

static void set(struct fixture *f, uint64_t off, uint64_t value)
{
	fake_set(&f->m.image, MEMORY + off, value, 8);
}

/* Begin in front of the map with the header at HEADER. */
static struct gr_error *begin(struct fixture *f, gr_type_id type)
{
	bool is_swiss = f->m.rt.layout.swiss_map.size_bytes;

	return gr_map_cursor_begin(
		&f->m.types, type, MEMORY + HEADER,
		(uint64_t)MAX_PIECES * (is_swiss ? GROUP_BYTES : BUCKET_BYTES),
		&f->cursor);
}

/* Walk through all entries of the map with the header at HEADER. */
static struct gr_error *walk(struct fixture *f, gr_type_id type)
{
	struct gr_map_entry entry;
	bool is_end = false;
	struct gr_error *err = begin(f, type);

	f->entries = 0;
	while (!err) {
		err = gr_map_cursor_next(&f->cursor, &entry, &is_end);
		if (err || is_end)
			break;
		if (!f->entries++)
			f->first_key = entry.key_addr - MEMORY;
		f->last_elem = entry.elem_addr - MEMORY;
		assert_true(f->entries <= MAX_PIECES * GR_MAP_SLOTS);
	}
	return err;
}

static void fails(struct fixture *f, gr_type_id type, enum gr_error_code code)
{
	struct gr_error *err = walk(f, type);

	assert_non_null(err);
	assert_int_equal(err->code, code);
	gr_error_destroy(err);
}

/* The slot with the number that @p ctx leads to. */
static struct gr_error *find_number(void *ctx, const struct gr_map_keys *keys,
				    unsigned int *slot)
{
	const uint64_t *number = ctx;

	for (*slot = 0; *slot < GR_MAP_SLOTS; ++*slot)
		if (keys->full >> *slot * 8 & 0x80 &&
		    gr_load_u64(keys->first + *slot * keys->stride) == *number)
			break;
	return NULL;
}

static struct gr_error *find(struct fixture *f, gr_type_id type,
			     uint64_t number, uint64_t *elem_addr)
{
	struct gr_error *err = begin(f, type);

	return err ? err :
		     gr_map_cursor_find(&f->cursor, find_number, &number,
					elem_addr);
}

/* Number the keys of all entries: each is found, with the element that the walk
 * has for it, and no other number is. */
static void check_find(struct fixture *f, gr_type_id type)
{
	struct gr_map_entry entries[32];
	uint64_t count = 0, elem_addr;
	bool is_end = false;

	assert_null(begin(f, type));
	for (;;) {
		assert_true(count < GR_ARRAY_SIZE(entries));
		assert_null(gr_map_cursor_next(&f->cursor, &entries[count],
					       &is_end));
		if (is_end)
			break;
		set(f, entries[count].key_addr - MEMORY, count + 2);
		count++;
	}
	for (uint64_t i = 0; i <= count + 1; i++) {
		assert_null(find(f, type, i + 1, &elem_addr));
		assert_int_equal(elem_addr, i && i <= count ?
						    entries[i - 1].elem_addr :
						    0);
	}
}

static void fails_to_find(struct fixture *f, gr_type_id type,
			  enum gr_error_code code)
{
	uint64_t elem_addr;
	struct gr_error *err = find(f, type, 7, &elem_addr);

	assert_non_null(err);
	assert_int_equal(err->code, code);
	gr_error_destroy(err);
}

// ------------------------------------------------------------------- buckets

static void use_buckets(struct fixture *f, unsigned int log)
{
	set(f, HEADER, 3);
	fake_set(&f->m.image, MEMORY + HEADER + 9, log, 1);
	set(f, HEADER + 16, MEMORY + PIECES);
}

/* A bucket whose first @p count slots are in use. */
static void fill_bucket(struct fixture *f, uint64_t off, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		fake_set(&f->m.image, MEMORY + off + i, GR_MAP_MIN_TOP_HASH, 1);
}

TEST_F(buckets)
{
	uint64_t count;

	use_buckets(f, 1);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 0);
	fill_bucket(f, PIECES, 8);
	set(f, PIECES + OVERFLOW, MEMORY + 0x2000);
	fill_bucket(f, 0x2000, 2);
	fill_bucket(f, PIECES + BUCKET_BYTES, 1);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 11);
	assert_int_equal(f->first_key, PIECES + 8);
	assert_int_equal(f->last_elem, PIECES + BUCKET_BYTES + 8 + 64);
	check_find(f, T_MAP);
	assert_null(gr_map_count(&f->m.rt, MEMORY + HEADER, &count));
	assert_int_equal(count, 3);
	assert_null(gr_map_count(&f->m.rt, 0, &count));
	assert_int_equal(count, 0);
}

/* While a map grows, the entries of a bucket that was not moved are in the old
 * one, which two new ones share. */
TEST_F(growing)
{
	use_buckets(f, 2);
	set(f, HEADER + 24, MEMORY + 0x2000);
	fill_bucket(f, 0x2000, 3);
	fill_bucket(f, PIECES, 8);		      // not used yet
	fill_bucket(f, PIECES + 2 * BUCKET_BYTES, 8); // the same
	// The second one was moved to two new ones.
	fake_set(&f->m.image, MEMORY + 0x2000 + BUCKET_BYTES, 2, 1);
	fill_bucket(f, PIECES + BUCKET_BYTES, 1);
	fill_bucket(f, PIECES + 3 * BUCKET_BYTES, 1);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 5);
	assert_int_equal(f->first_key, 0x2000 + 8);
	check_find(f, T_MAP);
}

TEST_F(wild_buckets)
{
	// A chain that leads to itself is longer than the heap.
	use_buckets(f, 0);
	fill_bucket(f, PIECES, 1);
	set(f, PIECES + OVERFLOW, MEMORY + PIECES);
	fails(f, T_MAP, GR_ERROR_FORMAT);
	assert_int_equal(f->entries, MAX_PIECES);
	fails_to_find(f, T_MAP, GR_ERROR_FORMAT);
	// Empty buckets, too.
	fill_bucket(f, PIECES, 0);
	fake_set(&f->m.image, MEMORY + PIECES, 0, 8);
	fails(f, T_MAP, GR_ERROR_FORMAT);
	set(f, PIECES + OVERFLOW, 0x10);
	fails(f, T_MAP, GR_ERROR_FAULT);
	set(f, PIECES + OVERFLOW, 0);
	use_buckets(f, 48);
	fails(f, T_MAP, GR_ERROR_FAULT);
	use_buckets(f, 49);
	fails(f, T_MAP, GR_ERROR_FORMAT);
	use_buckets(f, 255);
	fails(f, T_MAP, GR_ERROR_FORMAT);
	use_buckets(f, 4);
	set(f, HEADER + 16, 0); // buckets come with the first entry
	assert_null(walk(f, T_MAP));
	set(f, HEADER + 16, UINT64_MAX - 8);
	fails(f, T_MAP, GR_ERROR_FAULT);
}

// -------------------------------------------------------------------- groups

/* A group whose first @p count slots are in use. */
static void fill_group(struct fixture *f, uint64_t off, unsigned int count)
{
	uint64_t control = UINT64_C(0x8080808080808080);

	for (unsigned int i = 0; i < count; i++)
		control &= ~(UINT64_C(0x80) << 8 * i);
	set(f, off, control);
}

static void set_dir(struct fixture *f, uint64_t dir, uint64_t tables)
{
	set(f, HEADER + 16, dir);
	set(f, HEADER + 24, tables);
}

static void set_table(struct fixture *f, uint64_t off, uint64_t groups,
		      uint64_t mask)
{
	set(f, off + 16, groups);
	set(f, off + 24, mask);
}

TEST_F(groups)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_dir(f, 0, 0);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 0);
	// A small map: the pointer is that of its only group.
	set_dir(f, MEMORY + PIECES, 0);
	fill_group(f, PIECES, 3);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 3);
	assert_int_equal(f->first_key, PIECES + 8);
	assert_int_equal(f->last_elem, PIECES + 8 + 2 * 16 + 8);
	check_find(f, T_MAP);
	// Two tables, of which the first stands in two entries.
	set_dir(f, MEMORY + 0x200, 3);
	set(f, 0x200, MEMORY + 0x280);
	set(f, 0x208, MEMORY + 0x280);
	set(f, 0x210, MEMORY + 0x300);
	set_table(f, 0x280, MEMORY + PIECES, 1);
	set_table(f, 0x300, MEMORY + 0x2000, 0);
	fill_group(f, PIECES + GROUP_BYTES, 8);
	fill_group(f, 0x2000, 1);
	assert_null(walk(f, T_MAP));
	assert_int_equal(f->entries, 12);
	check_find(f, T_MAP);
}

TEST_F(wild_groups)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_dir(f, MEMORY + 0x200, UINT64_MAX);
	set(f, 0x200, MEMORY + 0x280);
	set_table(f, 0x280, MEMORY + PIECES, UINT64_MAX);
	fails(f, T_MAP, GR_ERROR_FAULT);
	set_table(f, 0x280, MEMORY + PIECES, 0);
	fails(f, T_MAP, GR_ERROR_FAULT); // the next table is at 0
	set_dir(f, 0x10, 1);
	fails(f, T_MAP, GR_ERROR_FAULT);
	set_dir(f, 0x10, 0);
	fails(f, T_MAP, GR_ERROR_FAULT);
	fails_to_find(f, T_MAP, GR_ERROR_FAULT);
	// Two tables that follow each other for ever.
	set_dir(f, MEMORY + 0x8000, 0x1000);
	for (unsigned int i = 0; i < 0x1000 - 1; i++)
		set(f, 0x8000 + 8 * i, MEMORY + (i % 2 ? 0x280 : 0x300));
	set_table(f, 0x300, MEMORY + PIECES, 0);
	fill_group(f, PIECES, 1);
	fails(f, T_MAP, GR_ERROR_FORMAT);
	assert_int_equal(f->entries, MAX_PIECES);
}

TEST_F(large_elements)
{
	map_layout_use_groups(&f->m.rt.layout);
	set_dir(f, MEMORY + PIECES, 0);
	fill_group(f, PIECES, 1);
	set(f, PIECES + 8 + 8, MEMORY + 0x3000); // a pointer to the element
	assert_null(walk(f, T_WIDE_MAP));
	assert_int_equal(f->last_elem, 0x3000);
	check_find(f, T_WIDE_MAP);
}

TEST_F(types)
{
	map_layout_use_groups(&f->m.rt.layout);
	fails(f, T_UNKNOWN, GR_ERROR_FORMAT);
	// A key of no size that can be is no reason to read beside the map.
	f->m.types.types.data[T_WIDE].size_bytes = UINT64_MAX / 4;
	set_dir(f, MEMORY + PIECES, 0);
	assert_null(walk(f, T_HUGE_KEY)); // behind pointers
	fails_to_find(f, T_HUGE_KEY, GR_ERROR_FORMAT);
	f->m.rt.layout.consts.map_max_key = INT64_MAX;
	fails(f, T_HUGE_KEY, GR_ERROR_FORMAT);
}

/* The walk asks whether to go on, and ends when it may not. */
TEST_F(interrupted)
{
	struct polls polls = { .last = 1 };

	f->m.rt.poll = polls_call;
	f->m.rt.poll_ctx = &polls;
	use_buckets(f, 0);
	set(f, PIECES + OVERFLOW, MEMORY + PIECES);
	f->m.rt.steps = GR_POLL_STEPS - 2;
	fails(f, T_MAP, GR_ERROR_INTERRUPTED);
	assert_int_equal(polls.seen, 1);
}

GR_SUITE("map entries")
