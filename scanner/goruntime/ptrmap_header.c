// SPDX-License-Identifier: Apache-2.0
/*
 * Go 1.22 and later (allocation headers): a bitmap at the end of spans of
 * small elements, a type word before larger ones, mspan.largeType for one
 * element spans. Source: runtime/mbitmap.go (heapBitsInSpan, typePointersOf,
 * spanHeapBitsRange), runtime/mgcmark_greenteagc.go (inline mark bits).
 */
#include "goruntime/ptrmap.h"
#include "goruntime/typemask.h"

enum { PAGE_BYTES = 1 << GR_PAGE_SHIFT, INLINE_MARK_BYTES = 128 };

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->mspan.large_type) &&
	       !gr_field_is_present(layout->heap_arena.bitmap);
}

/*
 * Does the span keep inline mark bits at its end (Green Tea)? The bit of its
 * first page in heapArena.pageUseSpanInlineMarkBits tells.
 */
static struct gr_error *has_inline_marks(struct gr_runtime *rt,
					 const struct gr_span *span, bool *ret)
{
	struct gr_field field = rt->layout.heap_arena.page_inline_marks;
	struct gr_error *err;
	uint64_t byte;
	uint64_t page = (span->base_addr >> GR_PAGE_SHIFT) %
			(rt->layout.consts.arena_bytes >> GR_PAGE_SHIFT);

	*ret = false;
	uint64_t arena = gr_heap_arena_at(rt->heap, span->base_addr);
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

static struct gr_error *plan(struct gr_runtime *rt, const struct gr_span *span)
{
	struct gr_field field = rt->layout.heap_arena.page_inline_marks;
	struct gr_error *err = NULL;

	uint64_t arena = gr_heap_arena_at(rt->heap, span->base_addr);

	if (gr_field_is_present(field) && arena)
		err = gr_image_plan(rt->image, arena + field.off,
				    arena + field.off + field.bytes);
	// A large type may be synthetic, with its mask behind it.
	if (!err && span->large_type && rt->layout.has.tflag_unrolled)
		err = gr_image_plan(rt->image, span->large_type,
				    span->large_type +
					    rt->layout.type.size_bytes +
					    span->elem_bytes / 64 + 8);
	return err;
}

/* Bits at the end of a one-page span of elements of at most 512 bytes. */
static struct gr_error *fill_small(struct gr_runtime *rt,
				   const struct gr_span *span, uint64_t *words)
{
	struct gr_error *err;
	bool is_inline;
	uint64_t nwords = (span->limit_addr - span->base_addr) / GR_WORD_BYTES;
	uint64_t off = PAGE_BYTES - PAGE_BYTES / 64;

	err = has_inline_marks(rt, span, &is_inline);
	if (err)
		return err;
	if (is_inline)
		off -= INLINE_MARK_BYTES;
	if (off > PAGE_BYTES || nwords > PAGE_BYTES / GR_WORD_BYTES) {
		gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
		return NULL;
	}
	for (uint64_t w = 0; w < nwords; w += 64) {
		uint64_t bits = gr_load_u64(span->host + off + w / 8);
		if (nwords - w < 64)
			bits &= (UINT64_C(1) << (nwords - w)) - 1;
		words[(span->first_word + w) / 64] = bits;
	}
	return NULL;
}

/* The mask at @p first, again and again, over [first, end) in words. */
static void repeat_mask(const struct gr_type_mask *mask, uint64_t *words,
			uint64_t first, uint64_t end)
{
	uint64_t stride = mask->size_bytes / GR_WORD_BYTES;

	if (!mask->nwords || !stride)
		return;
	for (; first < end; first += stride)
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

static struct gr_error *fill_typed(struct gr_runtime *rt,
				   const struct gr_span *span, uint64_t type,
				   uint64_t off_bytes, uint64_t bytes,
				   uint64_t *words)
{
	const struct gr_type_mask *mask = NULL;
	struct gr_error *err;

	if (!type)
		return NULL; // Being initialised: no pointers yet.
	err = gr_type_mask_get(rt, type, &mask);
	if (!err && mask) {
		uint64_t first = span->first_word + off_bytes / GR_WORD_BYTES;
		repeat_mask(mask, words, first, first + bytes / GR_WORD_BYTES);
	}
	return err;
}

static struct gr_error *
fill_headers(struct gr_runtime *rt, const struct gr_span *span, uint64_t *words)
{
	uint64_t header = span->header_bytes;

	for (uint32_t i = 0; i < span->nelems; i++) {
		uint64_t off = i * span->elem_bytes;

		if (!gr_heap_is_allocated(rt->heap, span->first_obj + i))
			continue;
		struct gr_error *err = fill_typed(
			rt, span, gr_load_u64(span->host + off), off + header,
			span->elem_bytes - header, words);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *fill(struct gr_runtime *rt, const struct gr_span *span,
			     uint64_t *words)
{
	if (span->spanclass >> 1 == 0)
		return fill_typed(rt, span, span->large_type, 0,
				  span->elem_bytes, words);
	if (span->header_bytes)
		return fill_headers(rt, span, words);
	return fill_small(rt, span, words);
}

const struct gr_ptrmap_ops gr_ptrmap_header_ops = {
	.name = "malloc headers",
	.detect = detect,
	.plan = plan,
	.fill = fill,
};
