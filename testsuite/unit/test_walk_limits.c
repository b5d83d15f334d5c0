// SPDX-License-Identifier: Apache-2.0
/* Words of stacks and data that lead nowhere, as many as a walk may meet. */
#include "goruntime/heap/ptrmap.h"
#include "mark/walk.h"

#include "heap_builder.h"
#include "polls.h"

enum { AREA_WORDS = 1 << 18, OWNER_MODULE_0 = -1 };
#define AREA UINT64_C(0x70000000)

static struct gr_error *fill_nothing(const struct gr_heap *heap,
				     const struct gr_span *span,
				     uint64_t *words)
{
	(void)heap, (void)span, (void)words;
	return NULL;
}

static const struct gr_ptrmap_ops no_maps = { .name = "none",
					      .fill = fill_nothing };

/* An area of a module in which every word is live, and conservative. */
struct junk {
	struct fixture *f;
	struct gr_module module;
	struct gr_arena arena;
	struct gr_area area;
	struct gr_roots roots;
	uint32_t owner;
	uint64_t *words;
	struct polls polls;
};

static struct junk *junk_init(void)
{
	struct junk *j = suite_alloc(sizeof(*j));

	j->f = setup();
	j->f->rt.arena = &j->arena;
	j->f->rt.modules = &j->module;
	j->f->rt.nmodules = 1;
	fake_add(&j->f->image, HEAP, PAGE);
	put_span(j->f, SPAN(HEAP, 1, 64, 128, 4, .freeindex = 128));
	read_heap(j->f)->ptrmap = &no_maps;
	assert_null(gr_heap_map(j->f->heap));
	j->area = (struct gr_area){
		.start = AREA,
		.end = AREA + AREA_WORDS * 8,
		.host = fake_add(&j->f->image, AREA, AREA_WORDS * 8),
		.live = gr_bitmap_alloc(AREA_WORDS),
		.conservative = gr_bitmap_alloc(AREA_WORDS),
	};
	j->words = (uint64_t *)j->area.host;
	gr_bitmap_set_range(j->area.live, 0, AREA_WORDS);
	gr_bitmap_set_range(j->area.conservative, 0, AREA_WORDS);
	j->owner = OWNER_MODULE_0;
	j->roots.areas.areas = &j->area;
	j->roots.areas.owners = &j->owner;
	j->roots.areas.count = 1;
	return j;
}

static void junk_deinit(struct junk *j)
{
	free(j->area.live);
	free(j->area.conservative);
	gr_arena_deinit(&j->arena);
	teardown(j->f);
	free(j);
}

#undef FIXTURE
#define FIXTURE struct junk *j, junk_init, junk_deinit

static struct gr_error *walk(struct junk *j, uint64_t last_poll, size_t *nroots)
{
	const struct gr_walk_options options = { .max_depth = 256,
						 .max_nodes = 1 << 20 };
	struct gr_ledger ledger = { .is_partial = false };
	struct gr_walk *w;

	polls_set(&j->polls, &j->f->rt, last_poll);
	assert_null(gr_walk_create(j->f->heap, &j->f->sched, &j->roots,
				   &options, &ledger, &w));
	struct gr_error *err = gr_walk_tiers(w, &options);
	*nroots = w->m.tree.roots.size;
	gr_walk_destroy(w);
	return err;
}

/* Words that lead nowhere are not named: a name counts as 64 steps. */
TEST_F(junk)
{
	size_t nroots;

	for (uint64_t i = 0; i < AREA_WORDS; i++)
		j->words[i] = UINT64_C(0x123456789) * (i + 1) << 4;
	j->words[AREA_WORDS / 2] = HEAP + 64;
	assert_null(walk(j, 0, &nroots));
	assert_int_equal(nroots, 1);
	// Three tiers and what was deferred: words are looked at once.
	assert_in_range(j->polls.seen, AREA_WORDS >> 16, 100);
}

/* Many words that all lead to one object of no known type have to be named. */
TEST_F(pointers_to_one)
{
	size_t nroots;

	for (uint64_t i = 0; i < AREA_WORDS; i++)
		j->words[i] = HEAP + 64;
	assert_null(walk(j, 0, &nroots));
	assert_int_equal(nroots, 1);
	// A poll comes for each thousand names.
	assert_in_range(j->polls.seen, AREA_WORDS >> 10, AREA_WORDS >> 6);
}

TEST_F(interrupted)
{
	size_t nroots;

	for (uint64_t i = 0; i < AREA_WORDS; i++)
		j->words[i] = HEAP + 64;
	polls_check_ended(&j->polls, walk(j, 20, &nroots));
}

GR_SUITE_WITH("walk limits", polls_set_alarm, NULL)
