// SPDX-License-Identifier: Apache-2.0
/*
 * Go 1.20 and 1.21 (and 1.22 without allocation headers) keep one bit per word
 * in heapArena.bitmap. noMorePtrs only hints where a scan may stop. Source:
 * runtime/mbitmap.go (heapBits), runtime/mheap.go (heapArena.noMorePtrs).
 */
#include "goruntime/heap/ptrmap.h"

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->heap_arena.bitmap) &&
	       gr_field_is_present(layout->heap_arena.no_more_ptrs);
}

static struct gr_error *plan(const struct gr_heap *heap,
			     const struct gr_span *span)
{
	return gr_arena_map_plan(heap, span, 1);
}

static struct gr_error *fill(const struct gr_heap *heap,
			     const struct gr_span *span, uint64_t *words)
{
	struct gr_error *err;
	uint64_t addr = span->base_addr, nwords;
	const uint8_t *map;

	for (; addr < span->limit_addr; addr += nwords * GR_WORD_BYTES) {
		uint64_t first = span->first_word +
				 (addr - span->base_addr) / GR_WORD_BYTES;

		err = gr_arena_map_read(heap, addr, span->limit_addr, 1, &map,
					&nwords);
		if (!err)
			err = gr_runtime_step(heap->rt, nwords / 64 + 1);
		if (err)
			return err;
		for (uint64_t w = 0; map && w < nwords; w += 8)
			((uint8_t *)words)[(first + w) / 8] = map[w / 8];
	}
	return NULL;
}

const struct gr_ptrmap_ops gr_ptrmap_arena1_ops = {
	.name = "one-bit arena bitmap",
	.detect = detect,
	.plan = plan,
	.fill = fill,
};
