/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ptrmap_fixture: a heap of spans made up here, for the tests of the schemes
 * of pointer maps, and a naive look at what they make of it.
 */
#pragma once

#include "fake_image.h"
#include "goruntime/heap/ptrmap.h"
#include "goruntime/types/typemask.h"
#include "goruntime/types/types.h"
#include "suite.h"
#include "abi_type_layout.h"

enum {
	PAGE = 1 << GR_PAGE_SHIFT,
	PAGE_WORDS = PAGE / 8,
	TYPES = 0x500000,
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

static inline struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->heap.rt = &f->rt;
	assert_null(gr_types_create(&f->rt, &f->heap.types));
	f->rt.poll = suite_poll;
	f->rt.layout.consts.arena_bytes = ARENA;
	f->heap.spans = f->spans;
	f->heap.first_chunk = HEAP >> GR_ARENA_SHIFT;
	f->heap.nchunks = NARENAS;
	f->heap.chunks = f->chunks;
	for (uint32_t i = 0; i < NARENAS; i++) {
		f->chunks[i] = &f->chunk[i];
		f->chunk[i].arena = ARENA_RECORD(i);
	}
	return f;
}

static inline void teardown(struct fixture *f)
{
	gr_types_destroy(f->heap.types);
	fake_deinit(&f->image);
	free(f->heap.allocated);
	free(f->words);
	free(f);
}

/* A span whose memory is there, with every slot in use. */
static inline struct gr_span *add_span(struct fixture *f, uint64_t base,
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
	free(f->heap.allocated);
	f->heap.allocated = gr_bitmap_alloc(f->heap.nobjs);
	assert_non_null(f->heap.allocated);
	gr_bitmap_set_range(f->heap.allocated, 0, f->heap.nobjs);
	return span;
}

static inline void release_slot(struct fixture *f, gr_obj obj)
{
	gr_bitmap_clear(f->heap.allocated, obj);
}

static inline void fill_random(uint8_t *bytes, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = suite_random(seed) >> 21;
}

/* A span alone has the bits that it has among all, and counts no gap again. */
static inline void check_span_alone(const struct fixture *f,
				    const struct gr_span *span)
{
	struct gr_gaps before = f->gaps;
	uint64_t *alone = NULL;

	assert_null(gr_ptrmap_build_span(&f->heap, span, &alone));
	for (uint64_t i = 0;
	     i < (span->limit_addr - span->base_addr) / GR_WORD_BYTES; i++)
		assert_int_equal(gr_bitmap_test(alone, i),
				 !span->is_noscan &&
					 gr_bitmap_test(f->words,
							span->first_word + i));
	assert_memory_equal(&f->gaps, &before, sizeof(before));
	free(alone);
}

static inline void build(struct fixture *f, const struct gr_ptrmap_ops *ops)
{
	f->heap.ptrmap = ops;
	free(f->words);
	f->words = NULL;
	assert_null(gr_ptrmap_build(&f->heap, 64, &f->words));
	assert_non_null(f->words);
	// The words past those of the heap belong to others.
	assert_int_equal(gr_bitmap_next(f->words, f->heap.nwords,
					f->heap.nwords + 64),
			 f->heap.nwords + 64);
	for (uint32_t i = 0; i < f->heap.nspans; i++)
		check_span_alone(f, &f->spans[i]);
}

/* Word `i` of the span is a pointer or not; free slots do not matter. */
static inline void check_word(const struct fixture *f,
			      const struct gr_span *span, uint64_t i, bool want)
{
	if (gr_bitmap_test(f->words, span->first_word + i) != want)
		fail_msg("word %u of element %u is %d",
			 (unsigned int)(i % (span->elem_bytes / 8)),
			 (unsigned int)(i / (span->elem_bytes / 8)), !want);
}

static inline uint64_t span_words(const struct gr_span *span)
{
	return (span->limit_addr - span->base_addr) / 8;
}

#define FIXTURE struct fixture *f, setup, teardown
