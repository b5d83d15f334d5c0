/* SPDX-License-Identifier: Apache-2.0 */
/** heapgraph_service: random heaps with goroutines and roots of all kinds, of
 * which graphs are made. */
#pragma once

#include "goruntime/sched/waits.h"
#include "heapgraph/heapgraph.h"

#include "marking_world.h"

enum { NGOROUTINES = 4, NSUDOGS = 3, NREGIONS = 12 };

/** A world with goroutines, a stack, and roots of all kinds. */
struct service {
	struct world w;
	struct gr_goroutine goroutines[NGOROUTINES];
	struct gr_own_sudog sudogs[NSUDOGS];
	struct gr_waits waits;
	uint32_t owner; /* of the area */
	struct gr_ledger ledger;
	struct gr_marking m;
};

static inline void make_goroutines(struct service *s)
{
	struct world *w = &s->w;

	for (int i = 0; i < NGOROUTINES; i++)
		s->goroutines[i] = (struct gr_goroutine){
			.addr = i ? random_pointer(w) : 0x1234,
			.goid = i,
			.is_g0 = i == 0,
			.is_system = i == 1,
		};
	for (int i = 0; i < NSUDOGS; i++)
		s->sudogs[i] = (struct gr_own_sudog){
			.addr = random_pointer(w),
			.goroutine = below(w, NGOROUTINES),
		};
	w->f->sched.goroutines = s->goroutines;
	w->f->sched.ngoroutines = NGOROUTINES;
	s->waits = (struct gr_waits){ .sudogs = s->sudogs, .nsudogs = NSUDOGS };
	w->f->sched.waits = &s->waits;
}

/* Some of the first roots become regions, which may overlap. Half of the roots
 * are those of goroutines. */
static inline void change_roots(struct service *s)
{
	struct world *w = &s->w;

	for (int i = 0; i < NROOTS; i++) {
		struct gr_root *root = &w->roots.list.data[i];

		root->kind = below(w, GR_ROOT_ADDRESS + 1);
		if (below(w, 2))
			root->goroutine = below(w, NGOROUTINES);
		if (i >= NREGIONS)
			continue;
		root->form = GR_ROOT_REGION;
		root->addr = AREA + below(w, AREA_WORDS * 8);
		root->bytes = below(w, 20 * 8);
	}
}

/** A service by a seed, and what a walk of it reaches. */
static inline void service_init(struct service *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	world_init(&s->w, seed);
	make_goroutines(s);
	change_roots(s);
	s->owner = 2;
	s->w.roots.areas.areas = &s->w.area;
	s->w.roots.areas.owners = &s->owner;
	s->w.roots.areas.count = 1;
	walk(&s->w, true, &s->ledger, &s->m);
}

static inline void service_deinit(struct service *s)
{
	gr_marking_deinit(&s->m);
	world_deinit(&s->w);
}

/** The graph of a service. */
static inline struct gr_error *create(struct service *s, unsigned int nthreads,
				      uint64_t limit_bytes,
				      struct gr_heap_graph **ret)
{
	const struct gr_heap_graph_spec spec = {
		.heap = s->w.heap,
		.sched = &s->w.f->sched,
		.roots = &s->w.roots,
		.marking = &s->m,
		.limit_bytes = limit_bytes,
		.nthreads = nthreads,
	};

	*ret = NULL;
	return gr_heap_graph_create(&spec, ret);
}
