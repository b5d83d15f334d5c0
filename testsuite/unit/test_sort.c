// SPDX-License-Identifier: Apache-2.0
/* gr_sort() against qsort(), and the set of numbers against a table. */
#include "base/number_set.h"
#include "base/sort.h"

#include "suite.h"

struct element {
	uint32_t key, place;
};

static int compare(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int compare_stable(const void *a, const void *b)
{
	const struct element *x = a, *y = b;
	int order = compare(a, b);

	return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

/* Elements in some order; 16 keys, so that many are equal. */
static struct element *make(size_t count, uint32_t seed)
{
	struct element *ret = calloc(count + 1, sizeof(*ret));

	assert_non_null(ret);
	for (uint32_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		ret[i] = (struct element){ seed >> 28, i };
	}
	return ret;
}

TEST(like_qsort)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 8, 9, 64, 1000, 4097 };

	for (size_t i = 0; i < GR_ARRAY_SIZE(counts); i++) {
		size_t bytes = counts[i] * sizeof(struct element);
		struct element *ours = make(counts[i], (uint32_t)i);
		struct element *theirs = make(counts[i], (uint32_t)i);

		assert_null(gr_sort(ours, counts[i], sizeof(*ours), compare,
				    NULL, NULL));
		qsort(theirs, counts[i], sizeof(*theirs), compare_stable);
		assert_memory_equal(ours, theirs, bytes);
		assert_null(gr_sort(ours, counts[i], sizeof(*ours), compare,
				    NULL, NULL));
		assert_memory_equal(ours, theirs, bytes);
		free(ours);
		free(theirs);
	}
}

/* A sort that is ended has lost no element. */
TEST(interrupted)
{
	enum { COUNT = 20000 };
	struct element *list = make(COUNT, 1);
	uint64_t left = 2, sum = 0;

	assert_fails(gr_sort(list, COUNT, sizeof(*list), compare, suite_refuse,
			     &left),
		     GR_ERROR_INTERRUPTED, NULL);
	for (size_t i = 0; i < COUNT; i++)
		sum += list[i].place;
	assert_int_equal(sum, (uint64_t)COUNT * (COUNT - 1) / 2);
	free(list);
}

TEST(numbers)
{
	struct gr_number_set set = { 0 };
	bool is_new;

	assert_false(gr_number_set_has(&set, 0));
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(gr_number_set_add(&set, i * 4096, &is_new));
		assert_true(is_new);
	}
	for (uint64_t i = 0; i < 5000 * 4096; i += 1024)
		assert_int_equal(gr_number_set_has(&set, i), i % 4096 == 0);
	assert_true(gr_number_set_add(&set, 4096, &is_new));
	assert_false(is_new);
	assert_int_equal(set.count, 5000);
	gr_number_set_deinit(&set);
}

GR_SUITE("sort")
