// SPDX-License-Identifier: Apache-2.0
/*
 * Go 1.20 and 1.21 (and 1.22 without allocation headers): one bit a word in
 * heapArena.bitmap. noMorePtrs is only a hint where to stop early. Source:
 * runtime/mbitmap.go (heapBits), runtime/mheap.go (heapArena.noMorePtrs).
 */
#include "goruntime/ptrmap.h"

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->heap_arena.bitmap) &&
	       gr_field_is_present(layout->heap_arena.no_more_ptrs);
}

/*
 * The part of the map for the words from @p addr on: its address and the
 * words that it covers, at most to the end of the arena.
 */
static uint64_t map_piece(const struct gr_runtime *rt, uint64_t addr,
			  uint64_t end, uint64_t *ret_words)
{
	uint64_t arena = gr_heap_arena_at(rt->heap, addr);
	uint64_t in_arena = addr % (UINT64_C(1) << GR_ARENA_SHIFT);
	uint64_t left = (UINT64_C(1) << GR_ARENA_SHIFT) - in_arena;

	*ret_words = (end - addr < left ? end - addr : left) / GR_WORD_BYTES;
	if (!arena ||
	    in_arena / 64 + *ret_words / 8 > rt->layout.heap_arena.bitmap.bytes)
		return 0;
	return arena + rt->layout.heap_arena.bitmap.off + in_arena / 64;
}

static struct gr_error *plan(struct gr_runtime *rt, const struct gr_span *span)
{
	struct gr_error *err = NULL;
	uint64_t addr = span->base_addr, words;

	for (; !err && addr < span->limit_addr; addr += words * GR_WORD_BYTES) {
		uint64_t map = map_piece(rt, addr, span->limit_addr, &words);
		if (map)
			err = gr_image_plan(rt->image, map,
					    map + (words + 7) / 8);
	}
	return err;
}

static struct gr_error *fill(struct gr_runtime *rt, const struct gr_span *span,
			     uint64_t *words)
{
	struct gr_error *err;
	uint64_t addr = span->base_addr, nwords;

	for (; addr < span->limit_addr; addr += nwords * GR_WORD_BYTES) {
		uint64_t at = map_piece(rt, addr, span->limit_addr, &nwords);
		uint64_t first = span->first_word +
				 (addr - span->base_addr) / GR_WORD_BYTES;
		const uint8_t *map;

		if (!at) {
			gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
			continue;
		}
		err = gr_image_map_torn(rt->image, at, (nwords + 7) / 8, &map);
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
