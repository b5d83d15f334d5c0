// SPDX-License-Identifier: Apache-2.0
/* A heap of made-up mspan records, for the tests that read one. */
#pragma once

#include "goruntime/heap/heap.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/types/types.h"

#include "fake_image.h"
#include "suite.h"

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
	struct gr_types *types;
	struct gr_heap *heap;
	struct gr_sched sched;
	uint64_t nmspans;
};

/** A span as a test describes it; zeros mean the usual values. */
struct shape {
	uint64_t base, npages, elem_bytes;
	uint32_t nelems;
	uint8_t spanclass;
	uint8_t state; /* 0: in use */
	uint16_t freeindex;
	uint64_t alloc_bits;
	uint32_t sweepgen; /* 0: swept */
};

#define SPAN(base_, npages_, elem_bytes_, nelems_, spanclass_, ...) \
	((struct shape){ .base = base_,                             \
			 .npages = npages_,                         \
			 .elem_bytes = elem_bytes_,                 \
			 .nelems = nelems_,                         \
			 .spanclass = spanclass_,                   \
			 ##__VA_ARGS__ })

static inline void set_layout(struct gr_layout *layout)
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

static inline struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->sched.rt = &f->rt;
	f->rt.poll = suite_poll;
	assert_null(gr_types_create(&f->rt, &f->types));
	set_layout(&f->rt.layout);
	fake_add(&f->image, MHEAP, 64);
	fake_add(&f->image, SPAN_LIST, MAX_MSPANS * 8);
	fake_add(&f->image, MSPANS, MAX_MSPANS * MSPAN_BYTES);
	fake_add(&f->image, BITS, 0x10000);
	fake_add(&f->image, ARENA_MAP, (HEAP / ARENA + 256) * 8);
	fake_set(&f->image, MHEAP, SPAN_LIST, 8);
	fake_set(&f->image, MHEAP + 24, SWEEPGEN, 4);
	fake_set(&f->image, MHEAP + 32, ARENA_MAP, 8);
	return f;
}

static inline void teardown(struct fixture *f)
{
	gr_types_destroy(f->types);
	gr_heap_destroy(f->heap);
	fake_deinit(&f->image);
	free(f);
}

static inline void put_span(struct fixture *f, struct shape s)
{
	uint64_t addr = MSPANS + f->nmspans * MSPAN_BYTES;

	assert_true(f->nmspans < MAX_MSPANS);
	fake_set(&f->image, SPAN_LIST + f->nmspans++ * 8, addr, 8);
	fake_words(&f->image, MHEAP + 8, f->nmspans, MAX_MSPANS);
	fake_words(&f->image, addr, s.base, s.npages);
	fake_set(&f->image, addr + 16, s.freeindex, 2);
	fake_set(&f->image, addr + 20, s.nelems, 4);
	fake_set(&f->image, addr + 24, s.alloc_bits ? s.alloc_bits : BITS, 8);
	fake_set(&f->image, addr + 32, s.sweepgen ? s.sweepgen : SWEEPGEN, 4);
	fake_set(&f->image, addr + 36, s.spanclass, 1);
	fake_set(&f->image, addr + 37, s.state ? s.state : IN_USE, 1);
	fake_set(&f->image, addr + 40, s.elem_bytes, 8);
}

static inline struct gr_heap *read_heap(struct fixture *f)
{
	struct gr_error *err = gr_heap_read(&f->rt, f->types, &f->heap);

	if (!err)
		err = gr_heap_fill(f->heap);
	assert_null(err);
	return f->heap;
}

/* The object of an address, by going through all spans. */
static inline gr_obj naive_object(const struct gr_heap *heap, uint64_t addr)
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

static inline void check_address(const struct gr_heap *heap, uint64_t addr,
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

#define FIXTURE struct fixture *f, setup, teardown
