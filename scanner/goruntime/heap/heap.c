// SPDX-License-Identifier: Apache-2.0
/*
 * This file builds the heap from its spans: allocation bits (mspan.isFree),
 * the page table, the spans' memory.
 */
#include "goruntime/heap/heap.h"

#include "base/cleanup.h"
#include "goruntime/heap/heap_arenas.h"
#include "goruntime/heap/spans.h"
#include "goruntime/types/typemask.h"

/* Each step of a loop that allocates memory stands for this many bytes. */
enum { BYTES_A_STEP = 128 };

static void raw_spans_cleanup(struct gr_raw_spans *v)
{
	gr_raw_spans_deinit(v);
}

/* Read the allocation bits of one span into @p ret: nelems bits. */
static struct gr_error *read_alloc_bits(struct gr_runtime *rt,
					const struct gr_raw_span *raw,
					uint64_t *ret)
{
	struct gr_error *err;
	uint32_t nelems = raw->span.nelems;
	uint64_t bytes = (nelems + 7) / 8;
	uint64_t freeindex = raw->span.freeindex;

	memset(ret, 0, gr_bitmap_words(nelems) * 8);
	if (freeindex < nelems) {
		err = gr_image_read(rt->image, raw->alloc_bits_addr, ret,
				    bytes);
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			// Without the bits, all slots count as in use, so
			// that no live object is lost.
			gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
			gr_bitmap_set_range(ret, 0, nelems);
		}
		if (err)
			return err;
	}
	gr_bitmap_set_range(ret, 0, freeindex);
	if (nelems % 64)
		ret[nelems / 64] &= (UINT64_C(1) << (nelems % 64)) - 1;
	return NULL;
}

/* Read the allocation bits of all spans. Each span starts a new word. */
static struct gr_error *read_all_bits(struct gr_heap *heap,
				      const struct gr_raw_spans *raws)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_error *err = NULL;
	uint64_t words = 0;

	for (size_t i = 0; i < raws->size; i++)
		words += gr_bitmap_words(raws->data[i].span.nelems);
	err = gr_image_want(rt->image, words * sizeof(*heap->alloc_words));
	if (err)
		return err;
	heap->alloc_words = malloc((words + 1) * sizeof(*heap->alloc_words));
	if (!heap->alloc_words)
		return &gr_enomem;
	words = 0;
	for (size_t i = 0; i < raws->size && !err; i++) {
		uint64_t n = gr_bitmap_words(raws->data[i].span.nelems);

		err = gr_runtime_step(rt, n + 1);
		if (!err)
			err = read_alloc_bits(rt, &raws->data[i],
					      heap->alloc_words + words);
		words += n;
	}
	return err;
}

struct gr_error *gr_heap_fill(struct gr_heap *heap)
{
	struct gr_runtime *rt = heap->rt;
	const uint64_t *bits = heap->alloc_words;

	struct gr_error *err = gr_image_want(rt->image, heap->nobjs / 8);
	if (err)
		return err;
	heap->allocated = gr_bitmap_alloc(heap->nobjs);
	if (!heap->allocated)
		return &gr_enomem;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint64_t count = gr_bitmap_count(bits, 0, span->nelems);

		heap->allocated_objects += count;
		heap->allocated_bytes += count * span->elem_bytes;
		err = gr_runtime_step(rt, 1 + span->nelems / 64);
		if (err)
			return err;
		for (uint32_t j = 0; j < span->nelems; j += 64)
			gr_bitmap_or(heap->allocated, span->first_obj + j,
				     *bits++);
	}
	free(heap->alloc_words);
	heap->alloc_words = NULL;
	return NULL;
}

/*
 * The kind of a span is that of its spanclass. The first span of a spanclass
 * defines the kind. Spans that differ from it, and all large spans, have kind
 * 0.
 */
static uint8_t kind_of(struct gr_heap *heap, const struct gr_span *span,
		       uint64_t npages)
{
	struct gr_span_kind kind = {
		.elem_bytes = span->elem_bytes,
		.magic = span->magic,
		.nelems = span->nelems,
		.is_noscan = span->is_noscan,
		.header_bytes = span->header_bytes,
		.least_bytes =
			span->is_noscan	   ? 0 :
			span->header_bytes ? UINT32_MAX :
					     (uint32_t)gr_least_bytes(
						     span->elem_bytes, false),
	};
	struct gr_span_kind *known = &heap->kinds[span->spanclass];

	if (span->spanclass >> 1 == 0 || span->nelems < 2 ||
	    npages > UINT8_MAX || span->elem_bytes > UINT16_MAX)
		return 0;
	if (!known->nelems)
		*known = kind;
	return known->elem_bytes == kind.elem_bytes &&
			       known->nelems == kind.nelems &&
			       known->header_bytes == kind.header_bytes ?
		       span->spanclass :
		       0;
}

/* Fill in the page table entries of a span: 24 bytes for each page of 8 kB. */
static struct gr_error *
fill_pages(struct gr_heap *heap, const struct gr_raw_span *raw, uint32_t number)
{
	const struct gr_span *span = &raw->span;
	uint8_t kind = kind_of(heap, span, raw->npages);
	uint32_t scan_page = span->first_word / GR_PAGE_WORDS;

	for (uint64_t i = 0; i < raw->npages; i++) {
		uint64_t addr = span->base_addr + (i << GR_PAGE_SHIFT);
		struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);
		uint32_t page = gr_page_in_chunk(addr);
		struct gr_error *err = gr_runtime_step(heap->rt, 1);

		if (err)
			return err;
		chunk->pages[page] = (struct gr_page){
			.first_obj = span->first_obj,
			.kind = kind,
			.page_in_span = i,
		};
		chunk->more[page] = (struct gr_page_more){
			.span = number + 1,
			.scan_page = span->is_noscan ? 0 : scan_page + i,
		};
	}
	return NULL;
}

/* This chunk stands for all chunks without a span. */
static struct gr_chunk empty_chunk;

/* Allocate the chunks that hold a span, unless they exist. */
static struct gr_error *make_chunks(struct gr_heap *heap,
				    const struct gr_raw_span *raw)
{
	uint64_t i =
		(raw->span.base_addr >> GR_ARENA_SHIFT) - heap->first_chunk;
	uint64_t last = ((gr_raw_span_end(raw) - 1) >> GR_ARENA_SHIFT) -
			heap->first_chunk;

	for (; i <= last; i++) {
		struct gr_error *err = gr_runtime_step(
			heap->rt, sizeof(*heap->chunks[i]) / BYTES_A_STEP);

		if (err)
			return err;
		if (!heap->chunks[i])
			heap->chunks[i] = calloc(1, sizeof(*heap->chunks[i]));
		if (!heap->chunks[i])
			return &gr_enomem;
	}
	return NULL;
}

static struct gr_error *build_page_table(struct gr_heap *heap,
					 const struct gr_raw_spans *raws)
{
	struct gr_error *err = NULL;

	if (!raws->size)
		return NULL;
	heap->first_chunk = raws->data[0].span.base_addr >> GR_ARENA_SHIFT;
	heap->nchunks = ((gr_raw_span_end(&raws->data[raws->size - 1]) - 1) >>
			 GR_ARENA_SHIFT) -
			heap->first_chunk + 1;
	heap->chunks = calloc(heap->nchunks, sizeof(*heap->chunks));
	if (!heap->chunks)
		return &gr_enomem;
	for (size_t i = 0; !err && i < raws->size; i++) {
		err = make_chunks(heap, &raws->data[i]);
		if (!err)
			err = fill_pages(heap, &raws->data[i], i);
	}
	for (uint64_t i = 0; i < heap->nchunks; i++)
		if (!heap->chunks[i])
			heap->chunks[i] = &empty_chunk;
	return err;
}

/* Look up the heapArena of every chunk that holds spans. */
static struct gr_error *read_arenas(struct gr_heap *heap)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_error *err;

	for (uint64_t i = 0; i < heap->nchunks; i++) {
		if (heap->chunks[i] == &empty_chunk)
			continue;
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = gr_heap_arena_record(
				rt, (heap->first_chunk + i) << GR_ARENA_SHIFT,
				&heap->chunks[i]->arena);
		if (err)
			return err;
		// A chunk with spans must have a heapArena, which may hold
		// the pointer masks.
		if (!heap->chunks[i]->arena)
			gr_gap_broken_list(rt->gaps, "mheap_.arenas");
	}
	return NULL;
}

/* Copy the spans from the raw vector into the heap. */
static struct gr_error *store_spans(struct gr_heap *heap,
				    const struct gr_raw_spans *raws)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_error *err;

	err = gr_image_want(rt->image, raws->size * sizeof(*heap->spans));
	if (err)
		return err;
	heap->spans =
		aligned_alloc(64, (raws->size + 1) * sizeof(*heap->spans));
	if (!heap->spans)
		return &gr_enomem;
	for (size_t i = 0; i < raws->size; i++) {
		struct gr_span *span = &heap->spans[i];

		*span = raws->data[i].span;
		err = gr_runtime_step(rt, 1);
		if (err)
			return err;
		if (span->is_noscan)
			continue;
		err = gr_image_plan(rt->image, span->base_addr,
				    gr_raw_span_end(&raws->data[i]));
		if (err)
			return err;
	}
	heap->nspans = raws->size;
	return NULL;
}

struct gr_error *gr_heap_plan_noscan(const struct gr_heap *heap)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		err = gr_runtime_step(heap->rt, 1);
		if (!err && span->is_noscan)
			err = gr_image_plan(heap->rt->image, span->base_addr,
					    span->limit_addr);
	}
	return err;
}

struct gr_error *gr_heap_read(struct gr_runtime *rt, struct gr_types *types,
			      struct gr_heap **ret)
{
	struct gr_error *err;
	struct gr_heap *heap = calloc(1, sizeof(*heap));
	_cleanup_(raw_spans_cleanup) struct gr_raw_spans raws = { 0 };

	*ret = heap;
	if (!heap)
		return &gr_enomem;
	heap->rt = rt;
	heap->types = types;
	err = gr_heap_check_geometry(&rt->layout);
	if (!err)
		err = gr_spans_read(heap, &raws);
	if (!err)
		gr_type_masks_limit(types, heap->nwords);
	if (!err)
		err = read_all_bits(heap, &raws);
	if (!err)
		err = build_page_table(heap, &raws);
	if (!err)
		err = read_arenas(heap);
	if (!err)
		err = store_spans(heap, &raws);
	return err;
}

/*
 * Note where the bytes of a span's pages are. The pages of a span without
 * bytes get kind 0.
 */
static struct gr_error *note_scan_pages(struct gr_heap *heap,
					const struct gr_span *span,
					uint64_t npages)
{
	for (uint64_t i = 0; i < npages; i++) {
		uint64_t addr = span->base_addr + (i << GR_PAGE_SHIFT);
		struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);
		uint32_t page = gr_page_in_chunk(addr);
		struct gr_error *err = gr_runtime_step(heap->rt, 1);

		if (err)
			return err;
		heap->scan_page_spans[chunk->more[page].scan_page] =
			span - heap->spans;
		if (span->host)
			chunk->more[page].host =
				span->host + (i << GR_PAGE_SHIFT);
		else
			chunk->pages[page].kind = 0;
	}
	return NULL;
}

struct gr_error *gr_heap_map(struct gr_heap *heap)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_error *err;

	err = gr_image_want(rt->image, heap->nwords / GR_PAGE_WORDS *
					       sizeof(*heap->scan_page_spans));
	if (err)
		return err;
	heap->scan_page_spans = calloc(heap->nwords / GR_PAGE_WORDS + 1,
				       sizeof(*heap->scan_page_spans));
	if (!heap->scan_page_spans)
		return &gr_enomem;
	heap->span_bytes = 0;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		struct gr_span *span = &heap->spans[i];
		uint64_t bytes = span->limit_addr - span->base_addr;

		heap->span_bytes += bytes;
		if (span->is_noscan)
			continue;
		bytes = (bytes + (1 << GR_PAGE_SHIFT) - 1) &
			~((UINT64_C(1) << GR_PAGE_SHIFT) - 1);
		err = gr_image_map_torn(rt->image, span->base_addr, bytes,
					&span->host);
		if (!err)
			err = note_scan_pages(heap, span,
					      bytes >> GR_PAGE_SHIFT);
		if (err)
			return err;
	}
	return NULL;
}

void gr_heap_destroy(struct gr_heap *heap)
{
	if (!heap)
		return;
	free(heap->alloc_words);
	free(heap->spans);
	gr_manual_span_vector_deinit(&heap->manual_spans);
	free(heap->allocated);
	// An unfinished table may have NULL in place of empty chunks.
	for (uint64_t i = 0; heap->chunks && i < heap->nchunks; i++)
		if (heap->chunks[i] != &empty_chunk)
			free(heap->chunks[i]);
	free(heap->chunks);
	free(heap->scan_page_spans);
	free(heap);
}

const struct gr_span *gr_heap_span_of(const struct gr_heap *heap, gr_obj obj)
{
	uint32_t low = 0, high = heap->nspans;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		if (heap->spans[mid].first_obj <= obj)
			low = mid;
		else
			high = mid;
	}
	return &heap->spans[low];
}

uint64_t gr_heap_object_addr(const struct gr_heap *heap, gr_obj obj)
{
	const struct gr_span *span = gr_heap_span_of(heap, obj);

	return gr_span_slot_addr(span, obj - span->first_obj) +
	       span->header_bytes;
}

bool gr_heap_is_synthetic_type(const struct gr_runtime *rt, uint64_t addr)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (addr >= rt->modules[i].types &&
		    addr < rt->modules[i].etypes)
			return false;
	return true;
}
