// SPDX-License-Identifier: Apache-2.0
/*
 * Go up to 1.19 keeps two bits per word in heapArena.bitmap. A byte describes
 * four words: the low half holds the "pointer" bits, the high half the "more
 * to come" bits. From the first word without "more to come" on, an object has
 * no pointers, and the bits of those words may be stale. Source:
 * runtime/mbitmap.go (heapBits).
 */
#include "goruntime/heap/ptrmap.h"

static bool detect(const struct gr_layout *layout)
{
	return gr_field_is_present(layout->heap_arena.bitmap) &&
	       !gr_field_is_present(layout->heap_arena.no_more_ptrs);
}

static struct gr_error *plan(const struct gr_heap *heap,
			     const struct gr_span *span)
{
	return gr_arena_map_plan(heap, span, 2);
}

/*
 * Set the bits of words [first, end) of the piece, which belong to one object.
 * @return false when the object has no more pointers.
 */
static bool fill_object(const uint8_t *map, uint64_t first_word, uint64_t first,
			uint64_t end, uint64_t *words)
{
	// Bounded by the piece of the map that its caller has paid for.
	for (uint64_t w = first; w < end; w++) {
		unsigned int bits = map[w / 4] >> (w % 4);
		if (!(bits >> 4 & 1))
			return false;
		if (bits & 1)
			gr_bitmap_set(words, first_word + w);
	}
	return true;
}

/*
 * Set the bits of the objects in a piece of a span: @p nwords from word @p at on.
 * An object may lie in two pieces: those of two arenas.
 *
 * @param more Has the object that began before the piece more pointers?
 * @return the same of the last object.
 */
static bool fill_piece(const struct gr_heap *heap, const struct gr_span *span,
		       const uint8_t *map, uint64_t at, uint64_t nwords,
		       bool more, uint64_t *words)
{
	uint64_t elem_words = span->elem_bytes / GR_WORD_BYTES;

	// Bounded by the piece of the map that its caller has paid for.
	for (uint64_t i = at / elem_words;
	     i < span->nelems && i * elem_words < at + nwords; i++) {
		uint64_t start = i * elem_words, end = start + elem_words;

		if (end > at + nwords)
			end = at + nwords;
		more |= start >= at;
		start = start > at ? start : at;
		if (more && gr_heap_is_allocated(heap, span->first_obj + i))
			more = fill_object(map, span->first_word + at,
					   start - at, end - at, words);
	}
	return more;
}

static struct gr_error *fill(const struct gr_heap *heap,
			     const struct gr_span *span, uint64_t *words)
{
	struct gr_error *err;
	uint64_t addr = span->base_addr, nwords;
	const uint8_t *map;
	bool more = true;

	for (; (more || span->nelems > 1) && addr < span->limit_addr;
	     addr += nwords * GR_WORD_BYTES) {
		err = gr_arena_map_read(heap, addr, span->limit_addr, 2, &map,
					&nwords);
		if (!err)
			err = gr_runtime_step(heap->rt, nwords / 64 + 1);
		if (err)
			return err;
		if (map)
			more = fill_piece(heap, span, map,
					  (addr - span->base_addr) /
						  GR_WORD_BYTES,
					  nwords, more, words);
	}
	return NULL;
}

const struct gr_ptrmap_ops gr_ptrmap_arena2_ops = {
	.name = "two-bit arena bitmap",
	.detect = detect,
	.plan = plan,
	.fill = fill,
};
