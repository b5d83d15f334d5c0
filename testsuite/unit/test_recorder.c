// SPDX-License-Identifier: Apache-2.0
// recorder: it knows to the byte what was read.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "suite.h"

#include "inferior/recorder.h"

enum {
	PAGE = GR_SET_PAGE_BYTES,
	BYTES = 3 * PAGE,
	READS = 200,
};

static const uint64_t base = UINT64_C(0xc000ffe000);

/* Each byte by itself: what a page has after it was written. */
static void expect(struct gr_recorder *r, const uint8_t *was_read)
{
	uint64_t words[GR_SET_PAGE_WORDS];
	struct gr_word_set all = { 0 };

	assert_true(gr_recorder_list_words(r, &all));
	for (int page = 0; page < 3; page++) {
		memset(words, 0xff, sizeof(words));
		gr_recorder_clear_unread(r, base + page * PAGE, words);
		for (int i = 0; i < PAGE; i++) {
			uint64_t off = (uint64_t)page * PAGE + i;
			uint8_t got = ((uint8_t *)words)[i];

			if (gr_word_set_has(&all, base + off, 1))
				assert_int_equal(got, was_read[off] ? 0xff : 0);
			else
				assert_false(was_read[off]);
		}
	}
	gr_word_set_deinit(&all);
}

TEST(reads_of_all_sizes)
{
	static uint8_t was_read[BYTES];
	struct gr_recorder r = { 0 };
	uint64_t random = 1;

	for (int i = 0; i < READS; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		uint64_t bytes = 1 + (random >> 60), off;

		off = (random >> 20) % (BYTES - bytes);
		memset(was_read + off, 1, bytes);
		gr_recorder_add(&r, base + off, bytes);
		if (i % 20 == 0)
			expect(&r, was_read);
	}
	expect(&r, was_read);
	assert_false(r.is_out_of_memory);
	gr_recorder_deinit(&r);
}

/* Bits of pages are those of words that were added one by one. */
TEST(bits_of_pages)
{
	static uint8_t was_read[BYTES];
	uint64_t bits[3 * GR_SET_PAGE_BITMAP] = { 0 };
	const uint64_t nwords = 2 * GR_SET_PAGE_WORDS + 100;
	struct gr_recorder r = { 0 };
	uint64_t random = 7;

	for (uint64_t i = 0; i < 3 * GR_SET_PAGE_WORDS; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		if (random >> 62)
			continue;
		bits[i / 64] |= UINT64_C(1) << i % 64;
		if (i < nwords)
			memset(was_read + i * 8, 1, 8);
	}
	gr_recorder_add(&r, base + 40, 3);
	memset(was_read + 40, 1, 3);
	for (uint64_t page = 0; page < 3; page++)
		gr_recorder_add_bits(&r, base + page * PAGE,
				     bits + page * GR_SET_PAGE_BITMAP,
				     nwords - page * GR_SET_PAGE_WORDS);
	expect(&r, was_read);
	r.pauses = 1;
	memset(bits, 0xff, sizeof(bits));
	gr_recorder_add_bits(&r, base, bits, GR_SET_PAGE_WORDS);
	expect(&r, was_read);
	assert_false(r.is_out_of_memory);
	gr_recorder_deinit(&r);
}

TEST(ends_of_memory)
{
	struct gr_recorder r = { 0 };
	struct gr_word_set all = { 0 };

	gr_recorder_add(&r, UINT64_MAX - 2, 2);
	gr_recorder_add(&r, UINT64_MAX - 20, 20);
	gr_recorder_add(&r, 0, 3);
	gr_recorder_add(&r, 64, 0);
	gr_recorder_pause(&r);
	gr_recorder_add(&r, 128, 4);
	gr_recorder_resume(&r);
	assert_true(gr_recorder_list_words(&r, &all));
	assert_true(gr_word_set_has(&all, UINT64_MAX - 23, 23));
	assert_true(gr_word_set_has(&all, 0, 8));
	assert_false(gr_word_set_has(&all, 8, 1));
	assert_false(gr_word_set_has(&all, 64, 1));
	assert_false(gr_word_set_has(&all, 128, 1));
	gr_word_set_deinit(&all);
	gr_recorder_deinit(&r);
}

/* Memory that a search reads is recorded if it finds something. The outermost
 * search decides. */
TEST(searches)
{
	static uint8_t was_read[BYTES];
	struct gr_recorder r = { 0 };

	for (int i = 0; i < 16; i++) {
		bool outer_finds = i & 1, inner_finds = i & 2;
		uint64_t off = i * 64;
		size_t outer = gr_recorder_search(&r);

		gr_recorder_add(&r, base + off, 11);
		size_t inner = gr_recorder_search(&r);
		gr_recorder_add(&r, base + off + 24, 3);
		gr_recorder_end_search(&r, inner, inner_finds);
		gr_recorder_end_search(&r, outer, outer_finds);
		if (outer_finds)
			memset(was_read + off, 1, 11);
		if (outer_finds && inner_finds)
			memset(was_read + off + 24, 1, 3);
		// After a search, reads are recorded at once again.
		gr_recorder_add(&r, base + off + 40, 8);
		memset(was_read + off + 40, 1, 8);
		expect(&r, was_read);
	}
	gr_recorder_end_search(NULL, gr_recorder_search(NULL), true);
	gr_recorder_deinit(&r);
}

/* A word that leads nowhere is there, and is 0. */
TEST(blank_words)
{
	static uint8_t was_read[BYTES];
	struct gr_word_set all = { 0 };
	struct gr_recorder r = { 0 };

	gr_recorder_add_blank(&r, base + 16);
	gr_recorder_add_blank(&r, base + PAGE + 8);
	gr_recorder_add_blank(&r, base + PAGE + 24);
	gr_recorder_add(&r, base + PAGE + 8, 8);
	gr_recorder_add(&r, base + PAGE + 24, 2);
	memset(was_read + PAGE + 8, 1, 8);
	memset(was_read + PAGE + 24, 1, 2);
	expect(&r, was_read);
	assert_true(gr_recorder_list_words(&r, &all));
	assert_true(gr_word_set_has(&all, base + 16, 8));
	assert_false(gr_word_set_has(&all, base + 8, 8));
	gr_word_set_deinit(&all);
	gr_recorder_deinit(&r);
}

GR_SUITE("recorder")
