// SPDX-License-Identifier: Apache-2.0
/* Numbers for stacks: equal ones have one, and a full table says so. */
#include "helpers/trace/stacks.h"

#include "suite.h"

static struct gr_walked *walked_of(uint64_t pc, size_t count)
{
	struct gr_walked *walked = suite_alloc(sizeof(*walked));

	for (size_t i = 0; i < count; i++)
		walked->pc[i] = pc + i;
	walked->count = count;
	walked->is_finished = true;
	return walked;
}

static uint32_t intern(struct gr_stacks *stacks, struct gr_walked *walked,
		       bool expect_new)
{
	bool is_new;
	uint32_t id;

	assert_true(gr_stacks_intern(stacks, walked, &id, &is_new));
	assert_int_equal(is_new, expect_new);
	return id;
}

TEST(equal_stacks_have_one_number)
{
	struct gr_stacks *stacks = gr_stacks_new(GR_MAX_STACKS);
	struct gr_walked *a = walked_of(0x1000, 7), *b = walked_of(0x2000, 7);

	assert_int_equal(intern(stacks, a, true), 1);
	assert_int_equal(intern(stacks, b, true), 2);
	assert_int_equal(intern(stacks, a, false), 1);
	assert_int_equal(intern(stacks, b, false), 2);
	free(a);
	free(b);
	gr_stacks_destroy(stacks);
}

TEST(all_of_a_stack_counts)
{
	struct gr_stacks *stacks = gr_stacks_new(GR_MAX_STACKS);
	struct gr_walked *walked = walked_of(0x1000, GR_MAX_FRAMES);

	intern(stacks, walked, true);
	walked->pc[GR_MAX_FRAMES - 1]++;
	intern(stacks, walked, true);
	walked->count--;
	intern(stacks, walked, true);
	walked->is_finished = false;
	intern(stacks, walked, true);
	walked->generation++;
	intern(stacks, walked, true);
	walked->count = 0;
	intern(stacks, walked, true);
	intern(stacks, walked, false);
	free(walked);
	gr_stacks_destroy(stacks);
}

TEST(a_full_table_says_so)
{
	enum { COUNT = 1000 };
	struct gr_stacks *stacks = gr_stacks_new(COUNT);
	struct gr_walked *walked = walked_of(0, 1);
	bool is_new;
	uint32_t id;

	for (uint64_t i = 0; i < COUNT; i++) {
		walked->pc[0] = i;
		assert_int_equal(intern(stacks, walked, true), i + 1);
	}
	walked->pc[0] = COUNT;
	assert_false(gr_stacks_intern(stacks, walked, &id, &is_new));
	assert_int_equal(id, 0);
	assert_false(is_new);
	walked->pc[0] = COUNT / 2;
	assert_int_equal(intern(stacks, walked, false), COUNT / 2 + 1);
	free(walked);
	gr_stacks_destroy(stacks);
}

GR_SUITE("stacks of a trace")
