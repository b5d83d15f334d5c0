/* SPDX-License-Identifier: Apache-2.0 */
/**
 * pointer_bits: a scheme of pointer maps for heap_builder.h, in which the test
 * itself says which words are pointers.
 */
#pragma once

#include "goruntime/heap/ptrmap.h"

#include "heap_builder.h"

/** One bit for each word from HEAP on. The test allocates and frees it. */
static uint64_t *pointer_bits;

static inline struct gr_error *fill_words(const struct gr_heap *heap,
					  const struct gr_span *span,
					  uint64_t *words)
{
	uint64_t first = (span->base_addr - HEAP) / 8;

	(void)heap;
	for (uint64_t i = 0; i < span->nelems * span->elem_bytes / 8; i++)
		if (gr_bitmap_test(pointer_bits, first + i))
			gr_bitmap_set(words, span->first_word + i);
	return NULL;
}

static const struct gr_ptrmap_ops made_up_maps = { .name = "made up",
						   .fill = fill_words };
