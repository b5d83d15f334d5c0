// SPDX-License-Identifier: Apache-2.0
/* heap: mspan records that are damaged. */
#include "heap_builder.h"

/** A span between two good ones; it is left out, as a gap or silently. */
struct damaged_case {
	const char *name;
	struct shape shape;
	bool is_gap;
};

#define MID (HEAP + 4 * PAGE)

static const struct damaged_case damaged_cases[] = {
	{ "free span: left out",
	  { .base = MID,
	    .npages = 1,
	    .elem_bytes = 48,
	    .nelems = 170,
	    .state = 3 },
	  false },
	{ "stack span: left out",
	  { .base = MID,
	    .npages = 1,
	    .elem_bytes = 48,
	    .nelems = 170,
	    .state = 2 },
	  false },
	{ "base inside a page",
	  { .base = MID + 8, .npages = 1, .elem_bytes = 48, .nelems = 10 },
	  true },
	{ "base past user space",
	  { .base = UINT64_C(1) << 48,
	    .npages = 1,
	    .elem_bytes = 48,
	    .nelems = 170 },
	  true },
	{ "base in the kernel's half",
	  { .base = UINT64_MAX - PAGE + 1,
	    .npages = 1,
	    .elem_bytes = 48,
	    .nelems = 170 },
	  true },
	{ "no pages",
	  { .base = MID, .npages = 0, .elem_bytes = 48, .nelems = 170 },
	  true },
	{ "pages past user space",
	  { .base = MID,
	    .npages = UINT64_C(1) << 36,
	    .elem_bytes = 48,
	    .nelems = 170 },
	  true },
	{ "pages that wrap",
	  { .base = MID,
	    .npages = (UINT64_C(1) << 51) + 1,
	    .elem_bytes = 48,
	    .nelems = 170 },
	  true },
	{ "far more pages than many elements",
	  { .base = MID, .npages = 1 << 22, .elem_bytes = 48, .nelems = 170 },
	  true },
	{ "far more pages than one element",
	  { .base = MID, .npages = 1 << 22, .elem_bytes = 48, .nelems = 1 },
	  true },
	{ "no elements",
	  { .base = MID, .npages = 1, .elem_bytes = 48, .nelems = 0 },
	  true },
	{ "elements of no bytes",
	  { .base = MID, .npages = 1, .elem_bytes = 0, .nelems = 170 },
	  true },
	{ "elements of less than a word",
	  { .base = MID, .npages = 1, .elem_bytes = 4, .nelems = 170 },
	  true },
	{ "elements of odd size",
	  { .base = MID, .npages = 1, .elem_bytes = 49, .nelems = 100 },
	  true },
	{ "one element too many",
	  { .base = MID, .npages = 1, .elem_bytes = 48, .nelems = 171 },
	  true },
	{ "far too many elements",
	  { .base = MID, .npages = 1, .elem_bytes = 48, .nelems = UINT32_MAX },
	  true },
	{ "element larger than its span",
	  { .base = MID, .npages = 1, .elem_bytes = PAGE + 8, .nelems = 1 },
	  true },
	{ "element size that wraps",
	  { .base = MID,
	    .npages = 1,
	    .elem_bytes = UINT64_MAX - 7,
	    .nelems = 2 },
	  true },
	{ "overlaps the span before",
	  { .base = HEAP + PAGE, .npages = 1, .elem_bytes = 48, .nelems = 170 },
	  true },
	{ "the same span twice",
	  { .base = HEAP, .npages = 2, .elem_bytes = 16384, .nelems = 1 },
	  true },
};

TEST_F_ROWS(damaged, damaged_cases, c)
{
	const struct shape good = {
		.npages = 2, .elem_bytes = 16384, .nelems = 1, .spanclass = 5
	};
	struct shape first = good, last = good, bad = c->shape;
	first.base = HEAP;
	last.base = HEAP + 9 * PAGE;
	bad.spanclass = 5;
	put_span(f, first);
	put_span(f, bad);
	put_span(f, last);
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], c->is_gap);
	assert_int_equal(heap->nspans, 2);
	assert_int_equal(heap->nobjs, 2);
	check_address(heap, HEAP + 5, 0);
	check_address(heap, MID + 5, GR_OBJ_NONE);
	check_address(heap, HEAP + 9 * PAGE + 5, 1);
}

/*
 * A span as large as 32 bits of offset allow: either it is left out, or an
 * address leads to its own object and never past the span's numbers.
 */
TEST_F(large_span_of_small_objects)
{
	const uint64_t npages = UINT32_MAX / PAGE;
	const uint32_t nelems = npages * PAGE / 24;

	put_span(f, SPAN(HEAP, npages, 24, nelems, 5, .freeindex = 1));
	fake_add(&f->image, 0x100000000, nelems / 8 + 1);
	fake_set(&f->image, MSPANS + 24, 0x100000000, 8);
	const struct gr_heap *heap = read_heap(f);
	if (!heap->nspans)
		return;
	for (uint64_t i = nelems - 1; i > 0; i -= i / 3 + 1) {
		check_address(heap, HEAP + i * 24, i);
		check_address(heap, HEAP + i * 24 + 23, i);
	}
}

TEST_F(unreadable_record)
{
	for (int i = 0; i < 3; i++)
		put_span(f, SPAN(HEAP + i * PAGE, 1, 8192, 1, 5));
	fake_set(&f->image, SPAN_LIST + 8, 0x66660000, 8);
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 2);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
}

/** The header of mheap_.allspans, and what becomes of the scan. */
struct list_case {
	const char *name;
	uint64_t addr, len, cap;
	enum gr_error_code want;
};

static const struct list_case list_cases[] = {
	{ "list of absurd length", SPAN_LIST, UINT64_C(1) << 40,
	  UINT64_C(1) << 40, GR_ERROR_FORMAT },
	{ "list longer than its capacity", SPAN_LIST, 5, 4, GR_ERROR_FORMAT },
	{ "list whose length is all ones", SPAN_LIST, UINT64_MAX, UINT64_MAX,
	  GR_ERROR_FORMAT },
};

TEST_F_ROWS(list, list_cases, c)
{
	fake_words(&f->image, MHEAP, c->addr, c->len, c->cap);
	assert_fails(gr_heap_read(&f->rt, f->types, &f->heap), c->want,
		     "allspans");
}

/* A list that is nowhere: gaps, and an end before 2^28 of them. */
TEST_F(list_nowhere)
{
	fake_words(&f->image, MHEAP, 0x66660000, 1 << 28, 1 << 28);
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 0);
	assert_true(f->gaps.count[GR_GAP_BAD_SPANS] > 0);
}

TEST_F(geometry)
{
	f->rt.layout.consts.page_bytes = 4096;
	assert_fails(gr_heap_read(&f->rt, f->types, &f->heap), GR_ERROR_LAYOUT,
		     NULL);
}

static void expect_end(struct fixture *f, enum gr_error_code code)
{
	struct gr_error *err = gr_heap_read(&f->rt, f->types, &f->heap);

	if (!err)
		err = gr_heap_fill(f->heap);
	assert_fails(err, code, NULL);
}

/* One record claims 2^22 pages: what is made of them can be ended. */
TEST_F(span_of_all_pages)
{
	const uint64_t npages = 1 << 22;
	uint64_t left = 4;

	f->rt.poll = suite_refuse;
	f->rt.poll_ctx = &left;
	put_span(f, SPAN(HEAP, npages, npages * PAGE, 1, 0));
	expect_end(f, GR_ERROR_INTERRUPTED);
}

/* Spans cover no more than in proportion to the mapped memory. */
TEST_F(span_of_more_than_there_is)
{
	const uint64_t npages = 1 << 22;

	f->image.mapped_bytes = 1 << 20;
	put_span(f, SPAN(HEAP, npages, npages * PAGE, 1, 0));
	put_span(f, SPAN(HEAP + 64 * ARENA, 1, 1024, 8, 4));
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 1);
	assert_true(f->gaps.count[GR_GAP_BAD_SPANS] >= 1);
}

/* One record claims 2^25 objects. */
static void put_all_objects(struct fixture *f)
{
	const uint64_t nelems = 1 << 25;

	put_span(f, SPAN(HEAP, nelems * 8 / PAGE, 8, nelems, 2,
			 .freeindex = UINT16_MAX));
}

TEST_F(span_of_all_objects)
{
	uint64_t left = 4;

	f->rt.poll = suite_refuse;
	f->rt.poll_ctx = &left;
	put_all_objects(f);
	expect_end(f, GR_ERROR_INTERRUPTED);
}

/* Their states are not even allocated if there may not be so much. */
TEST_F(objects_over_the_limit)
{
	f->image.limit_bytes = 1 << 20;
	put_all_objects(f);
	expect_end(f, GR_ERROR_MEMORY_LIMIT);
}

GR_SUITE("damaged heap")
