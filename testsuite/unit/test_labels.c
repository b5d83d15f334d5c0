// SPDX-License-Identifier: Apache-2.0
/* Labels of goroutines, over memory that makes sense or does not. */
#include "goruntime/sched/labels.h"

#include "types_memory.h"

enum {
	MEMORY_BYTES = 0x100000,
	TEXT = 0x100,	/* "abcdefgh" */
	SET = 0x200,	/* the slice, or the pointer to the map */
	HEADER = 0x300, /* of the map */
	LIST = 0x1000,	/* pairs, or buckets */
	MOST = 1024,	/* labels of a set */
	NGOROUTINES = 3,
	TOP_HASH = 0x80,
};

enum { T_STRING, T_PAIR, T_LIST, T_SET, T_MAP, T_INT, NTYPES };

struct fixture {
	struct types_memory m;
	struct gr_sched sched;
	struct gr_goroutine goroutines[NGOROUTINES];
	uint64_t polls;
};

static struct gr_error *count_poll(void *ctx)
{
	struct fixture *f = ctx;

	f->polls++;
	return NULL;
}

static void add(struct fixture *f, gr_type_id id, uint8_t kind, uint64_t bytes,
		gr_type_id elem)
{
	types_memory_add(&f->m, id,
			 (struct gr_type){ .name = "",
					   .kind = kind,
					   .size_bytes = bytes,
					   .elem = elem,
					   .key = T_STRING });
}

static void add_field(struct fixture *f, gr_type_id id, uint64_t off,
		      gr_type_id type)
{
	types_memory_add_field(&f->m, id,
			       (struct gr_type_field){ "", off, type });
}

static struct fixture *start(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	memcpy(types_memory_init(&f->m, MEMORY_BYTES) + TEXT, "abcdefgh", 8);
	f->m.rt.poll = count_poll;
	f->m.rt.poll_ctx = f;
	add(f, T_STRING, GR_KIND_STRING, 16, GR_TYPE_NONE);
	add(f, T_PAIR, GR_KIND_STRUCT, 32, GR_TYPE_NONE);
	add_field(f, T_PAIR, 0, T_STRING);
	add_field(f, T_PAIR, 16, T_STRING);
	add(f, T_LIST, GR_KIND_SLICE, 24, T_PAIR);
	add(f, T_SET, GR_KIND_STRUCT, 24, GR_TYPE_NONE);
	add_field(f, T_SET, 0, T_LIST);
	add(f, T_MAP, GR_KIND_MAP, 8, T_STRING);
	add(f, T_INT, GR_KIND_INT, 8, GR_TYPE_NONE);
	f->sched.rt = &f->m.rt;
	f->sched.goroutines = f->goroutines;
	f->sched.ngoroutines = NGOROUTINES;
	f->goroutines[1].labels_addr = MEMORY + SET;
	return f;
}

#define FIXTURE struct fixture *f, start, types_memory_stop

static void put(struct fixture *f, uint64_t off, uint64_t value, size_t bytes)
{
	fake_set(&f->m.image, MEMORY + off, value, bytes);
}

/* A string of the first letters. */
static void put_string(struct fixture *f, uint64_t off, uint64_t bytes)
{
	put(f, off, MEMORY + TEXT, 8);
	put(f, off + 8, bytes, 8);
}

static void put_slice(struct fixture *f, uint64_t length, uint64_t capacity)
{
	put(f, SET, MEMORY + LIST, 8);
	put(f, SET + 8, length, 8);
	put(f, SET + 16, capacity, 8);
	for (uint64_t i = 0; i < length && i <= MOST; i++) {
		put_string(f, LIST + i * 32, 1 + i % 8);
		put_string(f, LIST + i * 32 + 16, 2);
	}
}

enum { BUCKET = 8 + 8 * 32 + 8, NEXT = BUCKET - 8 };

/* A bucket with @p n labels, which leads to bucket @p next. */
static void put_bucket(struct fixture *f, uint64_t i, unsigned int n,
		       uint64_t next)
{
	uint64_t at = LIST + i * BUCKET;

	for (unsigned int j = 0; j < n; j++) {
		put(f, at + j, TOP_HASH, 1);
		put_string(f, at + 8 + j * 16, 1 + j);
		put_string(f, at + 8 + 128 + j * 16, 3);
	}
	put(f, at + NEXT, next ? MEMORY + LIST + next * BUCKET : 0, 8);
}

static void put_map(struct fixture *f, uint64_t count, uint8_t log)
{
	put(f, SET, MEMORY + HEADER, 8);
	put(f, HEADER, count, 8);
	put(f, HEADER + 9, log, 1);
	put(f, HEADER + 16, MEMORY + LIST, 8);
}

/* The labels of goroutine 1; NULL: none. */
static const struct gr_label_set *read_one(struct fixture *f, gr_type_id type)
{
	assert_null(gr_labels_read(&f->m.types, type, &f->sched));
	assert_null(f->goroutines[0].labels);
	return f->goroutines[1].labels;
}

// --------------------------------------------------------------------- tests

TEST_F(list)
{
	const struct gr_label_set *set;

	put_slice(f, 3, 4);
	f->goroutines[2].labels_addr = MEMORY + SET;
	set = read_one(f, T_SET);
	assert_int_equal(set->nlabels, 3);
	assert_string_equal(set->labels[2].key, "abc");
	assert_string_equal(set->labels[2].value, "ab");
	assert_ptr_equal(f->goroutines[2].labels, set);
	assert_ptr_equal(read_one(f, T_LIST)->labels[0].key,
			 set->labels[0].key);
}

TEST_F(map)
{
	const struct gr_label_set *set;

	put_map(f, 10, 0);
	put_bucket(f, 0, 8, 1);
	put_bucket(f, 1, 2, 0);
	set = read_one(f, T_MAP);
	assert_int_equal(set->nlabels, 10);
	assert_string_equal(set->labels[9].key, "abcdefgh");
	assert_string_equal(set->labels[9].value, "abc");
}

/* Half of the buckets are old ones still. */
TEST_F(map_that_grows)
{
	put_map(f, 5, 1);
	put_bucket(f, 0, 2, 0);
	put_bucket(f, 1, 0, 0);
	put_bucket(f, 2, 3, 0);
	put(f, HEADER + 24, MEMORY + LIST + 2 * BUCKET, 8);
	assert_int_equal(read_one(f, T_MAP)->nlabels, 5);
}

TEST_F(no_labels)
{
	put_slice(f, 2, 2);
	assert_null(read_one(f, GR_TYPE_NONE));
	assert_null(read_one(f, T_INT));
	assert_null(read_one(f, T_STRING));
	assert_true(gr_labels_are_there(&f->sched));
	put_slice(f, 2, 1);
	assert_null(read_one(f, T_SET));
	put_slice(f, UINT64_MAX, UINT64_MAX);
	assert_null(read_one(f, T_SET));
	put_slice(f, 2, 2);
	put(f, LIST + 8, UINT64_MAX, 8);
	assert_null(read_one(f, T_SET));
	put(f, LIST + 8, 1, 8);
	put(f, LIST, 0x1234, 8);
	assert_null(read_one(f, T_SET));
	f->goroutines[1].labels_addr = 0x1234;
	assert_null(read_one(f, T_SET));
	f->goroutines[1].labels_addr = 0;
	assert_false(gr_labels_are_there(&f->sched));
}

TEST_F(long_list)
{
	put_slice(f, MOST, MOST);
	assert_int_equal(read_one(f, T_SET)->nlabels, MOST);
	put_slice(f, MOST + 1, MOST + 1);
	assert_null(read_one(f, T_SET));
}

/* A bucket that leads to itself, with and without labels. */
TEST_F(endless_map)
{
	put_map(f, MOST, 8);
	for (unsigned int i = 0; i < 256; i++)
		put_bucket(f, i, 0, 1);
	assert_null(read_one(f, T_MAP));
	put_bucket(f, 1, 8, 1);
	assert_null(read_one(f, T_MAP));
	put(f, HEADER + 9, 200, 1);
	assert_null(read_one(f, T_MAP));
	assert_true(f->polls < 4);
}

/* The count that the map has is not that of its entries. */
TEST_F(count_of_a_map)
{
	put_map(f, 3, 0);
	put_bucket(f, 0, 2, 0);
	assert_null(read_one(f, T_MAP));
}

GR_SUITE("labels")
