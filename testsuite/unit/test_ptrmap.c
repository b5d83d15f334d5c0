// SPDX-License-Identifier: Apache-2.0
/*
 * ptrmap: the pointer bits of spans made up here, by each scheme, against a
 * naive reading of the same maps.
 */
#include "goruntime/ptrmap.h"

#include "fake_image.h"
#include "goruntime/typemask.h"
#include "rows.h"

enum {
	PAGE = 1 << GR_PAGE_SHIFT,
	PAGE_WORDS = PAGE / 8,
	TYPES = 0x500000,
	TYPE_BYTES = 48,
	MARKS_OFF = 0x100, /* of pageUseSpanInlineMarkBits in heapArena */
	MAPS_OFF = 0x40,   /* of bitmap in heapArena */
	NSPANS = 3,
	NARENAS = 3,
};
#define ARENA (UINT64_C(1) << GR_ARENA_SHIFT)
#define HEAP UINT64_C(0xc000000000)
/* Where the runtime.heapArena of arena i of the heap lies. */
#define ARENA_RECORD(i) (UINT64_C(0x7f0000000000) + (i)*UINT64_C(0x10000000))

struct fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_runtime rt;
	struct gr_heap heap;
	struct gr_span spans[NSPANS];
	struct gr_chunk chunk[NARENAS], *chunks[NARENAS];
	bool *allocated;
	uint64_t *words;
};

static struct gr_error *poll_nothing(void *ctx)
{
	(void)ctx;
	return NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->rt.heap = &f->heap;
	f->rt.poll = poll_nothing;
	f->rt.layout.consts.arena_bytes = ARENA;
	f->heap.spans = f->spans;
	f->heap.first_chunk = HEAP >> GR_ARENA_SHIFT;
	f->heap.nchunks = NARENAS;
	f->heap.chunks = f->chunks;
	for (uint32_t i = 0; i < NARENAS; i++) {
		f->chunks[i] = &f->chunk[i];
		f->chunk[i].arena = ARENA_RECORD(i);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gr_type_masks_destroy(f->rt.masks);
	fake_deinit(&f->image);
	free(f->heap.states);
	free(f->words);
	free(f);
	return 0;
}

/* A span whose memory is there, with every slot in use. */
static struct gr_span *add_span(struct fixture *f, uint64_t base,
				uint64_t npages, uint64_t elem_bytes,
				uint32_t nelems, uint8_t spanclass)
{
	struct gr_span *span = &f->spans[f->heap.nspans++];

	*span = (struct gr_span){
		.base_addr = base,
		.limit_addr = base + nelems * elem_bytes,
		.elem_bytes = elem_bytes,
		.nelems = nelems,
		.spanclass = spanclass,
		.first_obj = f->heap.nobjs,
		.first_word = f->heap.nwords,
		.host = fake_add(&f->image, base, npages * PAGE),
	};
	f->heap.nobjs += nelems;
	f->heap.nwords += npages * PAGE_WORDS;
	f->heap.states = realloc(f->heap.states, f->heap.nobjs);
	assert_non_null(f->heap.states);
	memset(f->heap.states, GR_OBJECT_ALLOCATED, f->heap.nobjs);
	return span;
}

static void release_slot(struct fixture *f, gr_obj obj)
{
	f->heap.states[obj] &= ~GR_OBJECT_ALLOCATED;
}

static void fill_random(uint8_t *bytes, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = rows_random(seed) >> 21;
}

static void build(struct fixture *f, const struct gr_ptrmap_ops *ops)
{
	f->rt.ptrmap = ops;
	free(f->words);
	f->words = NULL;
	assert_null(gr_ptrmap_build(&f->rt, 64, &f->words));
	assert_non_null(f->words);
	// The words past those of the heap belong to others.
	assert_int_equal(gr_bitmap_next(f->words, f->heap.nwords,
					f->heap.nwords + 64),
			 f->heap.nwords + 64);
}

/* Word `i` of the span is a pointer or not; free slots do not matter. */
static void check_word(const struct fixture *f, const struct gr_span *span,
		       uint64_t i, bool want)
{
	if (gr_bitmap_test(f->words, span->first_word + i) != want)
		fail_msg("word %u of element %u is %d",
			 (unsigned int)(i % (span->elem_bytes / 8)),
			 (unsigned int)(i / (span->elem_bytes / 8)), !want);
}

static uint64_t span_words(const struct gr_span *span)
{
	return (span->limit_addr - span->base_addr) / 8;
}

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

static void test_detect(void **state)
{
	const struct detect_case *c = *state;
	const struct gr_field there = { 8, 8 };
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	if (c->has_bitmap)
		f->rt.layout.heap_arena.bitmap = there;
	if (c->has_no_more_ptrs)
		f->rt.layout.heap_arena.no_more_ptrs = there;
	if (c->has_large_type)
		f->rt.layout.mspan.large_type = there;
	struct gr_error *err = gr_ptrmap_prepare(&f->rt);
	assert_ptr_equal(f->rt.ptrmap, c->want);
	assert_int_equal(err != NULL, c->want == NULL);
	if (err)
		assert_int_equal(err->code, GR_ERROR_LAYOUT);
	gr_error_destroy(err);
	teardown(&fixture);
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

static void test_small(void **state)
{
	const struct small_case *c = *state;
	enum { MAP_BYTES = PAGE / 64, MARK_BYTES = 128, NTH_PAGE = 19 };
	uint64_t seed = 130, tail = MAP_BYTES + (c->is_inline ? MARK_BYTES : 0);
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
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
	teardown(&fixture);
}

/* Whether marks are inline is not known: a gap, and the older place. */
static void test_small_without_arena(void **state)
{
	struct fixture *f = *state;

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

static void test_small_larger_than_a_page(void **state)
{
	struct fixture *f = *state;

	add_span(f, HEAP, 2, 48, 340, 10);
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], 1);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
}

static void test_spans_left_out(void **state)
{
	struct fixture *f = *state;
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

static void set_type_layout(struct fixture *f)
{
	struct gr_layout *layout = &f->rt.layout;

	layout->type.size_bytes = TYPE_BYTES;
	layout->type.size = (struct gr_field){ 0, 8 };
	layout->type.ptr_bytes = (struct gr_field){ 8, 8 };
	layout->type.tflag = (struct gr_field){ 20, 1 };
	layout->type.kind = (struct gr_field){ 23, 1 };
	layout->type.gcdata = (struct gr_field){ 32, 8 };
	layout->consts.kind_mask = 31;
	fake_add(&f->image, TYPES, 0x4000);
}

/* Type `n` of the fixture: its size and pointer words as a mask of 64. */
static uint64_t put_type(struct fixture *f, unsigned int n, uint64_t size,
			 uint64_t mask)
{
	uint64_t addr = TYPES + n * 0x100;
	uint64_t nwords = mask ? 64 - __builtin_clzll(mask) : 0;

	fake_set(&f->image, addr, size, 8);
	fake_set(&f->image, addr + 8, nwords * 8, 8);
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

static void test_header(void **state)
{
	const struct header_case *c = *state;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	set_type_layout(f);
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
	teardown(&fixture);
}

/* Objects of several types, free slots, and type words that make no sense. */
static void test_header_mixed(void **state)
{
	struct fixture *f = *state;
	enum { ELEM = 1024, WORDS = ELEM / 8 };

	set_type_layout(f);
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
static void test_large_type(void **state)
{
	struct fixture *f = *state;

	set_type_layout(f);
	struct gr_span *span = add_span(f, HEAP, 5, 5 * PAGE, 1, 0);
	span->large_type = put_type(f, 0, 24, 5);
	build(f, &gr_ptrmap_header_ops);
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i, i % 3 != 1);
	span->large_type = 0;
	build(f, &gr_ptrmap_header_ops);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
}

// ------------------------------------------------------- maps of an arena

/** A span, and how its words lie to the arenas of 64 MiB. */
struct arena_case {
	const char *name;
	uint64_t base, npages, elem_bytes;
	uint32_t nelems;
	bool is_gap; /* the second arena has no map */
};

static const struct arena_case arena_cases[] = {
	{ "first page of an arena", HEAP, 1, 48, 170, false },
	{ "last page of an arena", HEAP + ARENA - PAGE, 1, 48, 170, false },
	{ "elements of one word", HEAP + 7 * PAGE, 1, 8, 1024, false },
	{ "elements of three words", HEAP + 7 * PAGE, 1, 24, 341, false },
	{ "elements of 27 words", HEAP + 7 * PAGE, 1, 216, 37, false },
	{ "elements across pages", HEAP + 7 * PAGE, 7, 9472, 6, false },
	{ "one large object", HEAP + 7 * PAGE, 40, 40 * PAGE, 1, false },
	{ "one large object that ends inside a byte of the map",
	  HEAP + 7 * PAGE, 5, 5 * PAGE - 24, 1, false },
	{ "across two arenas", HEAP + ARENA - 3 * PAGE, 10, 10 * PAGE, 1,
	  false },
	{ "across two arenas, one page each", HEAP + ARENA - PAGE, 2, 2 * PAGE,
	  1, false },
	{ "the second arena is not known", HEAP + ARENA - 3 * PAGE, 10,
	  10 * PAGE, 1, true },
};

static struct gr_span *add_arena_span(struct fixture *f,
				      const struct arena_case *c)
{
	if (c->is_gap)
		f->chunk[1].arena = 0;
	return add_span(f, c->base, c->npages, c->elem_bytes, c->nelems, 20);
}

/* The map's byte for a word of the heap; `words` a byte. NULL: no map. */
static const uint8_t *map_byte(const struct fixture *f, uint64_t addr,
			       unsigned int words)
{
	uint64_t arena = f->chunk[(addr - HEAP) / ARENA].arena;

	return arena ? fake_find(&f->image,
				 arena + MAPS_OFF + addr % ARENA / 8 / words,
				 1) :
		       NULL;
}

static void test_arena1(void **state)
{
	const struct arena_case *c = *state;
	uint64_t seed = 150;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, ARENA / 64 };
	for (int i = 0; i < 2; i++)
		fill_random(fake_add(&f->image, ARENA_RECORD(i),
				     MAPS_OFF + ARENA / 64),
			    MAPS_OFF + ARENA / 64, &seed);
	const struct gr_span *span = add_arena_span(f, c);
	build(f, &gr_ptrmap_arena1_ops);
	for (uint64_t i = 0; i < span_words(span); i++) {
		const uint8_t *byte = map_byte(f, c->base + i * 8, 8);

		check_word(f, span, i, byte && *byte >> (i % 8) & 1);
	}
	assert_int_equal(f->gaps.count[GR_GAP_BAD_SPANS], c->is_gap);
	teardown(&fixture);
}

/* An object's words up to the first without "more to come". */
static void check_arena2_object(const struct fixture *f,
				const struct gr_span *span, uint32_t index)
{
	uint64_t words = span->elem_bytes / 8;
	bool more = true;

	for (uint64_t w = index * words; w < (index + 1) * words; w++) {
		const uint8_t *byte = map_byte(f, span->base_addr + w * 8, 4);
		unsigned int bits = byte ? *byte >> (w % 4) : 0;

		more = more && (!byte || bits & 0x10);
		check_word(f, span, w, more && bits & 1);
	}
}

/* Random pointer bits; "more" ends somewhere in each object, or never. */
static void put_arena2_maps(struct fixture *f, const struct gr_span *span,
			    uint64_t *seed)
{
	uint64_t words = span->elem_bytes / 8;

	for (int i = 0; i < 2; i++) {
		uint8_t *map = fake_add(&f->image, ARENA_RECORD(i),
					MAPS_OFF + ARENA / 32);

		fill_random(map + MAPS_OFF, ARENA / 32, seed);
		for (uint64_t j = 0; j < ARENA / 32; j++)
			map[MAPS_OFF + j] |= 0xf0;
	}
	for (uint32_t i = 0; i < span->nelems; i++) {
		uint64_t last = rows_random(seed) % (words + words / 4 + 1);
		uint64_t addr = span->base_addr + (i * words + last) * 8;
		uint8_t *byte =
			last < words ?
				(uint8_t *)(uintptr_t)map_byte(f, addr, 4) :
				NULL;

		if (byte)
			*byte &= ~(0x10 << (addr / 8 % 4));
	}
}

static void test_arena2(void **state)
{
	const struct arena_case *c = *state;
	uint64_t seed = 160;

	for (int round = 0; round < 3; round++) {
		void *fixture;

		setup(&fixture);
		struct fixture *f = fixture;
		f->rt.layout.heap_arena.bitmap =
			(struct gr_field){ MAPS_OFF, ARENA / 32 };
		struct gr_span *span = add_arena_span(f, c);
		put_arena2_maps(f, span, &seed);
		build(f, &gr_ptrmap_arena2_ops);
		for (uint32_t i = 0; i < span->nelems; i++)
			check_arena2_object(f, span, i);
		assert_true(f->gaps.count[GR_GAP_BAD_SPANS] <= c->is_gap);
		teardown(&fixture);
	}
}

/* The map of a free slot is not kept clean. */
static void test_arena2_free_slots(void **state)
{
	struct fixture *f = *state;

	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, ARENA / 32 };
	memset(fake_add(&f->image, ARENA_RECORD(0), MAPS_OFF + ARENA / 32),
	       0xff, MAPS_OFF + ARENA / 32);
	const struct gr_span *span = add_span(f, HEAP, 1, 48, 170, 20);
	for (gr_obj obj = 0; obj < 170; obj += 3)
		release_slot(f, obj);
	build(f, &gr_ptrmap_arena2_ops);
	for (uint64_t i = 0; i < span_words(span); i++)
		check_word(f, span, i, i / 6 % 3 != 0);
}

/** An arena whose map is not where it should be. */
struct lost_case {
	const char *name;
	const struct gr_ptrmap_ops *ops;
	uint32_t map_bytes; /* what debug information says */
	bool is_there;	    /* the map in memory */
};

static const struct lost_case lost_cases[] = {
	{ "one bit: map not in the dump", &gr_ptrmap_arena1_ops, ARENA / 64,
	  false },
	{ "two bits: map not in the dump", &gr_ptrmap_arena2_ops, ARENA / 32,
	  false },
	{ "one bit: map too short for the arena", &gr_ptrmap_arena1_ops, 64,
	  true },
	{ "two bits: map too short for the arena", &gr_ptrmap_arena2_ops, 64,
	  true },
};

static void test_lost(void **state)
{
	const struct lost_case *c = *state;
	void *fixture;

	setup(&fixture);
	struct fixture *f = fixture;
	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, c->map_bytes };
	if (c->is_there)
		memset(fake_add(&f->image, ARENA_RECORD(0),
				MAPS_OFF + c->map_bytes),
		       0xff, MAPS_OFF + c->map_bytes);
	add_span(f, HEAP + 7 * PAGE, 1, 48, 170, 20);
	add_span(f, HEAP + 9 * PAGE, 3, 3 * PAGE, 1, 20);
	build(f, c->ops);
	assert_int_equal(gr_bitmap_count(f->words, 0, f->heap.nwords), 0);
	teardown(&fixture);
}

/* Whatever fill() reads outside of the span was planned. */
static void test_plan(void **state)
{
	struct fixture *f = *state;

	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, ARENA / 64 };
	f->rt.layout.heap_arena.no_more_ptrs = (struct gr_field){ 0, 8 };
	add_span(f, HEAP + ARENA - PAGE, 2, 2 * PAGE, 1, 20);
	assert_null(gr_ptrmap_prepare(&f->rt));
	assert_int_equal(f->image.planned_bytes, 2 * PAGE / 64);
}

#define WITH_FIXTURE(test) \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_small_without_arena),
		WITH_FIXTURE(test_small_larger_than_a_page),
		WITH_FIXTURE(test_spans_left_out),
		WITH_FIXTURE(test_header_mixed),
		WITH_FIXTURE(test_large_type),
		WITH_FIXTURE(test_arena2_free_slots),
		WITH_FIXTURE(test_plan),
	};

	return ROWS_RUN("schemes", detect_cases, test_detect) +
	       ROWS_RUN("bits in the span", small_cases, test_small) +
	       ROWS_RUN("headers", header_cases, test_header) +
	       ROWS_RUN("one bit a word", arena_cases, test_arena1) +
	       ROWS_RUN("two bits a word", arena_cases, test_arena2) +
	       ROWS_RUN("lost maps", lost_cases, test_lost) +
	       cmocka_run_group_tests_name("pointer maps", tests, NULL, NULL);
}
