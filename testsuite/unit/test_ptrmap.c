// SPDX-License-Identifier: Apache-2.0
/*
 * ptrmap: the scheme chosen, and the pointer bits of spans made up here by
 * that of Go 1.22: bits in the span, and headers.
 */
#include "ptrmap_fixture.h"

// --------------------------------------------------------- the scheme chosen

struct detect_case {
	const char *name;
	bool has_bitmap, has_no_more_ptrs, has_large_type;
	const struct gr_ptrmap_ops *want;
};

static const struct detect_case detect_cases[] = {
	{ "two bits a word", true, false, false, &gr_ptrmap_arena2_ops },
	{ "one bit a word", true, true, false, &gr_ptrmap_arena1_ops },
	{ "headers", false, false, true, &gr_ptrmap_header_ops },
	{ "headers compiled in, but switched off", true, true, true,
	  &gr_ptrmap_arena1_ops },
	{ "nothing that is known", false, false, false, NULL },
};

TEST_F_ROWS(detect, detect_cases, c)
{
	const struct gr_field there = { 8, 8 };

	if (c->has_bitmap)
		f->rt.layout.heap_arena.bitmap = there;
	if (c->has_no_more_ptrs)
		f->rt.layout.heap_arena.no_more_ptrs = there;
	if (c->has_large_type)
		f->rt.layout.mspan.large_type = there;
	struct gr_error *err = gr_ptrmap_prepare(&f->heap);
	assert_ptr_equal(f->heap.ptrmap, c->want);
	assert_int_equal(err != NULL, c->want == NULL);
	if (err)
		assert_error_code(err, GR_ERROR_LAYOUT);
	gr_error_destroy(err);
}

// -------------------------------------------------------- bits in the span

/** A span of one page with its bitmap at the end. */
struct small_case {
	const char *name;
	uint16_t elem_bytes;
	bool is_inline; /* with inline mark bits behind the bitmap */
};

static const struct small_case small_cases[] = {
	{ "in-span bits: elements of 8", 8, false },
	{ "in-span bits: elements of 16", 16, false },
	{ "in-span bits: elements of 24", 24, false },
	{ "in-span bits: elements of 48", 48, false },
	{ "in-span bits: elements of 112", 112, false },
	{ "in-span bits: elements of 416", 416, false },
	{ "in-span bits: elements of 512", 512, false },
	{ "inline marks: elements of 16", 16, true },
	{ "inline marks: elements of 24", 24, true },
	{ "inline marks: elements of 48", 48, true },
	{ "inline marks: elements of 416", 416, true },
	{ "inline marks: elements of 512", 512, true },
};

TEST_F_ROWS(small, small_cases, c)
{
	enum { MAP_BYTES = PAGE / 64, MARK_BYTES = 128, NTH_PAGE = 19 };
	uint64_t seed = 130, tail = MAP_BYTES + (c->is_inline ? MARK_BYTES : 0);

	f->rt.layout.heap_arena.page_inline_marks =
		(struct gr_field){ MARKS_OFF, ARENA / PAGE / 8 };
	uint8_t *record = fake_add(&f->image, ARENA_RECORD(1), 0x1000);
	memset(record + MARKS_OFF, c->is_inline ? 0 : 0xff, ARENA / PAGE / 8);
	record[MARKS_OFF + NTH_PAGE / 8] ^= 1 << (NTH_PAGE % 8);
	struct gr_span *span = add_span(f, HEAP + ARENA + NTH_PAGE * PAGE, 1,
					c->elem_bytes,
					(PAGE - tail) / c->elem_bytes, 10);
	uint8_t *host = fake_find(&f->image, span->base_addr, PAGE);
	fill_random(host, PAGE, &seed);
	build(f, &gr_ptrmap_header_ops);
	const uint8_t *map = host + PAGE - tail;
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i, map[i / 8] >> (i % 8) & 1);
	for (uint64_t i = span_words(span); i < PAGE_WORDS; i++)
		check_word(f, span, i, false);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 0);
}

/* Whether marks are inline is not known: a gap, and the older place. */
TEST_F(small_without_arena)
{
	f->rt.layout.heap_arena.page_inline_marks =
		(struct gr_field){ MARKS_OFF, ARENA / PAGE / 8 };
	const struct gr_span *span = add_span(f, HEAP, 1, 16, 504, 10);
	uint8_t *host = fake_find(&f->image, HEAP, PAGE);
	host[PAGE - PAGE / 64] = 0x5a;
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
	for (uint64_t i = 0; i < 8; i++)
		check_word(f, span, i, 0x5a >> i & 1);
}

TEST_F(small_larger_than_a_page)
{
	add_span(f, HEAP, 2, 48, 340, 10);
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
}

TEST_F(spans_left_out)
{
	uint64_t seed = 140;

	struct gr_span *noscan = add_span(f, HEAP, 1, 16, 504, 11);
	struct gr_span *torn = add_span(f, HEAP + PAGE, 1, 16, 504, 10);
	fill_random(fake_find(&f->image, HEAP, PAGE), PAGE, &seed);
	fill_random(fake_find(&f->image, HEAP + PAGE, PAGE), PAGE, &seed);
	noscan->is_noscan = true;
	torn->host = NULL;
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
}

// ------------------------------------------------------------------ headers

/* Type `n` of the fixture: its size and pointer words as a mask of 64. */
static uint64_t put_type(struct fixture *f, unsigned int n, uint64_t size,
			 uint64_t mask)
{
	uint64_t addr = TYPES + n * 0x100;
	uint64_t nwords = mask ? 64 - __builtin_clzll(mask) : 0;

	fake_words(&f->image, addr, size, nwords * 8);
	fake_set(&f->image, addr + 23, 25, 1);
	fake_set(&f->image, addr + 32, addr + 0x80, 8);
	fake_set(&f->image, addr + 0x80, mask, 8);
	return addr;
}

/** An object of a span with type words; its type, over and over. */
struct header_case {
	const char *name;
	uint16_t elem_bytes;
	uint64_t type_bytes, mask;
};

static const struct header_case header_cases[] = {
	{ "header: a type without pointers", 1024, 64, 0 },
	{ "header: one pointer in all", 1024, 1016, 1 },
	{ "header: pointers throughout", 1024, 8, 1 },
	{ "header: every other word", 1152, 16, 1 },
	{ "header: every third word", 1152, 24, 4 },
	{ "header: as long as the object", 576, 568, 0x4000000000000001 },
	{ "header: longer than what is left", 576, 400, 0x2000000000003 },
	{ "header: a stride of 11 words", 1280, 88, 0x401 },
	{ "header: a stride of 63 words", 4096, 504, 0x4000000000000011 },
	{ "header: a stride of 64 words", 4096, 512, 0x8000000000000101 },
	{ "header: a stride of 65 words", 4096, 520, 0x8000000000010001 },
	{ "header: longer than the object", 576, 4096, 0xffffffffffffffff },
};

/* A pointer at word w of an object? A naive reading of type and stride. */
static bool is_pointer(const struct header_case *c, uint64_t word)
{
	uint64_t in_type = word % (c->type_bytes / 8);

	return in_type < 64 && c->mask >> in_type & 1;
}

TEST_F_ROWS(header, header_cases, c)
{
	set_type_layout(&f->rt.layout);
	fake_add(&f->image, TYPES, 0x4000);
	uint64_t type = put_type(f, 0, c->type_bytes, c->mask);
	uint64_t words = c->elem_bytes / 8;
	struct gr_span *span =
		add_span(f, HEAP, 1, c->elem_bytes, PAGE / c->elem_bytes, 60);
	span->header_bytes = 8;
	for (uint32_t i = 0; i < span->nelems; i++)
		fake_set(&f->image, HEAP + i * c->elem_bytes, type, 8);
	build(f, &gr_ptrmap_header_ops);
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i,
			   i % words && is_pointer(c, i % words - 1));
}

/* Objects of several types, free slots, and type words that make no sense. */
TEST_F(header_mixed)
{
	enum { ELEM = 1024, WORDS = ELEM / 8 };

	set_type_layout(&f->rt.layout);
	fake_add(&f->image, TYPES, 0x4000);
	uint64_t pointers = put_type(f, 0, 8, 1);
	uint64_t absurd = put_type(f, 1, UINT64_C(1) << 50, 1);
	const uint64_t types[] = { pointers,   0,	 absurd, pointers,
				   0x66660000, pointers, absurd, pointers };
	struct gr_span *span = add_span(f, HEAP, 1, ELEM, 8, 60);
	span->header_bytes = 8;
	for (uint32_t i = 0; i < 8; i++)
		fake_set(&f->image, HEAP + i * ELEM, types[i], 8);
	release_slot(f, 3);
	build(f, &gr_ptrmap_header_ops);
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i,
			   i % WORDS && types[i / WORDS] == pointers &&
				   i / WORDS != 3);
	// One for each type that could not be read, not for each object.
	assert_int_equal(f->gaps.count[GR_GAP_UNKNOWN_TYPES], 2);
}

/* A large object has its type in the mspan, and no type word. */
TEST_F(large_type)
{
	set_type_layout(&f->rt.layout);
	fake_add(&f->image, TYPES, 0x4000);
	struct gr_span *span = add_span(f, HEAP, 5, 5 * PAGE, 1, 0);
	span->large_type = put_type(f, 0, 24, 5);
	build(f, &gr_ptrmap_header_ops);
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i, i % 3 != 1);
	span->large_type = 0;
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
}

GR_SUITE("pointer maps")
