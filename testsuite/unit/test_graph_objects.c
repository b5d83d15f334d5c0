// SPDX-License-Identifier: Apache-2.0
/* objects: numbers to addresses and back, over runs of all sizes. */
#include "graph/objects.h"

#include "suite.h"

enum { NROUNDS = 300, MAX_RUNS = 40 };

struct layout {
	struct gr_run_spec runs[MAX_RUNS];
	uint32_t nruns;
	uint64_t *slots;
	uint32_t nslots;
};

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (suite_random(seed) >> 16) % n;
}

/* Runs by chance: touching or apart, empty, full, longer than a rank. */
static void layout_init(struct layout *l, uint64_t *seed)
{
	uint64_t base = 0xc000000000;
	uint32_t density = below(seed, 5);

	*l = (struct layout){ .nruns = below(seed, MAX_RUNS) };
	for (uint32_t i = 0; i < l->nruns; i++) {
		struct gr_run_spec *run = &l->runs[i];
		run->base = base;
		run->elem_bytes = 8 * (1 + below(seed, 40));
		run->head_bytes = below(seed, 2) * 8;
		run->nslots = below(seed, below(seed, 4) ? 30 : 3000);
		base += run->elem_bytes * run->nslots;
		base += below(seed, 2) * below(seed, 1000);
		l->nslots += run->nslots;
	}
	l->slots = calloc(l->nslots / 64 + 1, sizeof(*l->slots));
	assert_non_null(l->slots);
	for (uint32_t slot = 0; slot < l->nslots; slot++)
		if (density && below(seed, 4) < density)
			gr_bitmap_set(l->slots, slot);
}

static void check_slot(const struct gr_objects *o,
		       const struct gr_run_spec *run, uint32_t index,
		       uint32_t slot, gr_vertex object)
{
	uint64_t addr = run->base + index * run->elem_bytes;

	assert_int_equal(gr_objects_rank(o, slot), object);
	assert_int_equal(gr_objects_slot(o, object), slot);
	assert_int_equal(gr_objects_addr(o, object), addr + run->head_bytes);
	assert_int_equal(gr_objects_bytes(o, object), run->elem_bytes);
	assert_int_equal(gr_objects_find(o, addr), object);
	assert_int_equal(gr_objects_find(o, addr + run->elem_bytes - 1),
			 object);
}

/* The iterator finds the object next. */
static void check_next(struct gr_object_iterator *c, uint32_t slot,
		       gr_vertex object)
{
	const struct gr_slot_run *run = gr_objects_run(c->objects, object);

	assert_true(gr_objects_next(c));
	assert_int_equal(c->slot, slot);
	assert_int_equal(c->vertex, object);
	assert_int_equal(c->addr, gr_objects_addr(c->objects, object));
	assert_int_equal(c->bytes, run->elem_bytes - run->head_bytes);
	assert_ptr_equal(c->run, run);
}

/* Runs, each on its own, have all objects. */
static void check_runs(const struct gr_objects *o)
{
	gr_vertex object = 0;

	for (uint32_t i = 0; i < o->nruns; i++) {
		struct gr_object_iterator c = gr_objects_between(o, i, i + 1);
		while (gr_objects_next(&c))
			assert_int_equal(c.vertex, object++);
	}
	assert_int_equal(o->count, object);
}

static void check_objects(const struct layout *l, const struct gr_objects *o)
{
	struct gr_object_iterator c = gr_objects_begin(o);
	gr_vertex object = 0;
	uint32_t slot = 0;

	for (uint32_t i = 0; i < l->nruns; i++) {
		const struct gr_run_spec *run = &l->runs[i];
		uint64_t end = run->base + run->elem_bytes * run->nslots;
		for (uint32_t j = 0; j < run->nslots; j++, slot++) {
			uint64_t addr = run->base + j * run->elem_bytes;
			if (gr_bitmap_test(l->slots, slot)) {
				check_slot(o, run, j, slot, object);
				check_next(&c, slot, object++);
			} else {
				assert_int_equal(gr_objects_find(o, addr),
						 GR_VERTEX_NONE);
			}
		}
		if (i + 1 == l->nruns || l->runs[i + 1].base > end)
			assert_int_equal(gr_objects_find(o, end),
					 GR_VERTEX_NONE);
	}
	assert_int_equal(o->count, object);
	assert_false(gr_objects_next(&c));
	check_runs(o);
	assert_int_equal(gr_objects_find(o, 0), GR_VERTEX_NONE);
	assert_int_equal(gr_objects_find(o, UINT64_MAX), GR_VERTEX_NONE);
}

TEST(numbers)
{
	uint64_t seed = 41;

	for (int i = 0; i < NROUNDS; i++) {
		struct gr_budget budget = { 0 };
		struct gr_objects *objects;
		struct layout l;
		layout_init(&l, &seed);
		assert_null(gr_objects_create(&budget, l.runs, l.nruns, l.nruns,
					      l.slots, &objects));
		check_objects(&l, objects);
		gr_objects_destroy(objects);
		assert_int_equal(budget.held_bytes, 0);
		free(l.slots);
	}
}

/* Move the runs behind the first @p nfirst, as if they were another heap's: they
 * lie below the first ones, or above them. */
static void move_second(struct layout *l, uint32_t nfirst, bool is_below)
{
	const uint64_t by = UINT64_C(0x4000000000);

	for (uint32_t i = nfirst; i < l->nruns; i++)
		l->runs[i].base += is_below ? -by : by;
}

/* The second sequence of runs is numbered behind the first one, wherever it lies;
 * addresses between both are nobody's. */
TEST(second_sequence)
{
	uint64_t seed = 43;

	for (int i = 0; i < NROUNDS; i++) {
		struct gr_budget budget = { 0 };
		struct gr_objects *objects;
		struct layout l;
		gr_vertex nfirst_objects = 0;
		uint32_t nslots = 0;
		layout_init(&l, &seed);
		uint32_t nfirst = below(&seed, l.nruns + 1);
		move_second(&l, nfirst, i % 2);
		for (uint32_t k = 0; k < nfirst; k++)
			nslots += l.runs[k].nslots;
		for (uint32_t slot = 0; slot < nslots; slot++)
			nfirst_objects += gr_bitmap_test(l.slots, slot);
		assert_null(gr_objects_create(&budget, l.runs, nfirst, l.nruns,
					      l.slots, &objects));
		check_objects(&l, objects);
		assert_int_equal(gr_objects_second(objects), nfirst_objects);
		assert_int_equal(gr_objects_find(objects, 0x9000000000),
				 GR_VERTEX_NONE);
		assert_int_equal(gr_objects_find(objects, 0xf000000000),
				 GR_VERTEX_NONE);
		gr_objects_destroy(objects);
		free(l.slots);
	}
}

/* An emptied heap costs little: of five million slots, 100,000 are kept. */
TEST(emptied_heap)
{
	enum { NRUNS = 5000, SLOTS = 1000 };
	struct gr_budget budget = { 0 };
	struct gr_run_spec *runs = calloc(NRUNS, sizeof(*runs));
	uint64_t *slots = gr_bitmap_alloc(NRUNS * SLOTS);
	struct gr_objects *objects;

	assert_true(runs && slots);
	for (uint32_t i = 0; i < NRUNS; i++)
		runs[i] = (struct gr_run_spec){ .base = i * UINT64_C(8192),
						.elem_bytes = 8,
						.nslots = SLOTS };
	for (uint32_t slot = 0; slot < NRUNS * SLOTS; slot += 50)
		gr_bitmap_set(slots, slot);
	assert_null(gr_objects_create(&budget, runs, NRUNS, NRUNS, slots,
				      &objects));
	assert_int_equal(objects->count, 100000);
	// A graph of that many objects has 3.3 to 4.2 MB.
	assert_in_range(budget.held_bytes, 1, 1200 << 10);
	gr_objects_destroy(objects);
	free(runs);
	free(slots);
}

GR_SUITE("graph objects")
