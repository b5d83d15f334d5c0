// SPDX-License-Identifier: Apache-2.0
/* The reach of objects, compared with a list of all views that is joined at the
 * end. */
#include "waste/objects/reach.h"

#include "suite.h"

enum { MAX_VIEWS = 12, NOBJECTS = 200000 };

static void add(struct gr_reach_table *reach, gr_obj obj, uint64_t bytes,
		uint64_t lo, uint64_t hi, uint64_t used)
{
	assert_true(gr_reach_add(reach, obj, bytes,
				 (struct gr_interval){ lo, hi, used }));
}

static int compare_starts(const void *a, const void *b)
{
	const struct gr_interval *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Join the views that overlap or touch. */
static uint32_t join_views(struct gr_interval *views, uint32_t n)
{
	uint32_t count = 0;

	qsort(views, n, sizeof(*views), compare_starts);
	for (uint32_t i = 0; i < n; i++) {
		struct gr_interval *last = count ? &views[count - 1] : NULL;

		if (!last || views[i].lo > last->hi) {
			views[count++] = views[i];
			continue;
		}
		if (views[i].hi > last->hi)
			last->hi = views[i].hi;
		if (views[i].used > last->used)
			last->used = views[i].used;
	}
	return count;
}

static struct gr_interval random_view(uint64_t *seed, uint64_t bytes)
{
	struct gr_interval view;

	view.lo = suite_random(seed) % 3 ? 0 : suite_random(seed) % (bytes + 1);
	view.hi = view.lo + suite_random(seed) % (bytes - view.lo + 1);
	view.used =
		suite_random(seed) % 2 ?
			view.hi :
			view.lo + suite_random(seed) % (view.hi - view.lo + 1);
	return view;
}

static void check_object(struct gr_reach_table *reach, gr_obj obj,
			 uint64_t bytes, uint64_t *seed)
{
	uint32_t n = suite_random(seed) % MAX_VIEWS, count;
	struct gr_interval views[MAX_VIEWS], one;
	const struct gr_interval *list;
	bool is_one_view = true;

	for (uint32_t i = 0; i < n; i++) {
		views[i] = i && suite_random(seed) % 2 ?
				   views[i - 1] :
				   random_view(seed, bytes);
		is_one_view &= !memcmp(&views[i], &views[0], sizeof(one));
		assert_true(gr_reach_add(reach, obj, bytes, views[i]));
	}
	count = join_views(views, n);
	assert_int_equal(gr_reach_get(reach, obj, &one, &list), count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(list[i].lo, views[i].lo);
		assert_int_equal(list[i].hi, views[i].hi);
		assert_int_equal(list[i].used, views[i].used);
	}
	assert_int_equal(gr_reach_is_one_view(reach, obj), is_one_view);
}

/** The size of objects, behind their malloc headers. */
struct row {
	const char *name;
	uint64_t bytes;
};

static const struct row sizes[] = {
	{ "a word", 8 },
	{ "a tiny block", 16 },
	{ "with a malloc header", 1016 },
	{ "just below the largest size class", 28672 },
	{ "the largest size class", 32768 },
	{ "one byte less", 32767 },
	{ "large", 1 << 20 },
	{ "very large", UINT64_C(1) << 40 },
};

TEST_ROWS(views_are_joined, sizes, row)
{
	const struct gr_heap heap = { .nobjs = 4000 };
	struct gr_reach_table reach;
	uint64_t seed = 1 + row->bytes;

	assert_null(gr_reach_init(&reach, &heap));
	for (gr_obj obj = 0; obj < heap.nobjs; obj++)
		check_object(&reach, obj, row->bytes, &seed);
	assert_int_equal(reach.crowded, 0);
	gr_reach_deinit(&reach);
}

TEST(objects_with_too_many_intervals_count_whole)
{
	const struct gr_heap heap = { .nobjs = 2 };
	const uint64_t bytes = 3 * GR_REACH_MAX_INTERVALS;
	const struct gr_interval *list;
	struct gr_reach_table reach;
	struct gr_interval one;

	assert_null(gr_reach_init(&reach, &heap));
	for (uint64_t i = 0; i < GR_REACH_MAX_INTERVALS; i++)
		add(&reach, 1, bytes, 3 * i, 3 * i + 2, 3 * i + 1);
	assert_int_equal(gr_reach_get(&reach, 1, &one, &list),
			 GR_REACH_MAX_INTERVALS);
	assert_int_equal(reach.nmore, GR_REACH_MAX_INTERVALS - 1);
	add(&reach, 1, bytes + 3, bytes, bytes + 1, bytes + 1);
	assert_int_equal(gr_reach_get(&reach, 1, &one, &list), 1);
	assert_int_equal(list->lo, 0);
	assert_int_equal(list->hi, bytes + 3);
	assert_int_equal(list->used, bytes + 3);
	assert_int_equal(reach.crowded, 1);
	assert_int_equal(reach.nmore, 0);
	assert_int_equal(gr_reach_get(&reach, 0, &one, &list), 0);
	gr_reach_deinit(&reach);
}

TEST(the_table_is_limited)
{
	const struct gr_heap heap = { .nobjs = NOBJECTS };
	const struct gr_interval *list;
	struct gr_reach_table reach;
	struct gr_interval one;
	uint64_t nwhole = 0;

	assert_null(gr_reach_init(&reach, &heap));
	for (gr_obj obj = 0; obj < NOBJECTS; obj++) {
		add(&reach, obj, 64, 0, 8, 8);
		add(&reach, obj, 64, 16, 24, 20);
	}
	for (gr_obj obj = 0; obj < NOBJECTS; obj++) {
		uint32_t n = gr_reach_get(&reach, obj, &one, &list);

		assert_in_range(n, 1, 2);
		nwhole += n == 1;
		assert_int_equal(list[n - 1].used, n == 1 ? 64 : 20);
		assert_false(gr_reach_is_one_view(&reach, obj));
	}
	assert_int_equal(reach.crowded, nwhole);
	assert_true(reach.wide.size <= reach.max_wide);
	assert_in_range(nwhole, NOBJECTS / 2, NOBJECTS - 1);
	gr_reach_deinit(&reach);
}

GR_SUITE("reach")
