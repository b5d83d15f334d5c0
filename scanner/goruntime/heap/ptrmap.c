// SPDX-License-Identifier: Apache-2.0
#include "goruntime/heap/ptrmap.h"

#include "base/cleanup.h"
#include "goruntime/heap/touch.h"

/* The newest scheme comes first. */
static const struct gr_ptrmap_ops *const schemes[] = {
	&gr_ptrmap_header_ops,
	&gr_ptrmap_arena1_ops,
	&gr_ptrmap_arena2_ops,
};

const struct gr_ptrmap_ops *gr_ptrmap_find(const struct gr_layout *layout)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(schemes); i++)
		if (schemes[i]->detect(layout))
			return schemes[i];
	return NULL;
}

struct gr_error *gr_ptrmap_prepare(struct gr_heap *heap)
{
	struct gr_runtime *rt = heap->rt;

	heap->ptrmap = gr_ptrmap_find(&rt->layout);
	if (!heap->ptrmap)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "this runtime keeps its pointer maps in "
				       "a way that is not known");
	if (!heap->ptrmap->plan)
		return NULL;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		if (heap->spans[i].is_noscan)
			continue;
		struct gr_error *err = gr_runtime_step(rt, 1);

		if (!err)
			err = heap->ptrmap->plan(heap, &heap->spans[i]);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *fill_all(const struct gr_heap *heap, uint64_t *words)
{
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		if (span->is_noscan || !span->host)
			continue;
		struct gr_error *err = gr_runtime_step(heap->rt, 2);

		if (!err)
			err = heap->ptrmap->fill(heap, span, words);
		if (err)
			return err;
	}
	return NULL;
}

struct gr_error *gr_ptrmap_build(const struct gr_heap *heap,
				 uint64_t extra_words, uint64_t **ret)
{
	_cleanup_free_ uint64_t *words = NULL;
	struct gr_touch touch;
	struct gr_error *err = gr_image_want(heap->rt->image,
					     (heap->nwords + extra_words) / 8);

	if (err)
		return err;
	words = gr_bitmap_alloc(heap->nwords + extra_words);
	if (!words)
		return &gr_enomem;
	gr_touch_begin(&touch, heap);
	err = fill_all(heap, words);
	gr_touch_end(&touch);
	if (!err)
		*ret = steal_ptr(words);
	return err;
}

struct gr_error *gr_ptrmap_build_span(const struct gr_heap *heap,
				      const struct gr_span *span,
				      uint64_t **ret)
{
	struct gr_runtime *rt = heap->rt;
	uint64_t nwords =
		(span->limit_addr - span->base_addr) / GR_WORD_BYTES + 64;
	struct gr_gaps before = *rt->gaps;
	struct gr_span alone = *span;
	_cleanup_free_ uint64_t *words = NULL;
	struct gr_error *err = gr_image_want(rt->image, nwords / 8);

	if (err)
		return err;
	words = gr_bitmap_alloc(nwords);
	if (!words)
		return &gr_enomem;
	alone.first_word = 0;
	if (!span->is_noscan && span->host)
		err = heap->ptrmap->fill(heap, &alone, words);
	// The map of the whole heap has counted the gaps of this span.
	gr_gaps_end_walk(rt->gaps, &before);
	if (!err)
		*ret = steal_ptr(words);
	return err;
}
