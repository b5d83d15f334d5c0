// SPDX-License-Identifier: Apache-2.0
/* Pointer masks, built from type records in a fake image. */
#include "goruntime/types/typemask.h"
#include "goruntime/types/types.h"

#include "base/bitmap.h"
#include "fake_image.h"
#include "suite.h"
#include "abi_type_layout.h"

enum {
	TYPES = 0x500000,
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
	struct gr_types *types;
};

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	assert_null(gr_types_create(&f->rt, &f->types));
	struct gr_layout *layout = &f->rt.layout;
	set_type_layout(layout);
	layout->consts.tflag_mask_on_demand = FLAG_ON_DEMAND;
	layout->has.tflag_mask_on_demand = true;
	fake_add(&f->image, TYPES, 0x4000);
	return f;
}

static void teardown(struct fixture *f)
{
	gr_types_destroy(f->types);
	fake_deinit(&f->image);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

static void put_type(struct fixture *f, uint64_t addr, uint64_t size,
		     uint64_t ptr_bytes, uint8_t kind, uint8_t tflag,
		     uint64_t gcdata)
{
	fake_words(&f->image, addr, size, ptr_bytes);
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
	fake_words(&f->image, addr + TYPE_BYTES + 8, fields, n, n);
}

static void put_field(struct fixture *f, uint64_t at, uint64_t type,
		      uint64_t off)
{
	fake_words(&f->image, at + 8, type, off);
}

static const struct gr_type_mask *get(struct fixture *f, uint64_t addr)
{
	const struct gr_type_mask *mask;

	assert_null(gr_type_mask_get(f->types, addr, &mask));
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

TEST_F(bitmap)
{
	put_type(f, TYPES, 80, 72, KIND_STRUCT, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 0xff05, 2);
	assert_mask(get(f, TYPES), 80, "101000001");
	assert_ptr_equal(get(f, TYPES), get(f, TYPES));
}

TEST_F(no_pointers)
{
	put_type(f, TYPES, 80, 0, KIND_STRUCT, 0, 0);
	assert_mask(get(f, TYPES), 80, "");
}

TEST_F(program_of_type)
{
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
TEST_F(on_demand)
{
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
TEST_F(on_demand_long_elements)
{
	uint64_t elem = TYPES, all = TYPES + 0x100;
	enum { ELEM_WORDS = 150, ELEMS = 5 };

	put_type(f, elem, ELEM_WORDS * 8, ELEM_WORDS * 8, KIND_STRUCT, 0,
		 TYPES + 0x1000);
	uint64_t seed = 80;
	for (size_t i = 0; i < 24; i++)
		fake_set(&f->image, TYPES + 0x1000 + i, suite_random(&seed), 1);
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

TEST_F_ROWS(damaged, damaged_cases, c)
{
	put_type(f, TYPES + 0x800, 8, 8, 22, 0, TYPES + 0x1000);
	fake_set(&f->image, TYPES + 0x1000, 1, 1);
	put_type(f, TYPES, c->size, c->ptr_bytes, c->kind, c->tflag, c->gcdata);
	if (c->kind == KIND_STRUCT)
		put_fields(f, TYPES, c->elem, c->len);
	else
		put_array(f, TYPES, c->elem, c->len);
	put_field(f, TYPES + 0x2000, TYPES, 0);
	assert_bad(f, TYPES);
}

TEST_F(no_record)
{
	assert_bad(f, 0);
	assert_bad(f, TYPES + 0x4000 - 8);
	assert_bad(f, UINT64_MAX - 4);
}

/* Fields outside of the type leave the others alone. */
TEST_F(field_outside)
{
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

/* Structs of two structs, 40 levels of them, all in one word. */
TEST_F(tower)
{
	enum { LEVELS = 40 };
	uint64_t last = TYPES;

	put_type(f, TYPES, 8, 8, 22, 0, TYPES + 0x3f00);
	fake_set(&f->image, TYPES + 0x3f00, 1, 1);
	for (uint64_t i = 1; i < LEVELS; i++) {
		uint64_t at = TYPES + i * 0x80,
			 fields = TYPES + 0x2000 + i * 48;

		put_type(f, at, 8, 8, KIND_STRUCT, FLAG_ON_DEMAND, 0);
		put_fields(f, at, fields, 2);
		put_field(f, fields, last, 0);
		put_field(f, fields + 24, last, 0);
		last = at;
	}
	assert_bad(f, last);
}

/* Many structs that have the same 2^19 fields, none with pointers. */
TEST_F(fields_of_all)
{
	enum { NFIELDS = 1 << 19, NTYPES = 4 };
	const uint64_t fields = TYPES + 0x100000, number = TYPES;

	fake_add(&f->image, fields, NFIELDS * 24);
	put_type(f, number, 8, 0, KIND_INT, 0, 0);
	for (uint64_t i = 0; i < NFIELDS; i++)
		put_field(f, fields + i * 24, number, 0);
	for (uint64_t i = 1; i <= NTYPES; i++) {
		put_type(f, TYPES + i * 0x100, 8, 8, KIND_STRUCT,
			 FLAG_ON_DEMAND, 0);
		put_fields(f, TYPES + i * 0x100, fields, NFIELDS);
	}
	assert_non_null(get(f, TYPES + 0x100));
	assert_non_null(get(f, TYPES + 0x200));
	assert_bad(f, TYPES + 0x300);
}

/* A program of four bytes for 2^24 words. */
TEST_F(program_interrupted)
{
	static const uint8_t program[] = {
		1, 1, 0x81, 0xff, 0xff, 0xff, 0x7f, 0
	};
	enum { NWORDS = 1 << 24 };
	uint64_t *bits = gr_bitmap_alloc(NWORDS);
	bool is_fine;

	assert_non_null(bits);
	f->rt.poll = suite_refuse;
	assert_fails(
		gr_gc_program_run(&f->rt,
				  (struct gr_bytes){ program, sizeof(program) },
				  bits, NWORDS, &is_fine),
		GR_ERROR_INTERRUPTED, NULL);
	free(bits);
}

GR_SUITE("type masks")
