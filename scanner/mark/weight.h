/* SPDX-License-Identifier: Apache-2.0 */
/**
 * weight: the size of an object: the bytes of its slot, or the words that the
 * collector scans.
 *
 * The collector scans an object from the start of its slot, malloc header
 * included, up to the last word that its pointer map has; objects without
 * pointers are not scanned. The sum over all objects that a collection marks is
 * the runtime's scan work (runtime/mgcmark.go: scanobject; gcw.heapScanWork),
 * which it shows as the metric /gc/scan/heap:bytes. The runtime counts more if
 * it scans a dense span of small objects at once, since Go 1.26 on processors
 * with such instructions (scanSpan: whole slots), and less for an object of
 * more than 128 KiB that has stretches without pointers (oblets).
 */
#ifndef GR_WEIGHT_H
#define GR_WEIGHT_H

#include "goruntime/heap/heap.h"

#define GR_WEIGHTS(X)     \
	X(BYTES, "bytes") \
	X(POINTERS, "pointers")

enum gr_weight {
#define X(id, name) GR_WEIGHT_##id,
	GR_WEIGHTS(X)
#undef X
};

/**
 * The words that the collector scans of a slot of @p nwords words: up to the
 * last pointer.
 *
 * @param map Pointer bits (gr_ptrmap_build()), before a walk has cleared any.
 * @param first The bit of the slot's first word.
 */
static inline uint64_t gr_scanned_words(const uint64_t *map, uint64_t first,
					uint64_t nwords)
{
	for (uint64_t end = nwords, start; end; end = start) {
		start = end > 64 ? end - 64 : 0;
		uint64_t bits =
			gr_bitmap_extract(map, first + start, end - start);
		if (bits)
			return start + 64 - __builtin_clzll(bits);
	}
	return 0;
}

/**
 * The sizes of the slots of one span after the other. All members but heap and
 * weight are zero at first.
 */
struct gr_span_sizes {
	const struct gr_heap *heap;
	enum gr_weight weight;
	const struct gr_span *span;
	uint64_t *map; /**< Pointer bits of the span. NULL: it has none. */
};

/** Go to a span. The runtime is polled. */
struct gr_error *gr_span_sizes_begin(struct gr_span_sizes *sizes,
				     const struct gr_span *span) GR_MUST_CHECK;
void gr_span_sizes_deinit(struct gr_span_sizes *sizes);

/** The size of slot @p index, allocated or free. */
static inline uint64_t gr_span_size(const struct gr_span_sizes *sizes,
				    uint32_t index)
{
	uint64_t bytes = sizes->span->elem_bytes;

	if (GR_LIKELY(sizes->weight == GR_WEIGHT_BYTES))
		return bytes;
	return sizes->map ? gr_scanned_words(sizes->map,
					     index * bytes / GR_WORD_BYTES,
					     bytes / GR_WORD_BYTES) :
			    0;
}

/** The size of all allocated objects together. */
struct gr_error *gr_allocated_size(const struct gr_heap *heap,
				   enum gr_weight weight,
				   uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_WEIGHT_H */
