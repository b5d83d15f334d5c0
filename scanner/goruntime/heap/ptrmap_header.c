// SPDX-License-Identifier: Apache-2.0
/*
 * Go 1.22 and later uses allocation headers. Spans of small elements have a
 * bitmap at their end. Larger elements have a type word before them. Spans of
 * one element have mspan.largeType. Source: runtime/mbitmap.go
 * (heapBitsInSpan, typePointersOf, spanHeapBitsRange),
 * runtime/mgcmark_greenteagc.go (inline mark bits).
 */
#include "goruntime/heap/ptrmap.h"
#include "goruntime/types/typemask.h"
#include "inferior/recorder.h"

enum { PAGE_BYTES = 1 << GR_PAGE_SHIFT, INLINE_MARK_BYTES = 128 };

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->mspan.large_type) &&
	       !gr_field_is_present(layout->heap_arena.bitmap);
}

/*
 * Does the span keep inline mark bits at its end (Green Tea)? If so, the bit
 * of its first page in heapArena.pageUseSpanInlineMarkBits is set.
 */
static struct gr_error *has_inline_marks(const struct gr_heap *heap,
					 const struct gr_span *span, bool *ret)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_field field = rt->layout.heap_arena.page_inline_marks;
	struct gr_error *err;
	uint64_t byte;
	uint64_t page = (span->base_addr >> GR_PAGE_SHIFT) %
			(rt->layout.consts.arena_bytes >> GR_PAGE_SHIFT);

	*ret = false;
	uint64_t arena = gr_heap_arena_at(heap, span->base_addr);
	if (!gr_field_is_present(field) || !arena || page / 8 >= field.bytes)
		return NULL;
	err = gr_image_read_uint(rt->image, arena + field.off + page / 8, 1,
				 &byte);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
		return NULL;
	}
	if (!err)
		*ret = byte >> (page % 8) & 1;
	return err;
}

static struct gr_error *plan(const struct gr_heap *heap,
			     const struct gr_span *span)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_field field = rt->layout.heap_arena.page_inline_marks;
	struct gr_error *err = NULL;

	uint64_t arena = gr_heap_arena_at(heap, span->base_addr);

	if (gr_field_is_present(field) && arena)
		err = gr_image_plan(rt->image, arena + field.off,
				    arena + field.off + field.bytes);
	// A large type may be synthetic: then its mask follows the record.
	if (!err && span->large_type && rt->layout.has.tflag_unrolled)
		err = gr_image_plan(rt->image, span->large_type,
				    span->large_type +
					    rt->layout.type.size_bytes +
					    span->elem_bytes / 64 + 8);
	return err;
}

/*
 * Copy the bits at the end of a one-page span, whose elements have at most 512
 * bytes.
 */
static struct gr_error *fill_small(const struct gr_heap *heap,
				   const struct gr_span *span, uint64_t *words)
{
	struct gr_error *err;
	bool is_inline;
	uint64_t nwords = (span->limit_addr - span->base_addr) / GR_WORD_BYTES;
	uint64_t off = PAGE_BYTES - PAGE_BYTES / 64;

	err = has_inline_marks(heap, span, &is_inline);
	if (err)
		return err;
	if (is_inline)
		off -= INLINE_MARK_BYTES;
	if (off > PAGE_BYTES || nwords > PAGE_BYTES / GR_WORD_BYTES) {
		gr_gap_add(heap->rt->gaps, GR_GAP_BAD_SPANS, 1);
		return NULL;
	}
	gr_recorder_note(heap->rt->recorder, span->host + off,
			 (nwords + 63) / 64 * 8);
	for (uint64_t w = 0; w < nwords; w += 64) {
		uint64_t bits = gr_load_u64(span->host + off + w / 8);
		if (nwords - w < 64)
			bits &= (UINT64_C(1) << (nwords - w)) - 1;
		words[(span->first_word + w) / 64] = bits;
	}
	return NULL;
}

/* Repeat the mask over the words [first, end). */
static struct gr_error *repeat_mask(struct gr_runtime *rt,
				    const struct gr_type_mask *mask,
				    uint64_t *words, uint64_t first,
				    uint64_t end)
{
	uint64_t stride = mask->size_bytes / GR_WORD_BYTES;

	if (!mask->nwords || !stride)
		return NULL;
	for (; first < end; first += stride) {
		struct gr_error *err =
			gr_runtime_step(rt, mask->nwords / 1024 + 1);

		if (err)
			return err;
		for (uint64_t w = 0; w < mask->nwords && first + w < end;
		     w += 64) {
			uint64_t n = mask->nwords - w;
			if (n > end - first - w)
				n = end - first - w;
			gr_bitmap_or(words, first + w,
				     gr_bitmap_extract(mask->bits, w,
						       n < 64 ? n : 64));
		}
	}
	return NULL;
}

static struct gr_error *fill_typed(const struct gr_heap *heap,
				   const struct gr_span *span, uint64_t type,
				   uint64_t off_bytes, uint64_t bytes,
				   uint64_t *words)
{
	struct gr_runtime *rt = heap->rt;
	const struct gr_type_mask *mask = NULL;
	struct gr_error *err;

	if (!type)
		return NULL; // The object is being initialised: no pointers.
	err = gr_type_mask_get(heap->types, type, &mask);
	if (!err && mask) {
		uint64_t first = span->first_word + off_bytes / GR_WORD_BYTES;
		err = repeat_mask(rt, mask, words, first,
				  first + bytes / GR_WORD_BYTES);
	}
	return err;
}

static struct gr_error *fill_headers(const struct gr_heap *heap,
				     const struct gr_span *span,
				     uint64_t *words)
{
	uint64_t header = span->header_bytes;

	for (uint32_t i = 0; i < span->nelems; i++) {
		uint64_t off = i * span->elem_bytes;
		struct gr_error *err = i % 64 ? NULL :
						gr_runtime_step(heap->rt, 1);

		if (err)
			return err;
		if (!gr_heap_is_allocated(heap, span->first_obj + i))
			continue;
		gr_recorder_note(heap->rt->recorder, span->host + off,
				 GR_WORD_BYTES);
		err = fill_typed(heap, span, gr_load_u64(span->host + off),
				 off + header, span->elem_bytes - header,
				 words);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *fill(const struct gr_heap *heap,
			     const struct gr_span *span, uint64_t *words)
{
	if (span->spanclass >> 1 == 0)
		return fill_typed(heap, span, span->large_type, 0,
				  span->elem_bytes, words);
	if (span->header_bytes)
		return fill_headers(heap, span, words);
	return fill_small(heap, span, words);
}

const struct gr_ptrmap_ops gr_ptrmap_header_ops = {
	.name = "malloc headers",
	.detect = detect,
	.plan = plan,
	.fill = fill,
};
