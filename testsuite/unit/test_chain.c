// SPDX-License-Identifier: Apache-2.0
/* Lists that end, and lists that do not. */
#include "base/chain.h"

#include "suite.h"

/* Steps until a list of @before records and then a loop of @loop (0: none)
 * must be left; all of them if it ends. */
static uint64_t follow(uint64_t before, uint64_t loop, uint64_t limit)
{
	struct gr_chain chain = { .limit = limit };
	uint64_t at = 0;

	while (at < before + loop && gr_chain_step(&chain, 0x1000 + at)) {
		at++;
		if (loop && at == before + loop)
			at = before;
	}
	return chain.seen;
}

TEST(ends)
{
	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(follow(n, 0, 1000), n);
}

TEST(too_long)
{
	assert_int_equal(follow(1000, 0, 10), 10);
	assert_int_equal(follow(1000, 0, 0), 0);
	assert_int_equal(follow(0, 1000, 10), 10);
}

TEST(loops)
{
	for (uint64_t before = 0; before < 70; before++)
		for (uint64_t loop = 1; loop < 70; loop++) {
			uint64_t steps = follow(before, loop, UINT64_MAX);

			assert_true(steps >= before + loop);
			assert_true(steps <= 3 * (before + loop));
		}
}

GR_SUITE("chains")
