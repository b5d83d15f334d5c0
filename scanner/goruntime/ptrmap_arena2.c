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

static struct gr_error *plan(struct gr_runtime *rt, const struct gr_span *span)
{
	return gr_arena_map_plan(rt, span, 2);
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
	const uint8_t *map;
	bool more = true;

	for (; more && addr < span->limit_addr;
	     addr += nwords * GR_WORD_BYTES) {
		err = gr_arena_map_read(rt, addr, span->limit_addr, 2, &map,
					&nwords);
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
