// SPDX-License-Identifier: Apache-2.0
/* thread_stacks: places in stacks, up to the most that are kept. */
#include "growth/thread_stacks.h"

#include "suite.h"

TEST(no_room)
{
	struct gr_thread_stacks stacks = { 0 };

	for (uint64_t i = 1; i <= GR_MAX_STACK_PLACES; i++)
		assert_null(gr_thread_stacks_add(&stacks, i << 20));
	assert_false(stacks.is_full);
	assert_null(gr_thread_stacks_add(&stacks, 0));
	assert_false(stacks.is_full);
	assert_null(gr_thread_stacks_add(&stacks, UINT64_C(1) << 46));
	assert_true(stacks.is_full);
	assert_int_equal(stacks.places.size, GR_MAX_STACK_PLACES);
	gr_thread_stacks_deinit(&stacks);
}

GR_SUITE("stacks of threads")
