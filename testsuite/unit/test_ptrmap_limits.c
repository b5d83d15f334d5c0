// SPDX-License-Identifier: Apache-2.0
/* Pointer maps of spans as large as a damaged heap may have them: each scheme
 * asks often whether to go on, and ends when it may not. */
#include "ptrmap_fixture.h"

#include "polls.h"

/* A type of one word that is a pointer. */
static uint64_t put_word_type(struct fixture *f)
{
	set_type_layout(&f->rt.layout);
	fake_add(&f->image, TYPES, 0x100);
	fake_words(&f->image, TYPES, 8, 8);
	fake_set(&f->image, TYPES + 23, 25, 1);
	fake_set(&f->image, TYPES + 32, TYPES + 0x80, 8);
	fake_set(&f->image, TYPES + 0x80, 1, 8);
	return TYPES;
}

/* It takes so many polls at least; each of some polls ends it. */
static void check_polls(struct fixture *f, const struct gr_ptrmap_ops *ops,
			uint64_t least)
{
	struct polls polls;
	uint64_t *words;

	f->heap.ptrmap = ops;
	polls_set(&polls, &f->rt, 0);
	assert_null(gr_ptrmap_build(&f->heap, 0, &words));
	free(words);
	assert_in_range(polls.seen, least, 1 << 20);
	uint64_t all = polls.seen;
	for (uint64_t last = 1; last <= all; last += all / 3 + 1) {
		polls_set(&polls, &f->rt, last);
		polls_check_ended(&polls, gr_ptrmap_build(&f->heap, 0, &words));
	}
}

/* Many objects, each with a mask that is repeated for each of its words. */
TEST_F(headers)
{
	enum { NOBJECTS = 8192, OBJECT_BYTES = 1024 };
	uint64_t type = put_word_type(f);
	struct gr_span *span = add_span(f, HEAP, NOBJECTS * OBJECT_BYTES / PAGE,
					OBJECT_BYTES, NOBJECTS, 20);

	span->header_bytes = 8;
	for (uint64_t i = 0; i < NOBJECTS; i++)
		fake_set(&f->image, HEAP + i * OBJECT_BYTES, type, 8);
	check_polls(f, &gr_ptrmap_header_ops,
		    NOBJECTS * OBJECT_BYTES / 9 / GR_POLL_STEPS);
}

/* One object of 24 MB, whose elements are single words. */
TEST_F(large_type)
{
	enum { NPAGES = 3000 };
	struct gr_span *span =
		add_span(f, HEAP, NPAGES, NPAGES * (uint64_t)PAGE, 1, 0);

	span->large_type = put_word_type(f);
	check_polls(f, &gr_ptrmap_header_ops,
		    NPAGES * PAGE_WORDS / GR_POLL_STEPS);
}

/* Objects of no type in free slots: they are passed by. */
TEST_F(free_slots)
{
	enum { NPAGES = 4096, NOBJECTS = NPAGES * PAGE / 64 };
	struct gr_span *span = add_span(f, HEAP, NPAGES, 64, NOBJECTS, 20);

	span->header_bytes = 8;
	gr_bitmap_clear_range(f->heap.allocated, 0, NOBJECTS);
	check_polls(f, &gr_ptrmap_header_ops, NOBJECTS / 64 / GR_POLL_STEPS);
}

/* An object over three arenas, of which each has a map. */
static void check_arenas(struct fixture *f, const struct gr_ptrmap_ops *ops,
			 unsigned int bits)
{
	uint64_t map_bytes = ARENA / 8 / 8 * bits;

	f->rt.layout.heap_arena.bitmap =
		(struct gr_field){ MAPS_OFF, map_bytes };
	for (int i = 0; i < NARENAS; i++)
		memset(fake_add(&f->image, ARENA_RECORD(i),
				MAPS_OFF + map_bytes),
		       0xff, MAPS_OFF + map_bytes);
	add_span(f, HEAP, NARENAS * ARENA / PAGE, NARENAS * ARENA, 1, 20);
	check_polls(f, ops, NARENAS);
}

TEST_F(arenas1)
{
	check_arenas(f, &gr_ptrmap_arena1_ops, 1);
}

TEST_F(arenas2)
{
	check_arenas(f, &gr_ptrmap_arena2_ops, 2);
}

/* A span over arenas that are not there. */
TEST_F(plan)
{
	enum { NPIECES = 1 << 17 };
	struct gr_span *span = &f->spans[f->heap.nspans++];
	struct polls polls;

	f->rt.layout.heap_arena.bitmap = (struct gr_field){ MAPS_OFF, 1 << 20 };
	f->rt.layout.heap_arena.no_more_ptrs = (struct gr_field){ 0, 8 };
	span->base_addr = HEAP;
	span->limit_addr = HEAP + NPIECES * ARENA;
	polls_set(&polls, &f->rt, 0);
	assert_null(gr_ptrmap_prepare(&f->heap));
	assert_ptr_equal(f->heap.ptrmap, &gr_ptrmap_arena1_ops);
	assert_in_range(polls.seen, NPIECES / GR_POLL_STEPS - 1,
			NPIECES / GR_POLL_STEPS + 1);
	polls_set(&polls, &f->rt, 3);
	polls_check_ended(&polls, gr_ptrmap_prepare(&f->heap));
}

GR_SUITE_WITH("ptrmap limits", polls_set_alarm, NULL)
