// SPDX-License-Identifier: Apache-2.0
/* heap: spans read from made-up mspan records; addresses to objects. */
#include "heap_builder.h"

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
TEST_F_ROWS(class, class_cases, c)
{
	uint64_t base = HEAP + 5 * PAGE, bytes = c->npages * (uint64_t)PAGE;
	uint32_t nelems = bytes / c->elem_bytes;

	put_span(f, SPAN(base + bytes, 1, 4096, 2, 5));
	put_span(f, SPAN(base, c->npages, c->elem_bytes, nelems, 2));
	put_span(f, SPAN(base - 2 * PAGE, 1, 2688, 3, 5));
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
}

// ------------------------------------------------------------------- edges

TEST_F(no_spans)
{
	const struct gr_heap *heap = read_heap(f);
	const uint64_t addrs[] = { 0, 1, HEAP, ARENA, UINT64_MAX };

	assert_int_equal(heap->nobjs, 0);
	for (size_t i = 0; i < GR_ARRAY_SIZE(addrs); i++) {
		check_address(heap, addrs[i], GR_OBJ_NONE);
		assert_null(gr_heap_span_at(heap, addrs[i]));
		assert_int_equal(gr_heap_arena_at(heap, addrs[i]), 0);
	}
}

TEST_F(edges)
{
	uint64_t far = HEAP + 7 * ARENA - PAGE;

	put_span(f, SPAN(far, 1, 1152, 7, 5));
	put_span(f, SPAN(HEAP, 1, 48, 170, 5));
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
TEST_F(large_object)
{
	uint64_t base = HEAP + ARENA - 3 * PAGE, bytes = UINT64_C(5) << 30;

	put_span(f, SPAN(base, bytes / PAGE, bytes, 1, 1));
	const struct gr_heap *heap = read_heap(f);
	for (uint64_t off = 0; off < bytes; off += bytes / 1000 + 1)
		check_address(heap, base + off, 0);
	check_address(heap, base - 1, GR_OBJ_NONE);
	check_address(heap, base + (UINT64_C(1) << 32), 0);
	check_address(heap, base + bytes - 1, 0);
	check_address(heap, base + bytes, GR_OBJ_NONE);
}

/* runtime/arena.go: the chunk ends with a map and a type, outside the limit. */
TEST_F(user_arena_chunk)
{
	const uint64_t bytes = ARENA - ARENA / 64 - 48;

	put_span(f, SPAN(HEAP, ARENA / PAGE, bytes, 1, 0, .freeindex = 1));
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 0);
	assert_int_equal(heap->allocated_objects, 1);
	check_address(heap, HEAP, 0);
	check_address(heap, HEAP + bytes - 1, 0);
	check_address(heap, HEAP + bytes, GR_OBJ_NONE);
	check_address(heap, HEAP + ARENA - 1, GR_OBJ_NONE);
}

TEST_F(arenas)
{
	fake_set(&f->image, ARENA_MAP + HEAP / ARENA * 8, 0x7000, 8);
	fake_set(&f->image, ARENA_MAP + (HEAP / ARENA + 2) * 8, 0x9000, 8);
	put_span(f, SPAN(HEAP, 1, 8192, 1, 5));
	put_span(f, SPAN(HEAP + 2 * ARENA, 1, 8192, 1, 5));
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(gr_heap_arena_at(heap, HEAP), 0x7000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + ARENA - 1), 0x7000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + ARENA), 0);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + 2 * ARENA), 0x9000);
	assert_int_equal(gr_heap_arena_at(heap, HEAP + 3 * ARENA), 0);
	assert_int_equal(gr_heap_arena_at(heap, HEAP - 1), 0);
}

/* A heap of many spans of random classes: every lookup against the naive. */
TEST_F(random_heap)
{
	uint64_t seed = 90, base = HEAP + 4 * ARENA - 40 * PAGE;

	for (int i = 0; i < 40; i++) {
		const struct class_case *c =
			&class_cases[suite_random(&seed) %
				     GR_ARRAY_SIZE(class_cases)];
		uint8_t noscan = suite_random(&seed) & 1;

		put_span(f, SPAN(base, c->npages, c->elem_bytes,
				 c->npages * PAGE / c->elem_bytes, 4 | noscan));
		base += (c->npages + suite_random(&seed) % 3) * PAGE;
	}
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->nspans, 40);
	uint64_t start = HEAP + 4 * ARENA - 41 * PAGE;
	for (int i = 0; i < 20000; i++) {
		uint64_t addr =
			start + suite_random(&seed) % (base + 2 * PAGE - start);
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

TEST_F(allocated)
{
	enum { SPANS = 30, ELEMS = 170 };
	uint64_t seed = 100, objects = 0;
	bool want[SPANS * ELEMS];

	for (int i = 0; i < SPANS; i++) {
		uint64_t bits = BITS + i * 64;
		uint16_t freeindex = suite_random(&seed) % (ELEMS + 20);

		for (int j = 0; j < 24; j++)
			fake_set(&f->image, bits + j, suite_random(&seed), 1);
		for (int j = 0; j < ELEMS; j++) {
			uint8_t byte = *fake_find(&f->image, bits + j / 8, 1);

			want[i * ELEMS + j] = j < freeindex ||
					      (byte >> j % 8 & 1);
			objects += want[i * ELEMS + j];
		}
		put_span(f, SPAN(HEAP + i * PAGE, 1, 48, ELEMS, 10,
				 .freeindex = freeindex, .alloc_bits = bits));
	}
	const struct gr_heap *heap = read_heap(f);
	for (gr_obj obj = 0; obj < SPANS * ELEMS; obj++)
		if (gr_heap_is_allocated(heap, obj) != want[obj])
			fail_msg("object %u", obj);
	assert_int_equal(heap->allocated_objects, objects);
	assert_int_equal(heap->allocated_bytes, objects * 48);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 0);
}

TEST_F(lost_bits)
{
	put_span(f, SPAN(HEAP, 1, 48, 170, 10, .freeindex = 3,
			 .alloc_bits = 0x66660000));
	// Nothing is to be read when every slot was given out.
	put_span(f, SPAN(HEAP + PAGE, 1, 48, 170, 10, .freeindex = 170,
			 .alloc_bits = 0x66660000));
	const struct gr_heap *heap = read_heap(f);
	assert_int_equal(heap->allocated_objects, 340);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
}

TEST_F(mid_sweep)
{
	for (int i = 0; i < 5; i++)
		put_span(f, SPAN(HEAP + i * PAGE, 1, 8192, 1, 5,
				 .sweepgen = SWEEPGEN - 2 + i));
	read_heap(f);
	assert_int_equal(f->gaps.count[GR_GAP_SPANS_MID_SWEEP], 1);
}

TEST_F(map)
{
	put_span(f, SPAN(HEAP, 1, 48, 168, 10));
	put_span(f, SPAN(HEAP + PAGE, 1, 48, 170, 11));
	put_span(f, SPAN(HEAP + 2 * PAGE, 2, 10000, 1, 0));
	const uint8_t *host = fake_add(&f->image, HEAP, PAGE);
	const struct gr_heap *heap = read_heap(f);
	assert_null(gr_heap_map(f->heap));
	assert_ptr_equal(heap->spans[0].host, host);
	assert_null(heap->spans[1].host); /* no pointers: not needed */
	assert_null(heap->spans[2].host); /* not there */
	assert_true(heap->spans[1].is_noscan);
	assert_int_equal(heap->spans[0].header_bytes, 0);
	assert_int_equal(heap->spans[2].header_bytes, 0);
	assert_int_equal(f->image.planned_bytes, 3 * PAGE);
}

GR_SUITE("heap")
