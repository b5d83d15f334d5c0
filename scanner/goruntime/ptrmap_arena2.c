// SPDX-License-Identifier: Apache-2.0
/*
 * Up to Go 1.19: two bits a word in heapArena.bitmap: a byte describes four
 * words, the low half says "pointer", the high half "more to come". Words of
 * an object from the first one without "more to come" on hold no pointers, and
 * their bits are not kept clean. Source: runtime/mbitmap.go (heapBits).
 */
#include "goruntime/ptrmap.h"

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->heap_arena.bitmap) &&
	       !gr_field_is_present(layout->heap_arena.no_more_ptrs);
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
	    in_arena / 32 + *ret_words / 4 > rt->layout.heap_arena.bitmap.bytes)
		return 0;
	return arena + rt->layout.heap_arena.bitmap.off + in_arena / 32;
}

static struct gr_error *plan(struct gr_runtime *rt, const struct gr_span *span)
{
	struct gr_error *err = NULL;
	uint64_t addr = span->base_addr, words;

	for (; !err && addr < span->limit_addr; addr += words * GR_WORD_BYTES) {
		uint64_t map = map_piece(rt, addr, span->limit_addr, &words);
		if (map)
			err = gr_image_plan(rt->image, map,
					    map + (words + 3) / 4);
	}
	return err;
}

/*
 * Set the bits of words [first, end) of the piece, all of one object; false
 * when the object has no more pointers.
 */
static bool fill_object(const uint8_t *map, uint64_t first_word, uint64_t first,
			uint64_t end, uint64_t *words)
{
	for (uint64_t w = first; w < end; w++) {
		unsigned int bits = map[w / 4] >> (w % 4);
		if (!(bits >> 4 & 1))
			return false;
		if (bits & 1)
			gr_bitmap_set(words, first_word + w);
	}
	return true;
}

/* All objects of a span whose map lies in one piece. */
static void fill_piece(struct gr_runtime *rt, const struct gr_span *span,
		       const uint8_t *map, uint64_t *words)
{
	uint64_t elem_words = span->elem_bytes / GR_WORD_BYTES;

	for (uint32_t i = 0; i < span->nelems; i++)
		if (gr_heap_is_allocated(rt->heap, span->first_obj + i))
			fill_object(map, span->first_word, i * elem_words,
				    (i + 1) * elem_words, words);
}

static struct gr_error *fill(struct gr_runtime *rt, const struct gr_span *span,
			     uint64_t *words)
{
	struct gr_error *err;
	uint64_t addr = span->base_addr, nwords;
	bool more = true;

	for (; more && addr < span->limit_addr;
	     addr += nwords * GR_WORD_BYTES) {
		uint64_t at = map_piece(rt, addr, span->limit_addr, &nwords);
		const uint8_t *map = NULL;

		if (!at)
			gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
		err = at ? gr_image_map_torn(rt->image, at, (nwords + 3) / 4,
					     &map) :
			   NULL;
		if (err)
			return err;
		// Only a span of a single large object has several pieces.
		if (map && nwords * GR_WORD_BYTES ==
				   span->limit_addr - span->base_addr)
			fill_piece(rt, span, map, words);
		else if (map && gr_heap_is_allocated(rt->heap, span->first_obj))
			more = fill_object(map,
					   span->first_word +
						   (addr - span->base_addr) /
							   GR_WORD_BYTES,
					   0, nwords, words);
	}
	return NULL;
}

const struct gr_ptrmap_ops gr_ptrmap_arena2_ops = {
	.name = "two-bit arena bitmap",
	.detect = detect,
	.plan = plan,
	.fill = fill,
};
