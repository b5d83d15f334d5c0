// SPDX-License-Identifier: Apache-2.0
/* bitmap: every function against a naive one over an array of bools. */
#include "base/bitmap.h"

#include "suite.h"

enum { BITS = 5 * 64, ROUNDS = 2000 };

/** A bitmap and what it should be, a byte a bit. */
struct pair {
	uint64_t *map;
	bool naive[BITS + 128];
};

static struct pair *setup(void)
{
	struct pair *p = suite_alloc(sizeof(*p));

	p->map = gr_bitmap_alloc(BITS);
	assert_non_null(p->map);
	return p;
}

static void teardown(struct pair *p)
{
	free(p->map);
	free(p);
}

#define FIXTURE struct pair *p, setup, teardown

static void fill_random(struct pair *p, uint64_t *seed)
{
	for (size_t i = 0; i < BITS; i++) {
		p->naive[i] = suite_random(seed) >> 40 & 1;
		if (p->naive[i])
			gr_bitmap_set(p->map, i);
		else
			gr_bitmap_clear(p->map, i);
	}
}

static void assert_same(const struct pair *p)
{
	for (size_t i = 0; i < BITS; i++)
		if (gr_bitmap_test(p->map, i) != p->naive[i])
			fail_msg("bit %zu is %d", i, !p->naive[i]);
}

static size_t naive_next(const struct pair *p, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (p->naive[i])
			return i;
	return end;
}

static size_t naive_count(const struct pair *p, size_t start, size_t end)
{
	size_t count = 0;

	for (size_t i = start; i < end; i++)
		count += p->naive[i];
	return count;
}

static uint64_t naive_extract(const struct pair *p, size_t bit,
			      unsigned int count)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < count && i < 64; i++)
		bits |= (uint64_t)p->naive[bit + i] << i;
	return bits;
}

TEST(words)
{
	assert_int_equal(gr_bitmap_words(0), 0);
	assert_int_equal(gr_bitmap_words(1), 1);
	assert_int_equal(gr_bitmap_words(64), 1);
	assert_int_equal(gr_bitmap_words(65), 2);
	assert_int_equal(gr_bitmap_words(SIZE_MAX), SIZE_MAX / 64 + 1);
}

TEST(alloc)
{
	uint64_t *map = gr_bitmap_alloc(0);

	// gr_bitmap_extract() may read the word after the last.
	assert_non_null(map);
	assert_int_equal(map[0], 0);
	free(map);
	map = gr_bitmap_alloc(128);
	assert_non_null(map);
	assert_int_equal(map[0] | map[1] | map[2], 0);
	free(map);
}

TEST_F(single_bits)
{
	for (size_t i = 0; i < BITS; i++) {
		assert_true(gr_bitmap_set_new(p->map, i));
		assert_false(gr_bitmap_set_new(p->map, i));
		p->naive[i] = true;
		assert_same(p);
		assert_true(gr_bitmap_take(p->map, i));
		assert_false(gr_bitmap_take(p->map, i));
		p->naive[i] = false;
		assert_same(p);
	}
}

/* [start, end) for everything that works on a range. */
struct range_case {
	const char *name;
	size_t start, end;
};

static const struct range_case range_cases[] = {
	{ "empty at 0", 0, 0 },
	{ "empty inside a word", 70, 70 },
	{ "empty at a word's border", 64, 64 },
	{ "empty at the end", BITS, BITS },
	{ "the first bit", 0, 1 },
	{ "the last bit", BITS - 1, BITS },
	{ "the last bit of a word", 63, 64 },
	{ "the first bit of a word", 64, 65 },
	{ "both sides of a border", 63, 65 },
	{ "inside one word", 70, 90 },
	{ "to a border", 70, 128 },
	{ "from a border", 128, 150 },
	{ "one whole word", 64, 128 },
	{ "two whole words", 64, 192 },
	{ "from inside to inside, a word between", 40, 140 },
	{ "all but the ends", 1, BITS - 1 },
	{ "everything", 0, BITS },
};

static void check_range(struct pair *p, size_t start, size_t end)
{
	assert_int_equal(gr_bitmap_next(p->map, start, end),
			 naive_next(p, start, end));
	assert_int_equal(gr_bitmap_count(p->map, start, end),
			 naive_count(p, start, end));
}

static void check_set_and_clear(struct pair *p, size_t start, size_t end)
{
	gr_bitmap_set_range(p->map, start, end);
	for (size_t i = start; i < end; i++)
		p->naive[i] = true;
	assert_same(p);
	check_range(p, start, end);
	gr_bitmap_clear_range(p->map, start, end);
	for (size_t i = start; i < end; i++)
		p->naive[i] = false;
	assert_same(p);
	check_range(p, start, end);
}

TEST_F_ROWS(range, range_cases, c)
{
	uint64_t seed = 20;

	check_range(p, c->start, c->end);
	check_set_and_clear(p, c->start, c->end);
	for (int i = 0; i < 20; i++) {
		fill_random(p, &seed);
		check_range(p, c->start, c->end);
		check_set_and_clear(p, c->start, c->end);
	}
}

TEST_F(next_sees_only_the_range)
{
	gr_bitmap_set(p->map, 10);
	gr_bitmap_set(p->map, 200);
	assert_int_equal(gr_bitmap_next(p->map, 0, BITS), 10);
	assert_int_equal(gr_bitmap_next(p->map, 11, BITS), 200);
	assert_int_equal(gr_bitmap_next(p->map, 11, 200), 200);
	assert_int_equal(gr_bitmap_next(p->map, 11, 199), 199);
	assert_int_equal(gr_bitmap_next(p->map, 201, BITS), BITS);
	assert_int_equal(gr_bitmap_next(p->map, 250, 20), 20);
}

TEST_F(random_ranges)
{
	uint64_t seed = 30;

	for (int i = 0; i < ROUNDS; i++) {
		size_t start = suite_random(&seed) % (BITS + 1);
		size_t end = start + suite_random(&seed) % (BITS + 1 - start);

		if (i % 16 == 0)
			fill_random(p, &seed);
		check_range(p, start, end);
		if (i % 2)
			check_set_and_clear(p, start, end);
	}
}

TEST_F(extract)
{
	uint64_t seed = 40;

	fill_random(p, &seed);
	for (size_t bit = 0; bit < BITS; bit++)
		for (unsigned int count = 0; count <= 64; count++)
			if (gr_bitmap_extract(p->map, bit, count) !=
			    naive_extract(p, bit, count))
				fail_msg("%u bits from %zu on", count, bit);
}

TEST_F(or)
{
	uint64_t seed = 50;

	for (int i = 0; i < ROUNDS; i++) {
		size_t bit = suite_random(&seed) % (BITS - 63);
		uint64_t bits = suite_random(&seed) & suite_random(&seed);

		if (i % 8 == 0) {
			memset(p->naive, 0, sizeof(p->naive));
			gr_bitmap_clear_range(p->map, 0, BITS);
		}
		gr_bitmap_or(p->map, bit, bits);
		for (unsigned int j = 0; j < 64; j++)
			p->naive[bit + j] |= bits >> j & 1;
		assert_same(p);
	}
}

TEST_F(and_not)
{
	uint64_t seed = 60;

	for (int i = 0; i < ROUNDS; i++) {
		size_t bit = suite_random(&seed) % (BITS - 63);
		uint64_t bits = suite_random(&seed);

		if (i % 4 == 0)
			fill_random(p, &seed);
		gr_bitmap_and_not(p->map, bit, bits);
		for (unsigned int j = 0; j < 64; j++)
			p->naive[bit + j] &= !(bits >> j & 1);
		assert_same(p);
	}
}

/* Bits past the last word are not touched when they are zeros. */
TEST(or_at_the_last_word)
{
	uint64_t map[2] = { 0, 0 };
	uint64_t *one = malloc(sizeof(*one));

	assert_non_null(one);
	*one = 0;
	gr_bitmap_or(one, 60, 0xf);
	assert_true(*one == UINT64_C(0xf) << 60);
	gr_bitmap_and_not(one, 62, 3);
	assert_true(*one == UINT64_C(3) << 60);
	gr_bitmap_or(map, 0, ~UINT64_C(0));
	assert_true(map[0] == ~UINT64_C(0) && !map[1]);
	gr_bitmap_or(map, 1, ~UINT64_C(0));
	assert_true(map[1] == 1);
	free(one);
}

GR_SUITE("bitmaps")
