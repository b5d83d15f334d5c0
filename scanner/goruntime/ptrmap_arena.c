// SPDX-License-Identifier: Apache-2.0
/* heapArena.bitmap, of one bit or two a word: where it lies. */
#include "goruntime/ptrmap.h"

/*
 * The part of the map for the words from @p addr on: its address and the
 * words that it covers, at most to the end of the arena.
 */
static uint64_t map_piece(const struct gr_runtime *rt, uint64_t addr,
			  uint64_t end, unsigned int bits, uint64_t *ret_words)
{
	const struct gr_field *bitmap = &rt->layout.heap_arena.bitmap;
	uint64_t arena = gr_heap_arena_at(rt->heap, addr);
	uint64_t in_arena = addr % (UINT64_C(1) << GR_ARENA_SHIFT);
	uint64_t left = (UINT64_C(1) << GR_ARENA_SHIFT) - in_arena;
	uint64_t first = in_arena / GR_WORD_BYTES * bits / 8;

	*ret_words = (end - addr < left ? end - addr : left) / GR_WORD_BYTES;
	if (!arena || first + *ret_words * bits / 8 > bitmap->bytes)
		return 0;
	return arena + bitmap->off + first;
}

static uint64_t map_bytes(uint64_t nwords, unsigned int bits)
{
	return (nwords * bits + 7) / 8;
}

struct gr_error *gr_arena_map_plan(struct gr_runtime *rt,
				   const struct gr_span *span,
				   unsigned int bits)
{
	struct gr_error *err = NULL;
	uint64_t addr = span->base_addr, nwords;

	for (; !err && addr < span->limit_addr;
	     addr += nwords * GR_WORD_BYTES) {
		uint64_t map =
			map_piece(rt, addr, span->limit_addr, bits, &nwords);
		if (map)
			err = gr_image_plan(rt->image, map,
					    map + map_bytes(nwords, bits));
	}
	return err;
}

struct gr_error *gr_arena_map_read(struct gr_runtime *rt, uint64_t addr,
				   uint64_t end, unsigned int bits,
				   const uint8_t **ret, uint64_t *ret_words)
{
	uint64_t map = map_piece(rt, addr, end, bits, ret_words);

	*ret = NULL;
	if (map)
		return gr_image_map_torn(rt->image, map,
					 map_bytes(*ret_words, bits), ret);
	gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
	return NULL;
}
