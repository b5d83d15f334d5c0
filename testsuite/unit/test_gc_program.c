// SPDX-License-Identifier: Apache-2.0
/* GC programs: the masks that they make, and programs that make no sense. */
#include "goruntime/types/typemask.h"

#include "base/bitmap.h"
#include "suite.h"

enum { MAX_BITS = 4096 };

struct program_case {
	const char *name;
	uint8_t bytes[24];
	uint8_t nbytes;
	uint16_t nwords;
	bool want_ok;
	/** '1' pointer, '0' none; what is missing at the end is zeros. */
	const char *want;
};

static const struct program_case program_cases[] = {
	// Literals.
	{ "nothing but the end", { 0 }, 1, 8, true, "" },
	{ "one literal bit", { 1, 1, 0 }, 3, 8, true, "1" },
	{ "eight literal bits", { 8, 0xa5, 0 }, 3, 8, true, "10100101" },
	{ "nine bits take two bytes",
	  { 9, 0xff, 0x01, 0 },
	  4,
	  16,
	  true,
	  "111111111" },
	{ "bits past the count are not pointers",
	  { 3, 0xff, 0 },
	  3,
	  8,
	  true,
	  "111" },
	{ "two literals", { 2, 1, 3, 6, 0 }, 5, 8, true, "10011" },
	{ "127 bits at once",
	  { 127, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0 },
	  18,
	  127,
	  true,
	  "1000000000000000000000000000000000000000000000000000000000000000"
	  "000000000000000000000000000000000000000000000000000000000000001" },
	// Repeats.
	{ "repeat one bit three times",
	  { 1, 1, 0x81, 3, 0 },
	  5,
	  8,
	  true,
	  "1111" },
	{ "repeat the last two of three bits",
	  { 3, 3, 0x82, 2, 0 },
	  5,
	  8,
	  true,
	  "1101010" },
	{ "repeat what was repeated",
	  { 2, 1, 0x82, 1, 0x84, 1, 0 },
	  7,
	  8,
	  true,
	  "10101010" },
	{ "repeat no times", { 1, 1, 0x81, 0, 1, 1, 0 }, 7, 8, true, "11" },
	{ "literal after a repeat",
	  { 1, 1, 0x81, 1, 2, 2, 0 },
	  7,
	  8,
	  true,
	  "1101" },
	{ "repeat overlaps itself by length, not by copy",
	  { 3, 1, 0x83, 3, 0 },
	  5,
	  16,
	  true,
	  "100100100100" },
	// Counts as varints.
	{ "length as varint", { 2, 1, 0x80, 2, 2, 0 }, 6, 8, true, "101010" },
	{ "length as varint in two bytes",
	  { 2, 1, 0x80, 0x82, 0x00, 1, 0 },
	  7,
	  8,
	  true,
	  "1010" },
	{ "count as varint in two bytes",
	  { 1, 1, 0x81, 0x86, 0x00, 0 },
	  6,
	  8,
	  true,
	  "1111111" },
	{ "130 repeats",
	  { 1, 1, 0x81, 0x82, 0x01, 0 },
	  6,
	  160,
	  true,
	  "1111111111111111111111111111111111111111111111111111111111111111"
	  "1111111111111111111111111111111111111111111111111111111111111111"
	  "111" },
	{ "a length past one byte",
	  { 127, 1, 0, 0, 0, 0, 0, 0,	 0,    0,    0, 0,
	    0,	 0, 0, 0, 0, 1, 1, 0x80, 0x80, 0x01, 1, 0 },
	  24,
	  256,
	  true,
	  "1000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000001"
	  "1000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000001" },
	// More than fits, or more than needed.
	{ "a literal is cut at the last word",
	  { 8, 0xff, 0 },
	  3,
	  4,
	  true,
	  "1111" },
	{ "a repeat is cut at the last word",
	  { 2, 1, 0x82, 100, 0 },
	  5,
	  7,
	  true,
	  "1010101" },
	{ "2^63 repeats end at the last word",
	  { 1, 1, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	    0x01, 0 },
	  14,
	  64,
	  true,
	  "1111111111111111111111111111111111111111111111111111111111111111" },
	{ "no end is needed when every word is done",
	  { 8, 0xff },
	  2,
	  8,
	  true,
	  "11111111" },
	{ "no words at all: nothing is read", { 0 }, 0, 0, true, "" },
	// Damaged ones.
	{ "damaged: empty", { 0 }, 0, 8, false, NULL },
	{ "damaged: no end", { 2, 1 }, 2, 8, false, NULL },
	{ "damaged: literal cut off", { 9, 0xff }, 2, 16, false, NULL },
	{ "damaged: literal without bits", { 1 }, 1, 8, false, NULL },
	{ "damaged: repeat without count", { 1, 1, 0x81 }, 3, 8, false, NULL },
	{ "damaged: repeat without length", { 1, 1, 0x80 }, 3, 8, false, NULL },
	{ "damaged: count cut off", { 1, 1, 0x81, 0x80 }, 4, 8, false, NULL },
	{ "damaged: repeat of nothing",
	  { 1, 1, 0x80, 0, 5, 0 },
	  6,
	  8,
	  false,
	  NULL },
	{ "damaged: repeat of nothing, without end",
	  { 1, 1, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0x01, 0 },
	  15,
	  8,
	  false,
	  NULL },
	{ "damaged: repeat at the start", { 0x81, 3, 0 }, 3, 8, false, NULL },
	{ "damaged: repeat of more than there is",
	  { 2, 1, 0x83, 1, 0 },
	  5,
	  8,
	  false,
	  NULL },
	{ "damaged: length past 64 bits",
	  { 1, 1, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 1, 1, 0 },
	  16,
	  8,
	  false,
	  NULL },
};

TEST_ROWS(program, program_cases, c)
{
	uint8_t *copy = malloc(c->nbytes + 1);
	uint64_t *bits = gr_bitmap_alloc(c->nwords);

	assert_non_null(copy);
	assert_non_null(bits);
	uint8_t *exact = realloc(copy, c->nbytes ? c->nbytes : 1);
	assert_non_null(exact);
	memcpy(exact, c->bytes, c->nbytes);
	struct gr_runtime rt = { .nmodules = 0 };
	bool is_fine;
	assert_null(gr_gc_program_run(&rt,
				      (struct gr_bytes){ exact, c->nbytes },
				      bits, c->nwords, &is_fine));
	assert_int_equal(is_fine, c->want_ok);
	for (size_t i = 0; c->want_ok && i < c->nwords; i++)
		if (gr_bitmap_test(bits, i) !=
		    (i < strlen(c->want) && c->want[i] == '1'))
			fail_msg("word %zu", i);
	// Whatever the program was: nothing past the last word.
	assert_int_equal(gr_bitmap_next(bits, c->nwords,
					gr_bitmap_words(c->nwords) * 64),
			 gr_bitmap_words(c->nwords) * 64);
	free(exact);
	free(bits);
}

/* Random bytes: no crash, no endless loop, nothing past the end. */
TEST(random_programs)
{
	uint64_t seed = 70;
	uint64_t *bits = gr_bitmap_alloc(MAX_BITS);

	assert_non_null(bits);
	for (int i = 0; i < 3000; i++) {
		size_t n = suite_random(&seed) % 64;
		uint64_t nwords = suite_random(&seed) % (MAX_BITS - 64);
		uint8_t *program = malloc(n ? n : 1);

		assert_non_null(program);
		for (size_t j = 0; j < n; j++)
			program[j] = suite_random(&seed) >> 13;
		gr_bitmap_clear_range(bits, 0, MAX_BITS);
		struct gr_runtime rt = { .nmodules = 0 };
		bool is_fine;
		assert_null(gr_gc_program_run(&rt,
					      (struct gr_bytes){ program, n },
					      bits, nwords, &is_fine));
		assert_int_equal(gr_bitmap_next(bits, nwords, MAX_BITS),
				 MAX_BITS);
		free(program);
	}
	free(bits);
}

GR_SUITE("GC programs")
