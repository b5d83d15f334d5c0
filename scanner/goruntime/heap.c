// SPDX-License-Identifier: Apache-2.0
/*
 * The heap, from its spans: allocation bits (mspan.isFree), the states of
 * objects, the page table, the spans' memory.
 */
#include "goruntime/heap.h"

#include "base/cleanup.h"
#include "goruntime/spans.h"

#include <inttypes.h>

static void raw_spans_cleanup(struct gr_raw_spans *v)
{
	gr_raw_spans_deinit(v);
}

/* Allocation bits of one span, as a bitmap of nelems bits, into @p ret. */
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
			// Lost bits mean "in use": nothing live is lost.
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

static void set_allocated(uint8_t *states, const uint64_t *bits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i += 64) {
		uint64_t word = bits[i / 64];
		if (word == UINT64_MAX)
			memset(states + i, GR_OBJECT_ALLOCATED, 64);
		else
			for (; word; word &= word - 1)
				states[i + __builtin_ctzll(word)] =
					GR_OBJECT_ALLOCATED;
	}
}

/* The allocation bits of all spans, each from a word of its own on. */
static struct gr_error *read_all_bits(struct gr_runtime *rt,
				      const struct gr_raw_spans *raws)
{
	struct gr_heap *heap = rt->heap;
	struct gr_error *err = NULL;
	uint64_t words = 0;

	for (size_t i = 0; i < raws->size; i++)
		words += gr_bitmap_words(raws->data[i].span.nelems);
	heap->alloc_words = malloc((words + 1) * sizeof(*heap->alloc_words));
	if (!heap->alloc_words)
		return &gr_enomem;
	words = 0;
	for (size_t i = 0; i < raws->size && !err; i++) {
		err = gr_spans_poll(rt, i);
		if (!err)
			err = read_alloc_bits(rt, &raws->data[i],
					      heap->alloc_words + words);
		words += gr_bitmap_words(raws->data[i].span.nelems);
	}
	return err;
}

struct gr_error *gr_heap_fill(struct gr_runtime *rt)
{
	struct gr_heap *heap = rt->heap;
	const uint64_t *bits = heap->alloc_words;

	heap->states = gr_huge_calloc((size_t)heap->nobjs + 8, 1);
	if (!heap->states)
		return &gr_enomem;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		struct gr_error *err = gr_spans_poll(rt, i);

		if (err)
			return err;
		uint64_t count = gr_bitmap_count(bits, 0, span->nelems);
		heap->allocated_objects += count;
		heap->allocated_bytes += count * span->elem_bytes;
		set_allocated(&heap->states[span->first_obj], bits,
			      span->nelems);
		bits += gr_bitmap_words(span->nelems);
	}
	free(heap->alloc_words);
	heap->alloc_words = NULL;
	return NULL;
}

/*
 * The kind of a span: that of its spanclass, made of the first such span. What
 * is unlike it, and every large span, has kind 0.
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
			span->elem_bytes < 32 ?
					     1 :
					     GR_LEAST_BYTES(span->elem_bytes),
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

/* The entries of the pages of a span. */
static void fill_pages(struct gr_heap *heap, const struct gr_raw_span *raw,
		       uint32_t number)
{
	const struct gr_span *span = &raw->span;
	uint8_t kind = kind_of(heap, span, raw->npages);
	uint32_t scan_page = span->first_word / GR_PAGE_WORDS;

	for (uint64_t i = 0; i < raw->npages; i++) {
		uint64_t addr = span->base_addr + (i << GR_PAGE_SHIFT);
		struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);
		uint32_t page = gr_page_in_chunk(addr);

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
}

/* Where no span is. */
static struct gr_chunk empty_chunk;

/* The chunks that hold a span, made if they are new. */
static bool make_chunks(struct gr_heap *heap, const struct gr_raw_span *raw)
{
	uint64_t i =
		(raw->span.base_addr >> GR_ARENA_SHIFT) - heap->first_chunk;
	uint64_t last = ((gr_raw_span_end(raw) - 1) >> GR_ARENA_SHIFT) -
			heap->first_chunk;

	for (; i <= last; i++) {
		if (!heap->chunks[i])
			heap->chunks[i] = calloc(1, sizeof(*heap->chunks[i]));
		if (!heap->chunks[i])
			return false;
	}
	return true;
}

static struct gr_error *build_page_table(struct gr_heap *heap,
					 const struct gr_raw_spans *raws)
{
	if (!raws->size)
		return NULL;
	heap->first_chunk = raws->data[0].span.base_addr >> GR_ARENA_SHIFT;
	heap->nchunks = ((gr_raw_span_end(&raws->data[raws->size - 1]) - 1) >>
			 GR_ARENA_SHIFT) -
			heap->first_chunk + 1;
	heap->chunks = calloc(heap->nchunks, sizeof(*heap->chunks));
	if (!heap->chunks)
		return &gr_enomem;
	for (size_t i = 0; i < raws->size; i++) {
		if (!make_chunks(heap, &raws->data[i]))
			return &gr_enomem;
		fill_pages(heap, &raws->data[i], i);
	}
	for (uint64_t i = 0; i < heap->nchunks; i++)
		if (!heap->chunks[i])
			heap->chunks[i] = &empty_chunk;
	return NULL;
}

/*
 * The runtime.heapArena of an address (runtime/mheap.go: arenaIndex): 0 if
 * the runtime has none there.
 */
static struct gr_error *arena_of(struct gr_runtime *rt, uint64_t addr,
				 uint64_t *ret)
{
	const struct gr_layout *layout = &rt->layout;
	struct gr_error *err;
	uint64_t l2;
	uint64_t index = (addr - (uint64_t)layout->consts.arena_base) /
			 layout->consts.arena_bytes;
	uint64_t l1 = index >> layout->consts.arena_l2_bits;

	*ret = 0;
	if (layout->consts.arena_l1_bits ? l1 >> layout->consts.arena_l1_bits :
					   l1 != 0)
		return NULL;
	index &= (UINT64_C(1) << layout->consts.arena_l2_bits) - 1;
	err = gr_image_read_u64(
		rt->image,
		layout->vars.mheap + layout->mheap.arenas.off + l1 * 8, &l2);
	if (!err)
		err = gr_image_read_u64(rt->image, l2 + index * 8, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

/* Look up the heapArena of every chunk that holds spans. */
static struct gr_error *read_arenas(struct gr_runtime *rt)
{
	struct gr_heap *heap = rt->heap;
	struct gr_error *err;

	for (uint64_t i = 0; i < heap->nchunks; i++) {
		if (heap->chunks[i] == &empty_chunk)
			continue;
		err = arena_of(rt, (heap->first_chunk + i) << GR_ARENA_SHIFT,
			       &heap->chunks[i]->arena);
		if (err)
			return err;
		// Spans lie there: it has one, and the masks may be in it.
		if (!heap->chunks[i]->arena)
			gr_gap_broken_list(rt->gaps, "mheap_.arenas");
	}
	return NULL;
}

/* Hand the spans over from the raw vector. */
static struct gr_error *store_spans(struct gr_runtime *rt,
				    const struct gr_raw_spans *raws)
{
	struct gr_heap *heap = rt->heap;
	struct gr_error *err;

	heap->spans =
		aligned_alloc(64, (raws->size + 1) * sizeof(*heap->spans));
	if (!heap->spans)
		return &gr_enomem;
	for (size_t i = 0; i < raws->size; i++) {
		struct gr_span *span = &heap->spans[i];

		*span = raws->data[i].span;
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

static struct gr_error *check_constants(const struct gr_layout *layout)
{
	if (layout->consts.page_bytes != 1 << GR_PAGE_SHIFT ||
	    layout->consts.arena_bytes != 1 << GR_ARENA_SHIFT ||
	    layout->consts.arena_l1_bits < 0 ||
	    layout->consts.arena_l1_bits > 16 ||
	    layout->consts.arena_l2_bits <= 0 ||
	    layout->consts.arena_l2_bits > 48)
		return gr_error_format(
			GR_ERROR_LAYOUT,
			"unknown page or arena geometry (page %" PRId64
			" bytes, arena %" PRId64 ")",
			layout->consts.page_bytes, layout->consts.arena_bytes);
	return NULL;
}

struct gr_error *gr_heap_read(struct gr_runtime *rt)
{
	struct gr_error *err;
	_cleanup_(raw_spans_cleanup) struct gr_raw_spans raws = { 0 };

	rt->heap = calloc(1, sizeof(*rt->heap));
	if (!rt->heap)
		return &gr_enomem;
	err = check_constants(&rt->layout);
	if (!err)
		err = gr_spans_read(rt, &raws);
	if (!err)
		err = read_all_bits(rt, &raws);
	if (!err)
		err = build_page_table(rt->heap, &raws);
	if (!err)
		err = read_arenas(rt);
	if (!err)
		err = store_spans(rt, &raws);
	return err;
}

/* Where the bytes of a span's pages lie; without them it has no kind. */
static void note_scan_pages(struct gr_heap *heap, const struct gr_span *span,
			    uint64_t npages)
{
	for (uint64_t i = 0; i < npages; i++) {
		uint64_t addr = span->base_addr + (i << GR_PAGE_SHIFT);
		struct gr_chunk *chunk = gr_heap_chunk_at(heap, addr);
		uint32_t page = gr_page_in_chunk(addr);

		heap->scan_page_spans[chunk->more[page].scan_page] =
			span - heap->spans;
		if (span->host)
			chunk->more[page].host =
				span->host + (i << GR_PAGE_SHIFT);
		else
			chunk->pages[page].kind = 0;
	}
}

struct gr_error *gr_heap_map(struct gr_runtime *rt)
{
	struct gr_heap *heap = rt->heap;
	struct gr_error *err;

	heap->scan_page_spans = calloc(heap->nwords / GR_PAGE_WORDS + 1,
				       sizeof(*heap->scan_page_spans));
	if (!heap->scan_page_spans)
		return &gr_enomem;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		struct gr_span *span = &heap->spans[i];
		uint64_t bytes = span->limit_addr - span->base_addr;

		if (span->is_noscan)
			continue;
		bytes = (bytes + (1 << GR_PAGE_SHIFT) - 1) &
			~((UINT64_C(1) << GR_PAGE_SHIFT) - 1);
		err = gr_spans_poll(rt, i);
		if (!err)
			err = gr_image_map_torn(rt->image, span->base_addr,
						bytes, &span->host);
		if (err)
			return err;
		note_scan_pages(heap, span, bytes >> GR_PAGE_SHIFT);
	}
	return NULL;
}

void gr_heap_destroy(struct gr_heap *heap)
{
	if (!heap)
		return;
	free(heap->alloc_words);
	free(heap->spans);
	free(heap->states);
	// What was not finished has no chunks between those of spans.
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
