// SPDX-License-Identifier: Apache-2.0
/* typemask: GC programs, and masks built from type records in a fake image. */
#include "goruntime/typemask.h"

#include "base/bitmap.h"
#include "fake_image.h"
#include "rows.h"

// ------------------------------------------------------------- GC programs

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

static void test_program(void **state)
{
	const struct program_case *c = *state;
	uint8_t *copy = malloc(c->nbytes + 1);
	uint64_t *bits = gr_bitmap_alloc(c->nwords);

	assert_non_null(copy);
	assert_non_null(bits);
	uint8_t *exact = realloc(copy, c->nbytes ? c->nbytes : 1);
	assert_non_null(exact);
	memcpy(exact, c->bytes, c->nbytes);
	assert_int_equal(
		gr_gc_program_run((struct gr_bytes){ exact, c->nbytes }, bits,
				  c->nwords),
		c->want_ok);
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
static void test_random_programs(void **state)
{
	(void)state;
	uint64_t seed = 70;
	uint64_t *bits = gr_bitmap_alloc(MAX_BITS);

	assert_non_null(bits);
	for (int i = 0; i < 3000; i++) {
		size_t n = rows_random(&seed) % 64;
		uint64_t nwords = rows_random(&seed) % (MAX_BITS - 64);
		uint8_t *program = malloc(n ? n : 1);

		assert_non_null(program);
		for (size_t j = 0; j < n; j++)
			program[j] = rows_random(&seed) >> 13;
		gr_bitmap_clear_range(bits, 0, MAX_BITS);
		(void)gr_gc_program_run((struct gr_bytes){ program, n }, bits,
					nwords);
		assert_int_equal(gr_bitmap_next(bits, nwords, MAX_BITS),
				 MAX_BITS);
		free(program);
	}
	free(bits);
}

// ------------------------------------------------------------ type records

enum {
	TYPES = 0x500000,
	TYPE_BYTES = 48,
	FLAG_ON_DEMAND = 1 << 4,
	KIND_INT = 2,
	KIND_ARRAY = 17,
	KIND_STRUCT = 25,
	GC_PROG = 1 << 6,
};

struct fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_runtime rt;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	struct gr_layout *layout = &f->rt.layout;
	layout->type.size_bytes = TYPE_BYTES;
	layout->type.size = (struct gr_field){ 0, 8 };
	layout->type.ptr_bytes = (struct gr_field){ 8, 8 };
	layout->type.tflag = (struct gr_field){ 20, 1 };
	layout->type.kind = (struct gr_field){ 23, 1 };
	layout->type.gcdata = (struct gr_field){ 32, 8 };
	layout->consts.kind_mask = 31;
	layout->consts.tflag_mask_on_demand = FLAG_ON_DEMAND;
	layout->has.tflag_mask_on_demand = true;
	fake_add(&f->image, TYPES, 0x4000);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gr_type_masks_destroy(f->rt.masks);
	fake_deinit(&f->image);
	free(f);
	return 0;
}

static void put_type(struct fixture *f, uint64_t addr, uint64_t size,
		     uint64_t ptr_bytes, uint8_t kind, uint8_t tflag,
		     uint64_t gcdata)
{
	fake_set(&f->image, addr, size, 8);
	fake_set(&f->image, addr + 8, ptr_bytes, 8);
	fake_set(&f->image, addr + 20, tflag, 1);
	fake_set(&f->image, addr + 23, kind, 1);
	fake_set(&f->image, addr + 32, gcdata, 8);
}

static void put_array(struct fixture *f, uint64_t addr, uint64_t elem,
		      uint64_t len)
{
	fake_set(&f->image, addr + TYPE_BYTES, elem, 8);
	fake_set(&f->image, addr + TYPE_BYTES + 16, len, 8);
}

static void put_fields(struct fixture *f, uint64_t addr, uint64_t fields,
		       uint64_t n)
{
	fake_set(&f->image, addr + TYPE_BYTES + 8, fields, 8);
	fake_set(&f->image, addr + TYPE_BYTES + 16, n, 8);
	fake_set(&f->image, addr + TYPE_BYTES + 24, n, 8);
}

static void put_field(struct fixture *f, uint64_t at, uint64_t type,
		      uint64_t off)
{
	fake_set(&f->image, at + 8, type, 8);
	fake_set(&f->image, at + 16, off, 8);
}

static const struct gr_type_mask *get(struct fixture *f, uint64_t addr)
{
	const struct gr_type_mask *mask;

	assert_null(gr_type_mask_get(&f->rt, addr, &mask));
	return mask;
}

static void assert_mask(const struct gr_type_mask *mask, uint64_t size,
			const char *want)
{
	assert_non_null(mask);
	assert_int_equal(mask->size_bytes, size);
	assert_int_equal(mask->nwords, strlen(want));
	for (size_t i = 0; i < mask->nwords; i++)
		if (gr_bitmap_test(mask->bits, i) != (want[i] == '1'))
			fail_msg("word %zu of %s", i, want);
}

static void assert_bad(struct fixture *f, uint64_t addr)
{
	uint64_t before = f->gaps.count[GR_GAP_UNKNOWN_TYPES];

	assert_null(get(f, addr));
	assert_null(get(f, addr));
	// Counted once, not at each question.
	assert_int_equal(f->gaps.count[GR_GAP_UNKNOWN_TYPES], before + 1);
}

static void test_bitmap(void **state)
{
	struct fixture *f = *state;

	put_type(f, TYPES, 80, 72, KIND_STRUCT, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 0xff05, 2);
	assert_mask(get(f, TYPES), 80, "101000001");
	assert_ptr_equal(get(f, TYPES), get(f, TYPES));
}

static void test_no_pointers(void **state)
{
	struct fixture *f = *state;

	put_type(f, TYPES, 80, 0, KIND_STRUCT, 0, 0);
	assert_mask(get(f, TYPES), 80, "");
}

static void test_program_of_type(void **state)
{
	struct fixture *f = *state;

	f->rt.layout.has.tflag_mask_on_demand = false;
	f->rt.layout.has.kind_gc_prog = true;
	f->rt.layout.consts.kind_gc_prog = GC_PROG;
	put_type(f, TYPES, 64, 48, KIND_ARRAY | GC_PROG, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 5, 4);
	fake_set(&f->image, TYPES + 0x1004, 0x00 << 16 | 2 << 8 | 3, 3);
	fake_set(&f->image, TYPES + 0x1004, UINT64_C(0x0001830603), 5);
	assert_mask(get(f, TYPES), 64, "011011");
	// The length before a program is not believed.
	put_type(f, TYPES + 0x100, 64, 48, KIND_ARRAY | GC_PROG, 0,
		 TYPES + 0x1100);
	fake_set(&f->image, TYPES + 0x1100, UINT32_MAX, 4);
	assert_bad(f, TYPES + 0x100);
}

/* [3]struct { _ int; p *T; a [2]*T; _ int }, all to be built on demand. */
static void test_on_demand(void **state)
{
	struct fixture *f = *state;
	uint64_t pointer = TYPES, pair = TYPES + 0x100, part = TYPES + 0x200,
		 all = TYPES + 0x300, number = TYPES + 0x400;

	put_type(f, number, 8, 0, KIND_INT, 0, 0);
	put_type(f, pointer, 8, 8, 22, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 1, 1);
	put_type(f, pair, 16, 16, KIND_ARRAY, FLAG_ON_DEMAND, 0);
	put_array(f, pair, pointer, 2);
	put_type(f, part, 40, 32, KIND_STRUCT, FLAG_ON_DEMAND, 0);
	put_fields(f, part, TYPES + 0x2000, 4);
	put_field(f, TYPES + 0x2000, number, 0);
	put_field(f, TYPES + 0x2018, pointer, 8);
	put_field(f, TYPES + 0x2030, pair, 16);
	put_field(f, TYPES + 0x2048, number, 32);
	put_type(f, all, 120, 112, KIND_ARRAY, FLAG_ON_DEMAND, 0);
	put_array(f, all, part, 3);
	assert_mask(get(f, part), 40, "0111");
	assert_mask(get(f, all), 120, "01110011100111");
	assert_int_equal(f->gaps.count[GR_GAP_UNKNOWN_TYPES], 0);
}

/* An array whose elements are longer than a word of a bitmap. */
static void test_on_demand_long_elements(void **state)
{
	struct fixture *f = *state;
	uint64_t elem = TYPES, all = TYPES + 0x100;
	enum { ELEM_WORDS = 150, ELEMS = 5 };

	put_type(f, elem, ELEM_WORDS * 8, ELEM_WORDS * 8, KIND_STRUCT, 0,
		 TYPES + 0x1000);
	uint64_t seed = 80;
	for (size_t i = 0; i < 24; i++)
		fake_set(&f->image, TYPES + 0x1000 + i, rows_random(&seed), 1);
	put_type(f, all, ELEMS * ELEM_WORDS * 8, ELEMS * ELEM_WORDS * 8,
		 KIND_ARRAY, FLAG_ON_DEMAND, 0);
	put_array(f, all, elem, ELEMS);
	const struct gr_type_mask *one = get(f, elem), *mask = get(f, all);
	assert_non_null(one);
	assert_non_null(mask);
	assert_int_equal(mask->nwords, ELEMS * ELEM_WORDS);
	for (size_t i = 0; i < mask->nwords; i++)
		if (gr_bitmap_test(mask->bits, i) !=
		    gr_bitmap_test(one->bits, i % ELEM_WORDS))
			fail_msg("word %zu", i);
}

/* A type record at TYPES (and its parts) that makes no sense. */
struct damaged_case {
	const char *name;
	uint64_t size, ptr_bytes;
	uint8_t kind;
	uint8_t tflag;
	uint64_t gcdata;
	uint64_t elem, len; /* array: element and length; struct: fields */
};

static const struct damaged_case damaged_cases[] = {
	{ "larger than any value", UINT64_C(1) << 40, 8, 25, 0, TYPES, 0, 0 },
	{ "more pointers than value", 8, 16, 25, 0, TYPES, 0, 0 },
	{ "pointers end inside a word", 16, 12, 25, 0, TYPES, 0, 0 },
	{ "mask is nowhere", 16, 16, 25, 0, 0x10, 0, 0 },
	{ "on demand, but no array or struct", 8, 8, 22, FLAG_ON_DEMAND, 0, 0,
	  0 },
	{ "array of itself", 16, 16, KIND_ARRAY, FLAG_ON_DEMAND, 0, TYPES, 1 },
	{ "array of nothing", 16, 16, KIND_ARRAY, FLAG_ON_DEMAND, 0, 0x10, 1 },
	{ "array too long for its size", 16, 16, KIND_ARRAY, FLAG_ON_DEMAND, 0,
	  TYPES + 0x800, 3 },
	{ "array of absurd length", 16, 16, KIND_ARRAY, FLAG_ON_DEMAND, 0,
	  TYPES + 0x800, UINT64_MAX },
	{ "array of no elements that has pointers", 16, 16, KIND_ARRAY,
	  FLAG_ON_DEMAND, 0, TYPES + 0x800, 0 },
	{ "struct with absurdly many fields", 16, 16, KIND_STRUCT,
	  FLAG_ON_DEMAND, 0, TYPES + 0x2000, UINT64_C(1) << 40 },
	{ "struct whose fields are nowhere", 16, 16, KIND_STRUCT,
	  FLAG_ON_DEMAND, 0, 0x10, 2 },
	{ "struct that holds itself", 16, 16, KIND_STRUCT, FLAG_ON_DEMAND, 0,
	  TYPES + 0x2000, 1 },
};

static void test_damaged(void **state)
{
	const struct damaged_case *c = *state;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	put_type(f, TYPES + 0x800, 8, 8, 22, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 1, 1);
	put_type(f, TYPES, c->size, c->ptr_bytes, c->kind, c->tflag, c->gcdata);
	if (c->kind == KIND_STRUCT)
		put_fields(f, TYPES, c->elem, c->len);
	else
		put_array(f, TYPES, c->elem, c->len);
	put_field(f, TYPES + 0x2000, TYPES, 0);
	assert_bad(f, TYPES);
	teardown(&fixture);
}

static void test_no_record(void **state)
{
	struct fixture *f = *state;

	assert_bad(f, 0);
	assert_bad(f, TYPES + 0x4000 - 8);
	assert_bad(f, UINT64_MAX - 4);
}

/* Fields outside of the type leave the others alone. */
static void test_field_outside(void **state)
{
	struct fixture *f = *state;
	uint64_t pointer = TYPES, part = TYPES + 0x200;

	put_type(f, pointer, 8, 8, 22, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 1, 1);
	put_type(f, part, 24, 24, KIND_STRUCT, FLAG_ON_DEMAND, 0);
	put_fields(f, part, TYPES + 0x2000, 4);
	put_field(f, TYPES + 0x2000, pointer, UINT64_MAX - 7);
	put_field(f, TYPES + 0x2018, pointer, 24);
	put_field(f, TYPES + 0x2030, pointer, 4);
	put_field(f, TYPES + 0x2048, pointer, 16);
	assert_mask(get(f, part), 24, "001");
}

#define WITH_FIXTURE(test) \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs),
		WITH_FIXTURE(test_bitmap),
		WITH_FIXTURE(test_no_pointers),
		WITH_FIXTURE(test_program_of_type),
		WITH_FIXTURE(test_on_demand),
		WITH_FIXTURE(test_on_demand_long_elements),
		WITH_FIXTURE(test_no_record),
		WITH_FIXTURE(test_field_outside),
	};

	return ROWS_RUN("GC programs", program_cases, test_program) +
	       ROWS_RUN("damaged types", damaged_cases, test_damaged) +
	       cmocka_run_group_tests_name("type masks", tests, NULL, NULL);
}
