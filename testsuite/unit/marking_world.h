/* SPDX-License-Identifier: Apache-2.0 */
/**
 * marking_world: random heaps whose pointers only masks know, a naive walker
 * over them, and the walk itself. Included by the one C file of a test.
 */
#pragma once

#include "goruntime/types/types_internal.h"
#include "mark/walk.h"

#include "heap_builder.h"
#include "pointer_bits.h"

enum {
	NSPANS = 4,
	NPAGES = 10,
	NROOTS = 40,
	NBARRIERS = 6,
	AREA_WORDS = 100,
	HEAP_WORDS = NPAGES * PAGE / 8,
	MAX_OBJECTS = 2048,
};
#define AREA UINT64_C(0x700000)

struct world {
	struct fixture *f;
	struct gr_heap *heap;
	struct gr_arena arena;
	struct gr_roots roots;
	struct gr_area area;
	uint64_t ms[NBARRIERS];
	char names[NROOTS];
	uint64_t seed;
};

static inline uint64_t below(struct world *w, uint64_t n)
{
	return suite_random(&w->seed) % n;
}

/* Slots of three sizes with pointers, and of one without. */
static inline void make_spans(struct world *w)
{
	static const struct shape shapes[NSPANS] = {
		{ HEAP, 1, 16, 512, 4, 0, 0, 0, 0 },
		{ HEAP + PAGE, 2, 48, 341, 10, 0, 0, 0, 0 },
		{ HEAP + 3 * PAGE, 4, 32, 1024, 7, 0, 0, 0, 0 },
		{ HEAP + 7 * PAGE, 3, 416, 59, 60, 0, 0, 0, 0 },
	};

	fake_add(&w->f->image, HEAP, NPAGES * PAGE);
	for (int i = 0; i < NSPANS; i++) {
		struct shape s = shapes[i];

		s.freeindex = below(w, s.nelems / 2);
		s.alloc_bits = BITS + i * 0x400;
		for (int j = 0; j < 0x80; j++)
			fake_set(&w->f->image, s.alloc_bits + j,
				 below(w, 4) ? 0xff : below(w, 256), 1);
		put_span(w->f, s);
	}
	w->heap = read_heap(w->f);
	w->heap->ptrmap = &made_up_maps;
	assert_null(gr_heap_map(w->heap));
	assert_true(w->heap->nobjs <= MAX_OBJECTS);
}

/* Nil, an address in some slot, or one of no object. */
static inline uint64_t random_pointer(struct world *w)
{
	gr_obj obj = below(w, w->heap->nobjs);

	switch (below(w, 10)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return 0;
	case 4:
		return suite_random(&w->seed);
	case 5:
		return HEAP + below(w, NPAGES * PAGE);
	default:
		return gr_heap_object_addr(w->heap, obj);
	}
}

static inline void make_words(struct world *w)
{
	pointer_bits = gr_bitmap_alloc(HEAP_WORDS);
	assert_non_null(pointer_bits);
	for (uint64_t i = 0; i < HEAP_WORDS; i++) {
		fake_set(&w->f->image, HEAP + i * 8, random_pointer(w), 8);
		if (below(w, 4))
			gr_bitmap_set(pointer_bits, i);
	}
	w->area = (struct gr_area){
		.start = AREA,
		.end = AREA + AREA_WORDS * 8,
		.host = fake_add(&w->f->image, AREA, AREA_WORDS * 8),
		.live = gr_bitmap_alloc(AREA_WORDS),
		.conservative = gr_bitmap_alloc(AREA_WORDS),
	};
	for (uint64_t i = 0; i < AREA_WORDS; i++) {
		fake_set(&w->f->image, AREA + i * 8, random_pointer(w), 8);
		if (below(w, 2))
			gr_bitmap_set(w->area.live, i);
		if (gr_bitmap_test(w->area.live, i) && below(w, 2))
			gr_bitmap_set(w->area.conservative, i);
	}
}

/* Make a word of the object at @p addr point into the object. */
static inline void point_to_itself(struct world *w, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	if (obj == GR_OBJ_NONE)
		return;
	addr = gr_span_slot_addr(span, obj - span->first_obj) +
	       below(w, span->elem_bytes / 8) * 8;
	fake_set(&w->f->image, addr, addr, 8);
	gr_bitmap_set(pointer_bits, (addr - HEAP) / 8);
}

static inline void make_roots(struct world *w)
{
	for (int i = 0; i < NROOTS; i++) {
		struct gr_root root = {
			.name = &w->names[i],
			.kind = GR_ROOT_GLOBAL,
			.tier = 1 + below(w, 3),
			.form = below(w, 8) ? GR_ROOT_VALUE : GR_ROOT_CONTENTS,
			.is_conservative = below(w, 4) == 0,
			.goroutine = UINT32_MAX,
			.type = GR_TYPE_NONE,
			.addr = random_pointer(w),
		};

		if (root.form == GR_ROOT_CONTENTS) {
			root.is_conservative = false;
			point_to_itself(w, root.addr);
		}
		assert_true(gr_root_list_append(&w->roots.list, root));
	}
	for (int i = 0; i < NBARRIERS; i++)
		w->ms[i] =
			gr_heap_object_addr(w->heap, below(w, w->heap->nobjs));
}

static inline void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->f = setup();
	w->f->rt.arena = &w->arena;
	make_spans(w);
	make_words(w);
	make_roots(w);
	w->f->sched.ms = w->ms;
	w->f->sched.nms = NBARRIERS;
}

static inline void world_deinit(struct world *w)
{
	gr_root_list_deinit(&w->roots.list);
	gr_arena_deinit(&w->arena);
	free(w->area.live);
	free(w->area.conservative);
	free(pointer_bits);
	teardown(w->f);
}

// ------------------------------------------------------------- naive walker

struct naive {
	struct world *w;
	bool is_done[HEAP_WORDS];
	int billed[MAX_OBJECTS]; /* root + 1; 0: not reached */
	gr_obj from[MAX_OBJECTS];
	bool is_scheduler[MAX_OBJECTS], is_deferred[MAX_OBJECTS];
	/* Objects whose words are still to be followed, and for which root. */
	struct naive_entry {
		gr_obj obj, from;
		int root;
	} queue[2 * MAX_OBJECTS], deferred[MAX_OBJECTS];
	size_t head, tail, ndeferred;
};

static inline gr_obj naive_target(struct world *w, uint64_t addr)
{
	gr_obj obj = naive_object(w->heap, addr);

	return obj != GR_OBJ_NONE && gr_heap_is_allocated(w->heap, obj) ?
		       obj :
		       GR_OBJ_NONE;
}

static inline void naive_visit(struct naive *n, uint64_t addr, gr_obj from,
			       int root, int tier)
{
	gr_obj obj = naive_target(n->w, addr);

	if (obj == GR_OBJ_NONE)
		return;
	if (n->is_scheduler[obj] && tier < GR_TIER_RUNTIME) {
		if (!n->is_deferred[obj])
			n->deferred[n->ndeferred++] =
				(struct naive_entry){ obj, from, root };
		n->is_deferred[obj] = true;
		return;
	}
	if (n->billed[obj])
		return;
	n->billed[obj] = root + 1;
	n->from[obj] = from;
	n->queue[n->tail++] = (struct naive_entry){ obj, obj, root };
}

static inline void naive_drain(struct naive *n, int tier)
{
	for (; n->head < n->tail; n->head++) {
		struct naive_entry e = n->queue[n->head];
		const struct gr_span *span = gr_heap_span_of(n->w->heap, e.obj);
		uint64_t addr =
			gr_span_slot_addr(span, e.obj - span->first_obj);

		for (uint64_t i = (addr - HEAP) / 8;
		     !span->is_noscan &&
		     i < (addr - HEAP + span->elem_bytes) / 8;
		     i++) {
			uint64_t value;

			if (!gr_bitmap_test(pointer_bits, i) || n->is_done[i])
				continue;
			n->is_done[i] = true;
			memcpy(&value,
			       fake_find(&n->w->f->image, HEAP + i * 8, 8), 8);
			// The contents of an object do not lead to itself.
			if (e.from == GR_OBJ_NONE &&
			    naive_target(n->w, value) == e.obj)
				continue;
			naive_visit(n, value,
				    n->billed[e.obj] ? e.obj : GR_OBJ_NONE,
				    e.root, tier);
		}
	}
}

static inline struct naive *naive_walk(struct world *w)
{
	struct naive *n = suite_alloc(sizeof(*n));

	n->w = w;
	for (int i = 0; i < NBARRIERS; i++)
		n->is_scheduler[naive_object(w->heap, w->ms[i])] = true;
	for (int s = GR_TIER_USER; s <= GR_TIER_RUNTIME; s++) {
		for (int i = 0; i < NROOTS; i++) {
			const struct gr_root *root = &w->roots.list.data[i];
			gr_obj obj = naive_target(w, root->addr);

			if (root->tier != s || obj == GR_OBJ_NONE)
				continue;
			if (root->form == GR_ROOT_VALUE)
				naive_visit(n, root->addr, GR_OBJ_NONE, i, s);
			else
				n->queue[n->tail++] =
					(struct naive_entry){ obj, GR_OBJ_NONE,
							      i };
		}
		naive_drain(n, s);
	}
	for (size_t i = 0; i < n->ndeferred; i++) {
		struct naive_entry e = n->deferred[i];

		naive_visit(n, gr_heap_object_addr(w->heap, e.obj), e.from,
			    e.root, GR_TIER_RUNTIME);
	}
	naive_drain(n, GR_TIER_RUNTIME);
	return n;
}

// ------------------------------------------------------------------- walks

static inline void walk(struct world *w, bool keep_parents,
			struct gr_ledger *ledger, struct gr_marking *ret)
{
	const struct gr_walk_options options = { .max_depth = 256,
						 .max_nodes = 1 << 20 };
	struct gr_walk *walk;

	memset(ledger, 0, sizeof(*ledger));
	assert_null(gr_walk_create(w->heap, &w->f->sched, &w->roots, &options,
				   ledger, &walk));
	if (keep_parents)
		assert_null(gr_walk_keep_parents(walk));
	assert_null(gr_walk_tiers(walk, &options));
	*ret = walk->m;
	memset(&walk->m, 0, sizeof(walk->m));
	gr_walk_destroy(walk);
}
