// SPDX-License-Identifier: Apache-2.0
/* This file finds heapArena.bitmap, which has one or two bits per word. */
#include "goruntime/heap/ptrmap.h"
#include "inferior/recorder.h"

/*
 * The address of the part of the map for the words from @p addr on, and the
 * number of words that it covers. The part ends with the arena at the latest.
 */
static uint64_t map_piece(const struct gr_heap *heap, uint64_t addr,
			  uint64_t end, unsigned int bits, uint64_t *ret_words)
{
	const struct gr_field *bitmap = &heap->rt->layout.heap_arena.bitmap;
	uint64_t arena = gr_heap_arena_at(heap, addr);
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

struct gr_error *gr_arena_map_plan(const struct gr_heap *heap,
				   const struct gr_span *span,
				   unsigned int bits)
{
	struct gr_runtime *rt = heap->rt;
	struct gr_error *err = NULL;
	uint64_t addr = span->base_addr, nwords;

	for (; !err && addr < span->limit_addr;
	     addr += nwords * GR_WORD_BYTES) {
		uint64_t map =
			map_piece(heap, addr, span->limit_addr, bits, &nwords);
		err = gr_runtime_step(rt, 1);
		if (!err && map)
			err = gr_image_plan(rt->image, map,
					    map + map_bytes(nwords, bits));
	}
	return err;
}

struct gr_error *gr_arena_map_read(const struct gr_heap *heap, uint64_t addr,
				   uint64_t end, unsigned int bits,
				   const uint8_t **ret, uint64_t *ret_words)
{
	struct gr_runtime *rt = heap->rt;
	uint64_t map = map_piece(heap, addr, end, bits, ret_words);

	*ret = NULL;
	if (map) {
		uint64_t bytes = map_bytes(*ret_words, bits);
		struct gr_error *err =
			gr_image_map_torn(rt->image, map, bytes, ret);

		if (!err && *ret)
			gr_recorder_note(rt->recorder, *ret, bytes);
		return err;
	}
	gr_gap_add(rt->gaps, GR_GAP_BAD_SPANS, 1);
	return NULL;
}
