// SPDX-License-Identifier: Apache-2.0
/* heap: spans read from made-up mspan records; addresses to objects. */
#include "goruntime/heap.h"

#include "fake_image.h"
#include "rows.h"

enum {
	MHEAP = 0x10000,
	SPAN_LIST = 0x20000,
	MSPANS = 0x40000,
	BITS = 0x80000,
	ARENA_MAP = 0x1000000,
	MSPAN_BYTES = 128,
	MAX_MSPANS = 64,
	PAGE = 1 << GR_PAGE_SHIFT,
	IN_USE = 1,
	SWEEPGEN = 10,
};
#define HEAP UINT64_C(0xc000000000)
#define ARENA (UINT64_C(1) << GR_ARENA_SHIFT)

struct fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_runtime rt;
	uint64_t nmspans;
};

/** What a test says of a span; zeros mean what is usual. */
struct shape {
	uint64_t base, npages, elem_bytes;
	uint32_t nelems;
	uint8_t spanclass;
	uint8_t state; /* 0: in use */
	uint16_t freeindex;
	uint64_t alloc_bits;
	uint32_t sweepgen; /* 0: swept */
};

static struct gr_error *poll_nothing(void *ctx)
{
	(void)ctx;
	return NULL;
}

static void set_layout(struct gr_layout *layout)
{
	const struct gr_field word = { 0, 8 };

	layout->vars.mheap = MHEAP;
	layout->mheap.allspans = (struct gr_field){ 0, 24 };
	layout->mheap.sweepgen = (struct gr_field){ 24, 4 };
	layout->mheap.arenas = (struct gr_field){ 32, 8 };
	layout->mspan.size_bytes = MSPAN_BYTES;
	layout->mspan.start_addr = word;
	layout->mspan.npages = (struct gr_field){ 8, 8 };
	layout->mspan.freeindex = (struct gr_field){ 16, 2 };
	layout->mspan.nelems = (struct gr_field){ 20, 4 };
	layout->mspan.alloc_bits = (struct gr_field){ 24, 8 };
	layout->mspan.sweepgen = (struct gr_field){ 32, 4 };
	layout->mspan.spanclass = (struct gr_field){ 36, 1 };
	layout->mspan.state = (struct gr_field){ 37, 1 };
	layout->mspan.elemsize = (struct gr_field){ 40, 8 };
	layout->mspan.specials = (struct gr_field){ 48, 8 };
	layout->mspan.large_type = (struct gr_field){ 56, 8 };
	layout->consts.span_in_use = IN_USE;
	layout->consts.page_bytes = PAGE;
	layout->consts.arena_bytes = ARENA;
	layout->consts.arena_l2_bits = 22;
	layout->consts.min_size_for_header = 512;
	layout->consts.header_bytes = 8;
	layout->has.min_size_for_header = true;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->rt.poll = poll_nothing;
	set_layout(&f->rt.layout);
	fake_add(&f->image, MHEAP, 64);
	fake_add(&f->image, SPAN_LIST, MAX_MSPANS * 8);
	fake_add(&f->image, MSPANS, MAX_MSPANS * MSPAN_BYTES);
	fake_add(&f->image, BITS, 0x10000);
	fake_add(&f->image, ARENA_MAP, (HEAP / ARENA + 256) * 8);
	fake_set(&f->image, MHEAP, SPAN_LIST, 8);
	fake_set(&f->image, MHEAP + 24, SWEEPGEN, 4);
	fake_set(&f->image, MHEAP + 32, ARENA_MAP, 8);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gr_heap_destroy(f->rt.heap);
	fake_deinit(&f->image);
	free(f);
	return 0;
}

static void put_span(struct fixture *f, struct shape s)
{
	uint64_t addr = MSPANS + f->nmspans * MSPAN_BYTES;

	assert_true(f->nmspans < MAX_MSPANS);
	fake_set(&f->image, SPAN_LIST + f->nmspans++ * 8, addr, 8);
	fake_set(&f->image, MHEAP + 8, f->nmspans, 8);
	fake_set(&f->image, MHEAP + 16, MAX_MSPANS, 8);
	fake_set(&f->image, addr, s.base, 8);
	fake_set(&f->image, addr + 8, s.npages, 8);
	fake_set(&f->image, addr + 16, s.freeindex, 2);
	fake_set(&f->image, addr + 20, s.nelems, 4);
	fake_set(&f->image, addr + 24, s.alloc_bits ? s.alloc_bits : BITS, 8);
	fake_set(&f->image, addr + 32, s.sweepgen ? s.sweepgen : SWEEPGEN, 4);
	fake_set(&f->image, addr + 36, s.spanclass, 1);
	fake_set(&f->image, addr + 37, s.state ? s.state : IN_USE, 1);
	fake_set(&f->image, addr + 40, s.elem_bytes, 8);
}

static struct gr_heap *read_heap(struct fixture *f)
{
	struct gr_error *err = gr_heap_read(&f->rt);

	if (!err)
		err = gr_heap_fill(&f->rt);
	if (err)
		fail_msg("%s", err->message);
	return f->rt.heap;
}

/* The object of an address, by going through all spans. */
static gr_obj naive_object(const struct gr_heap *heap, uint64_t addr)
{
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		for (uint32_t j = 0; j < span->nelems; j++)
			if (addr - span->base_addr - j * span->elem_bytes <
			    span->elem_bytes)
				return span->first_obj + j;
	}
	return GR_OBJ_NONE;
}

static void check_address(const struct gr_heap *heap, uint64_t addr,
			  gr_obj want)
{
	const struct gr_span *span = NULL;
	gr_obj got = gr_heap_object_at(heap, addr, &span);

	if (got != want)
		fail_msg("0x%llx is object %u, not %u",
			 (unsigned long long)addr, want, got);
	if (want == GR_OBJ_NONE)
		return;
	assert_ptr_equal(span, gr_heap_span_of(heap, want));
	assert_ptr_equal(span, gr_heap_span_at(heap, addr));
	uint64_t slot = gr_span_slot_addr(span, want - span->first_obj);
	assert_true(addr - slot < span->elem_bytes);
	assert_int_equal(gr_heap_object_addr(heap, want),
			 slot + span->header_bytes);
}

// ------------------------------------------------------------ size classes

/** A row of runtime/sizeclasses.go. */
struct class_case {
	const char *name;
	uint16_t elem_bytes, npages;
};

#define CLASS(size, pages)                       \
	{                                        \
		"size class " #size, size, pages \
	}

static const struct class_case class_cases[] = {
	CLASS(8, 1),	  CLASS(16, 1),	   CLASS(24, 1),    CLASS(32, 1),
	CLASS(48, 1),	  CLASS(64, 1),	   CLASS(80, 1),    CLASS(96, 1),
	CLASS(112, 1),	  CLASS(128, 1),   CLASS(144, 1),   CLASS(160, 1),
	CLASS(176, 1),	  CLASS(192, 1),   CLASS(208, 1),   CLASS(224, 1),
	CLASS(240, 1),	  CLASS(256, 1),   CLASS(288, 1),   CLASS(320, 1),
	CLASS(352, 1),	  CLASS(384, 1),   CLASS(416, 1),   CLASS(448, 1),
	CLASS(480, 1),	  CLASS(512, 1),   CLASS(576, 1),   CLASS(640, 1),
	CLASS(704, 1),	  CLASS(768, 1),   CLASS(896, 1),   CLASS(1024, 1),
	CLASS(1152, 1),	  CLASS(1280, 1),  CLASS(1408, 2),  CLASS(1536, 1),
	CLASS(1792, 2),	  CLASS(2048, 1),  CLASS(2304, 2),  CLASS(2688, 1),
	CLASS(3072, 3),	  CLASS(3200, 2),  CLASS(3456, 3),  CLASS(4096, 1),
	CLASS(4864, 3),	  CLASS(5376, 2),  CLASS(6144, 3),  CLASS(6528, 4),
	CLASS(6784, 5),	  CLASS(6912, 6),  CLASS(8192, 1),  CLASS(9472, 7),
	CLASS(9728, 6),	  CLASS(10240, 5), CLASS(10880, 4), CLASS(12288, 3),
	CLASS(13568, 5),  CLASS(14336, 7), CLASS(16384, 2), CLASS(18432, 9),
	CLASS(19072, 7),  CLASS(20480, 5), CLASS(21760, 8), CLASS(24576, 3),
	CLASS(27264, 10), CLASS(28672, 7), CLASS(32768, 4),
};

/* Every byte of a span, its neighbours, and the page before and after. */
static void test_class(void **state)
{
	const struct class_case *c = *state;
	uint64_t base = HEAP + 5 * PAGE, bytes = c->npages * (uint64_t)PAGE;
	uint32_t nelems = bytes / c->elem_bytes;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	put_span(f, (struct shape){ .base = base + bytes,
				    .npages = 1,
				    .elem_bytes = 4096,
				    .nelems = 2,
				    .spanclass = 5 });
	put_span(f, (struct shape){ .base = base,
				    .npages = c->npages,
				    .elem_bytes = c->elem_bytes,
				    .nelems = nelems,
				    .spanclass = 2 });
	put_span(f, (struct shape){ .base = base - 2 * PAGE,
				    .npages = 1,
				    .elem_bytes = 2688,
				    .nelems = 3,
				    .spanclass = 5 });
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 3);
	assert_int_equal(heap->nobjs, 3 + nelems + 2);
	for (uint64_t off = 0; off < bytes; off++)
		check_address(heap, base + off,
			      off / c->elem_bytes < nelems ?
				      3 + (gr_obj)(off / c->elem_bytes) :
				      GR_OBJ_NONE);
	for (uint64_t off = 0; off < 3 * PAGE; off += 7)
		check_address(heap, base - 3 * PAGE + off,
			      naive_object(heap, base - 3 * PAGE + off));
	for (uint64_t off = 0; off < 2 * PAGE; off += 7)
		check_address(heap, base + bytes + off,
			      naive_object(heap, base + bytes + off));
	assert_int_equal(heap->spans[1].header_bytes,
			 c->elem_bytes > 512 ? 8 : 0);
	teardown(&fixture);
}

// ------------------------------------------------------------------- edges

static void test_no_spans(void **state)
{
	struct fixture *f = *state;
	const struct gr_heap *heap = read_heap(f);
	const uint64_t addrs[] = { 0, 1, HEAP, ARENA, UINT64_MAX };

	assert_int_equal(heap->nobjs, 0);
	for (size_t i = 0; i < GR_ARRAY_SIZE(addrs); i++) {
		check_address(heap, addrs[i], GR_OBJ_NONE);
		assert_null(gr_heap_span_at(heap, addrs[i]));
		assert_int_equal(gr_heap_arena_at(heap, addrs[i]), 0);
	}
}

static void test_edges(void **state)
{
	struct fixture *f = *state;
	uint64_t far = HEAP + 7 * ARENA - PAGE;

	put_span(f, (struct shape){ .base = far,
				    .npages = 1,
				    .elem_bytes = 1152,
				    .nelems = 7,
				    .spanclass = 5 });
	put_span(f, (struct shape){ .base = HEAP,
				    .npages = 1,
				    .elem_bytes = 48,
				    .nelems = 170,
				    .spanclass = 5 });
	const struct gr_heap *heap = read_heap(f);
	const struct {
		uint64_t addr;
		gr_obj want;
	} edges[] = {
		{ 0, GR_OBJ_NONE },
		{ HEAP - 1, GR_OBJ_NONE },
		{ HEAP, 0 },
		{ HEAP + 47, 0 },
		{ HEAP + 48, 1 },
		{ HEAP + 170 * 48 - 1, 169 },
		{ HEAP + 170 * 48, GR_OBJ_NONE }, /* tail of the page */
		{ HEAP + PAGE - 1, GR_OBJ_NONE },
		{ HEAP + PAGE, GR_OBJ_NONE },  /* free page */
		{ HEAP + ARENA, GR_OBJ_NONE }, /* arena without spans */
		{ far - 1, GR_OBJ_NONE },
		{ far, 170 },
		{ far + 7 * 1152 - 1, 176 },
		{ far + 7 * 1152, GR_OBJ_NONE },
		{ far + PAGE, GR_OBJ_NONE }, /* past the last arena */
		{ HEAP + (UINT64_C(1) << 48), GR_OBJ_NONE },
		{ HEAP | UINT64_C(1) << 63, GR_OBJ_NONE },
		{ UINT64_MAX, GR_OBJ_NONE },
	};
	for (size_t i = 0; i < GR_ARRAY_SIZE(edges); i++)
		check_address(heap, edges[i].addr, edges[i].want);
}

/* One object across arenas, past 4 GiB, and no span in its last arena's rest. */
static void test_large_object(void **state)
{
	struct fixture *f = *state;
	uint64_t base = HEAP + ARENA - 3 * PAGE, bytes = UINT64_C(5) << 30;

	put_span(f, (struct shape){ .base = base,
				    .npages = bytes / PAGE,
				    .elem_bytes = bytes,
				    .nelems = 1,
				    .spanclass = 1 });
	const struct gr_heap *heap = read_heap(f);
	for (uint64_t off = 0; off < bytes; off += bytes / 1000 + 1)
		check_address(heap, base + off, 0);
	check_address(heap, base - 1, GR_OBJ_NONE);
	check_address(heap, base + (UINT64_C(1) << 32), 0);
	check_address(heap, base + bytes - 1, 0);
	check_address(heap, base + bytes, GR_OBJ_NONE);
}

/* runtime/arena.go: the chunk ends with a map and a type, outside the limit. */
static void test_user_arena_chunk(void **state)
{
	struct fixture *f = *state;
	const uint64_t bytes = ARENA - ARENA / 64 - 48;

	put_span(f, (struct shape){ .base = HEAP,
				    .npages = ARENA / PAGE,
				    .elem_bytes = bytes,
				    .nelems = 1,
				    .spanclass = 0,
				    .freeindex = 1 });
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 0);
	assert_int_equal(heap->allocated_objects, 1);
	check_address(heap, HEAP, 0);
	check_address(heap, HEAP + bytes - 1, 0);
	check_address(heap, HEAP + bytes, GR_OBJ_NONE);
	check_address(heap, HEAP + ARENA - 1, GR_OBJ_NONE);
}

static void test_arenas(void **state)
{
	struct fixture *f = *state;

	fake_set(&f->image, ARENA_MAP + HEAP / ARENA * 8, 0x7000, 8);
	fake_set(&f->image, ARENA_MAP + (HEAP / ARENA + 2) * 8, 0x9000, 8);
	put_span(f, (struct shape){ .base = HEAP,
				    .npages = 1,
				    .elem_bytes = 8192,
				    .nelems = 1,
				    .spanclass = 5 });
	put_span(f, (struct shape){ .base = HEAP + 2 * ARENA,
				    .npages = 1,
				    .elem_bytes = 8192,
				    .nelems = 1,
				    .spanclass = 5 });
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(gr_heap_arena_at(heap, HEAP), 0x7000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + ARENA - 1), 0x7000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + ARENA), 0);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + 2 * ARENA), 0x9000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + 3 * ARENA), 0);
	assert_int_equal(gr_heap_arena_at(heap, HEAP - 1), 0);
}

/* A heap of many spans of random classes: every lookup against the naive. */
static void test_random_heap(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 90, base = HEAP + 4 * ARENA - 40 * PAGE;

	for (int i = 0; i < 40; i++) {
		const struct class_case *c =
			&class_cases[rows_random(&seed) %
				     GR_ARRAY_SIZE(class_cases)];
		uint8_t noscan = rows_random(&seed) & 1;

		put_span(f, (struct shape){
				    .base = base,
				    .npages = c->npages,
				    .elem_bytes = c->elem_bytes,
				    .nelems = c->npages * PAGE / c->elem_bytes,
				    .spanclass = 4 | noscan,
			    });
		base += (c->npages + rows_random(&seed) % 3) * PAGE;
	}
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 40);
	uint64_t start = HEAP + 4 * ARENA - 41 * PAGE;
	for (int i = 0; i < 20000; i++) {
		uint64_t addr =
			start + rows_random(&seed) % (base + 2 * PAGE - start);
		check_address(heap, addr, naive_object(heap, addr));
	}
	// Numbers are dense, and words of spans do not share a bitmap's word.
	for (uint32_t i = 1; i < heap->nspans; i++)
		assert_int_equal(heap->spans[i].first_obj,
				 heap->spans[i - 1].first_obj +
					 heap->spans[i - 1].nelems);
	for (uint32_t i = 0; i < heap->nspans; i++)
		assert_int_equal(heap->spans[i].first_word % 64, 0);
}

// --------------------------------------------------------- allocation bits

static void test_allocated(void **state)
{
	struct fixture *f = *state;
	enum { SPANS = 30, ELEMS = 170 };
	uint64_t seed = 100, objects = 0;
	bool want[SPANS * ELEMS];

	for (int i = 0; i < SPANS; i++) {
		uint64_t bits = BITS + i * 64;
		uint16_t freeindex = rows_random(&seed) % (ELEMS + 20);

		for (int j = 0; j < 24; j++)
			fake_set(&f->image, bits + j, rows_random(&seed), 1);
		for (int j = 0; j < ELEMS; j++) {
			uint8_t byte = *fake_find(&f->image, bits + j / 8, 1);

			want[i * ELEMS + j] = j < freeindex ||
					      (byte >> j % 8 & 1);
			objects += want[i * ELEMS + j];
		}
		put_span(f, (struct shape){ .base = HEAP + i * PAGE,
					    .npages = 1,
					    .elem_bytes = 48,
					    .nelems = ELEMS,
					    .spanclass = 10,
					    .freeindex = freeindex,
					    .alloc_bits = bits });
	}
	const struct gr_heap *heap = read_heap(f);
	for (gr_obj obj = 0; obj < SPANS * ELEMS; obj++)
		if (gr_heap_is_allocated(heap, obj) != want[obj])
			fail_msg("object %u", obj);
	assert_int_equal(heap->allocated_objects, objects);
	assert_int_equal(heap->allocated_bytes, objects * 48);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 0);
}

static void test_lost_bits(void **state)
{
	struct fixture *f = *state;

	put_span(f, (struct shape){ .base = HEAP,
				    .npages = 1,
				    .elem_bytes = 48,
				    .nelems = 170,
				    .spanclass = 10,
				    .freeindex = 3,
				    .alloc_bits = 0x66660000 });
	// Nothing is to be read when every slot was given out.
	put_span(f, (struct shape){ .base = HEAP + PAGE,
				    .npages = 1,
				    .elem_bytes = 48,
				    .nelems = 170,
				    .spanclass = 10,
				    .freeindex = 170,
				    .alloc_bits = 0x66660000 });
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->allocated_objects, 340);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
}

static void test_mid_sweep(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++)
		put_span(f, (struct shape){ .base = HEAP + i * PAGE,
					    .npages = 1,
					    .elem_bytes = 8192,
					    .nelems = 1,
					    .spanclass = 5,
					    .sweepgen = SWEEPGEN - 2 + i });
	read_heap(f);
	assert_int_equal(f->gaps.count[GR_GAP_SPANS_MID_SWEEP], 1);
}

static void test_map(void **state)
{
	struct fixture *f = *state;

	put_span(f, (struct shape){ .base = HEAP,
				    .npages = 1,
				    .elem_bytes = 48,
				    .nelems = 168,
				    .spanclass = 10 });
	put_span(f, (struct shape){ .base = HEAP + PAGE,
				    .npages = 1,
				    .elem_bytes = 48,
				    .nelems = 170,
				    .spanclass = 11 });
	put_span(f, (struct shape){ .base = HEAP + 2 * PAGE,
				    .npages = 2,
				    .elem_bytes = 10000,
				    .nelems = 1,
				    .spanclass = 0 });
	const uint8_t *host = fake_add(&f->image, HEAP, PAGE);
	const struct gr_heap *heap = read_heap(f);
	assert_null(gr_heap_map(&f->rt));
	assert_ptr_equal(heap->spans[0].host, host);
	assert_null(heap->spans[1].host); /* no pointers: not needed */
	assert_null(heap->spans[2].host); /* not there */
	assert_true(heap->spans[1].is_noscan);
	assert_int_equal(heap->spans[0].header_bytes, 0);
	assert_int_equal(heap->spans[2].header_bytes, 0);
	assert_int_equal(f->image.planned_bytes, 3 * PAGE);
}

// ----------------------------------------------------------- damaged spans

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

static void test_damaged(void **state)
{
	const struct damaged_case *c = *state;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
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
	teardown(&fixture);
}

/*
 * A span as large as 32 bits of offset allow: either it is left out, or an
 * address leads to its own object and never past the span's numbers.
 */
static void test_large_span_of_small_objects(void **state)
{
	struct fixture *f = *state;
	const uint64_t npages = UINT32_MAX / PAGE;
	const uint32_t nelems = npages * PAGE / 24;

	put_span(f, (struct shape){ .base = HEAP,
				    .npages = npages,
				    .elem_bytes = 24,
				    .nelems = nelems,
				    .spanclass = 5,
				    .freeindex = 1 });
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

static void test_unreadable_record(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		put_span(f, (struct shape){ .base = HEAP + i * PAGE,
					    .npages = 1,
					    .elem_bytes = 8192,
					    .nelems = 1,
					    .spanclass = 5 });
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

static void test_list(void **state)
{
	const struct list_case *c = *state;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	fake_set(&f->image, MHEAP, c->addr, 8);
	fake_set(&f->image, MHEAP + 8, c->len, 8);
	fake_set(&f->image, MHEAP + 16, c->cap, 8);
	struct gr_error *err = gr_heap_read(&f->rt);
	assert_non_null(err);
	assert_int_equal(err->code, c->want);
	assert_non_null(strstr(err->message, "allspans"));
	gr_error_destroy(err);
	teardown(&fixture);
}

/* A list that is nowhere: gaps, and an end before 2^28 of them. */
static void test_list_nowhere(void **state)
{
	struct fixture *f = *state;

	fake_set(&f->image, MHEAP, 0x66660000, 8);
	fake_set(&f->image, MHEAP + 8, 1 << 28, 8);
	fake_set(&f->image, MHEAP + 16, 1 << 28, 8);
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 0);
	assert_true(f->gaps.count[GR_GAP_BAD_SPANS] > 0);
}

static void test_geometry(void **state)
{
	struct fixture *f = *state;

	f->rt.layout.consts.page_bytes = 4096;
	struct gr_error *err = gr_heap_read(&f->rt);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_LAYOUT);
	gr_error_destroy(err);
}

#define WITH_FIXTURE(test) \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_no_spans),
		WITH_FIXTURE(test_edges),
		WITH_FIXTURE(test_large_object),
		WITH_FIXTURE(test_user_arena_chunk),
		WITH_FIXTURE(test_arenas),
		WITH_FIXTURE(test_random_heap),
		WITH_FIXTURE(test_allocated),
		WITH_FIXTURE(test_lost_bits),
		WITH_FIXTURE(test_mid_sweep),
		WITH_FIXTURE(test_map),
		WITH_FIXTURE(test_large_span_of_small_objects),
		WITH_FIXTURE(test_unreadable_record),
		WITH_FIXTURE(test_list_nowhere),
		WITH_FIXTURE(test_geometry),
	};

	return ROWS_RUN("size classes", class_cases, test_class) +
	       ROWS_RUN("damaged spans", damaged_cases, test_damaged) +
	       ROWS_RUN("damaged lists", list_cases, test_list) +
	       cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
