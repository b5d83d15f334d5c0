// SPDX-License-Identifier: Apache-2.0
/* huge: arrays of units keep what is in them, wherever the units come from. */
#include "base/huge.h"

#include "suite.h"

#include <pthread.h>
#include <sys/mman.h>

enum { UNIT = GR_HUGE_BYTES, ARRAYS = 6, MAX_UNITS = 5, STEPS = 300 };

/* The kernel refuses to move a unit, as it does with too many mappings. */
static bool is_refused;

void *__real_mremap(void *old, size_t old_bytes, size_t bytes, int flags,
		    void *place);
void *__wrap_mremap(void *old, size_t old_bytes, size_t bytes, int flags,
		    void *place);
void *__wrap_mremap(void *old, size_t old_bytes, size_t bytes, int flags,
		    void *place)
{
	return is_refused ? MAP_FAILED :
			    __real_mremap(old, old_bytes, bytes, flags, place);
}

/** An array whose bytes at each 4096th place tell its seed and the place. */
struct array {
	uint64_t *data;
	size_t bytes;
	uint64_t seed;
};

static uint64_t word_at(const struct array *a, size_t off)
{
	return a->seed * UINT64_C(0x9e3779b97f4a7c15) + off;
}

static void fill(struct array *a, size_t from, uint64_t seed)
{
	a->seed = from ? a->seed : seed;
	for (size_t off = (from + 4095) / 4096 * 4096; off + 8 <= a->bytes;
	     off += 4096)
		a->data[off / 8] = word_at(a, off);
}

static void assert_filled(const struct array *a, size_t bytes)
{
	assert_int_equal((uintptr_t)a->data % UNIT, 0);
	for (size_t off = 0; off + 8 <= bytes; off += 4096)
		assert_int_equal(a->data[off / 8], word_at(a, off));
}

static size_t random_bytes(uint64_t *seed)
{
	return 1 + suite_random(seed) % (MAX_UNITS * (size_t)UNIT);
}

/* Allocate, change or free an array at random. */
static void step(struct array *a, uint64_t *seed)
{
	if (!a->data) {
		a->bytes = random_bytes(seed);
		a->data = gr_huge_alloc(a->bytes);
		assert_non_null(a->data);
		fill(a, 0, suite_random(seed));
	} else if (suite_random(seed) % 3) {
		size_t before = a->bytes, bytes = random_bytes(seed);
		a->data = gr_huge_resize(a->data, before, bytes);
		assert_non_null(a->data);
		a->bytes = bytes;
		assert_filled(a, before < bytes ? before : bytes);
		fill(a, before, 0);
	} else {
		assert_filled(a, a->bytes);
		gr_huge_free(a->data, a->bytes);
		a->data = NULL;
	}
}

static void *step_often(void *ctx)
{
	struct array arrays[ARRAYS] = { 0 };
	uint64_t seed = *(uint64_t *)ctx;

	for (int i = 0; i < STEPS; i++)
		step(&arrays[suite_random(&seed) % ARRAYS], &seed);
	for (int i = 0; i < ARRAYS; i++) {
		if (!arrays[i].data)
			continue;
		assert_filled(&arrays[i], arrays[i].bytes);
		gr_huge_free(arrays[i].data, arrays[i].bytes);
	}
	return NULL;
}

TEST(contents)
{
	uint64_t seed = 1;

	step_often(&seed);
	assert_int_equal(gr_huge_spare_bytes(), 0);
	gr_huge_hold();
	step_often(&seed);
	assert_true(gr_huge_spare_bytes() > 0);
	gr_huge_release();
	assert_int_equal(gr_huge_spare_bytes(), 0);
}

TEST(units_that_cannot_move)
{
	uint64_t seed = 2;

	is_refused = true;
	gr_huge_hold();
	step_often(&seed);
	gr_huge_release();
	is_refused = false;
}

TEST(threads)
{
	pthread_t threads[3];
	uint64_t seeds[] = { 3, 4, 5 };

	gr_huge_hold();
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, step_often,
						&seeds[i]),
				 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	gr_huge_release();
	assert_int_equal(gr_huge_spare_bytes(), 0);
}

/* New memory is taken only when no unit is left, and the last holder gives all
 * of them back. */
TEST(holders)
{
	gr_huge_hold();
	char *data = gr_huge_alloc(7 * UNIT);

	assert_non_null(data);
	memset(data, 7, 7 * UNIT);
	gr_huge_free(data, 7 * UNIT);
	assert_int_equal(gr_huge_spare_bytes(), 7 * UNIT);
	gr_huge_hold();
	data = gr_huge_alloc(4 * UNIT + 1);
	assert_non_null(data);
	assert_int_equal(gr_huge_spare_bytes(), 2 * UNIT);
	// The contents came along.
	assert_int_equal(data[UNIT + 4096], 7);
	data = gr_huge_resize(data, 4 * UNIT + 1, UNIT);
	assert_int_equal(gr_huge_spare_bytes(), 6 * UNIT);
	gr_huge_release();
	assert_int_equal(gr_huge_spare_bytes(), 6 * UNIT);
	gr_huge_release();
	assert_int_equal(gr_huge_spare_bytes(), 0);
	gr_huge_free(data, UNIT);
	assert_int_equal(gr_huge_spare_bytes(), 0);
}

/* Each array is new, whether a thread had it ready or not, and kept units come
 * first. */
TEST(next)
{
	enum { COUNT = 20 };
	struct gr_huge_next next = { .is_started = false };
	char *units[COUNT];

	gr_huge_hold();
	for (int i = 0; i < COUNT; i++) {
		units[i] = gr_huge_next_alloc(&next);
		assert_non_null(units[i]);
		memset(units[i], i, UNIT);
	}
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(units[i][0], i);
		assert_int_equal(units[i][UNIT - 1], i);
		gr_huge_free(units[i], UNIT);
	}
	assert_int_equal(gr_huge_spare_bytes(), COUNT * UNIT);
	units[0] = gr_huge_next_alloc(&next);
	assert_in_range(gr_huge_spare_bytes(), (COUNT - 2) * UNIT,
			COUNT * UNIT);
	gr_huge_free(units[0], UNIT);
	gr_huge_next_deinit(&next);
	gr_huge_next_deinit(&next);
	gr_huge_release();
	assert_int_equal(gr_huge_spare_bytes(), 0);
}

TEST(no_memory)
{
	char *data = gr_huge_alloc(UNIT);

	assert_non_null(data);
	data[0] = 1;
	assert_null(gr_huge_alloc((size_t)1 << 60));
	assert_null(gr_huge_resize(data, UNIT, (size_t)1 << 60));
	assert_int_equal(data[0], 1);
	gr_huge_free(data, UNIT);
}

GR_SUITE("huge pages")
