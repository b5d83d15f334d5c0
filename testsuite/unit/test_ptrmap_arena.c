// SPDX-License-Identifier: Apache-2.0
/*
 * ptrmap: the pointer bits of spans made up here, by the schemes with a map
 * for each arena (up to Go 1.21), against a naive reading of the same maps.
 */
#include "ptrmap_fixture.h"

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

TEST_F_ROWS(arena1, arena_cases, c)
{
	uint64_t seed = 150;

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
		uint64_t last = suite_random(seed) % (words + words / 4 + 1);
		uint64_t addr = span->base_addr + (i * words + last) * 8;
		uint8_t *byte =
			last < words ?
				(uint8_t *)(uintptr_t)map_byte(f, addr, 4) :
				NULL;

		if (byte)
			*byte &= ~(0x10 << (addr / 8 % 4));
	}
}

TEST_ROWS(arena2, arena_cases, c)
{
	uint64_t seed = 160;

	for (int round = 0; round < 3; round++) {
		struct fixture *f = setup();

		f->rt.layout.heap_arena.bitmap =
			(struct gr_field){ MAPS_OFF, ARENA / 32 };
		struct gr_span *span = add_arena_span(f, c);
		put_arena2_maps(f, span, &seed);
		build(f, &gr_ptrmap_arena2_ops);
		for (uint32_t i = 0; i < span->nelems; i++)
			check_arena2_object(f, span, i);
		assert_true(f->gaps.count[GR_GAP_BAD_SPANS] <= c->is_gap);
		teardown(f);
	}
}

/* The map of a free slot is not kept clean. */
TEST_F(arena2_free_slots)
{
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

TEST_F_ROWS(lost, lost_cases, c)
{
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
}

/* Whatever fill() reads outside of the span was planned. */
TEST_F(plan)
{
	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, ARENA / 64 };
	f->rt.layout.heap_arena.no_more_ptrs = (struct gr_field){ 0, 8 };
	add_span(f, HEAP + ARENA - PAGE, 2, 2 * PAGE, 1, 20);
	assert_null(gr_ptrmap_prepare(&f->heap));
	assert_int_equal(f->image.planned_bytes, 2 * PAGE / 64);
}

GR_SUITE("arena maps")
