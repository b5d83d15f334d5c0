// SPDX-License-Identifier: Apache-2.0
// Sets of words of an address space.
#include <stddef.h>
#include <stdint.h>

#include "suite.h"

#include "base/word_set.h"

TEST(ranges_across_stretches)
{
	struct gr_word_set set = { 0 };
	const uint64_t border = UINT64_C(0xc004000000);

	assert_false(gr_word_set_has(&set, border, 1));
	assert_true(gr_word_set_add(&set, border - 16, 32));
	assert_true(gr_word_set_has(&set, border - 16, 32));
	assert_true(gr_word_set_has(&set, border - 9, 10));
	assert_false(gr_word_set_has(&set, border - 17, 2));
	assert_false(gr_word_set_has(&set, border + 15, 2));
	// A byte stands for its word.
	assert_true(gr_word_set_add(&set, border + 31, 1));
	assert_true(gr_word_set_has(&set, border + 24, 8));
	assert_false(gr_word_set_has(&set, border + 16, 16));
	gr_word_set_deinit(&set);
}

TEST(pages_come_in_order)
{
	static const uint64_t addrs[] = { 0x7fff00001000, 0x1008, 0xc000002000,
					  0xc000001ff8, 0xc010000000 };
	static const uint64_t pages[] = { 0x1000, 0xc000001000, 0xc000002000,
					  0xc010000000, 0x7fff00001000 };
	struct gr_word_set set = { 0 };
	struct gr_word_set_pages at = { 0 };
	const uint64_t *bits;
	uint64_t page;

	assert_false(gr_word_set_next_page(&set, &at, &page, &bits));
	for (size_t i = 0; i < 5; i++)
		assert_true(gr_word_set_add(&set, addrs[i], 8));
	gr_word_set_sort(&set);
	at = (struct gr_word_set_pages){ 0 };
	for (size_t i = 0; i < 5; i++) {
		assert_true(gr_word_set_next_page(&set, &at, &page, &bits));
		assert_int_equal(page, pages[i]);
	}
	assert_false(gr_word_set_next_page(&set, &at, &page, &bits));
	assert_false(gr_word_set_next_page(&set, &at, &page, &bits));
	gr_word_set_deinit(&set);
}

GR_SUITE("word set")
