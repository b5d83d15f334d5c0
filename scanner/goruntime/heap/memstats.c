// SPDX-License-Identifier: Apache-2.0
/*
 * HeapAlloc and HeapObjects as the runtime would report them. Source:
 * runtime/mstats.go (readmemstats_m, heapStatsDelta, consistentHeapStats).
 */
#include "goruntime/heap/heap.h"

#include "base/cleanup.h"

enum { GENERATIONS = 3, MAX_CLASSES = 256 };

/* Sum one counter, or element `i` of an array of them, over generations. */
static uint64_t sum(const uint8_t *stats, uint64_t stride,
		    struct gr_field field, uint64_t i)
{
	uint64_t total = 0;

	// A single generation may be negative; the sum is modulo 2^64.
	for (unsigned int g = 0; g < GENERATIONS; g++)
		total += gr_load_u64(stats + g * stride + field.off + i * 8);
	return total;
}

static void add_up(struct gr_heap *heap, const struct gr_layout *layout,
		   const uint8_t *stats, const uint8_t *sizes)
{
	const typeof(layout->heap_stats_delta) *f = &layout->heap_stats_delta;
	uint64_t stride = f->size_bytes;

	heap->stats_bytes = sum(stats, stride, f->large_alloc, 0) -
			    sum(stats, stride, f->large_free, 0) +
			    heap->cached_bytes;
	heap->stats_objects = sum(stats, stride, f->large_alloc_count, 0) -
			      sum(stats, stride, f->large_free_count, 0) +
			      heap->cached_objects;
	// Bounded by the bytes of the record.
	for (uint64_t i = 0; i < f->small_alloc_count.bytes / 8; i++) {
		uint64_t n = sum(stats, stride, f->small_alloc_count, i) -
			     sum(stats, stride, f->small_free_count, i);
		heap->stats_objects += n;
		heap->stats_bytes += n * gr_load_u16(sizes + 2 * i);
	}
	heap->has_stats = true;
}

struct gr_error *gr_heap_read_stats(struct gr_heap *heap)
{
	struct gr_runtime *rt = heap->rt;
	const struct gr_layout *layout = &rt->layout;
	const typeof(layout->heap_stats_delta) *f = &layout->heap_stats_delta;
	uint64_t bytes = layout->mstats.heap_stats.bytes;
	uint64_t classes = f->small_alloc_count.bytes / 8;
	struct gr_error *err;

	if (!layout->vars.memstats || !layout->vars.class_to_size ||
	    !f->size_bytes || bytes != GENERATIONS * f->size_bytes ||
	    bytes > 1 << 20 || !classes || classes > MAX_CLASSES ||
	    f->small_free_count.bytes / 8 != classes ||
	    f->large_alloc.bytes != 8 || f->large_free.bytes != 8 ||
	    f->large_alloc_count.bytes != 8 || f->large_free_count.bytes != 8)
		return NULL;
	_cleanup_free_ uint8_t *stats = malloc(bytes);
	uint8_t sizes[2 * MAX_CLASSES];
	if (!stats)
		return &gr_enomem;
	err = gr_image_read(rt->image,
			    layout->vars.memstats +
				    layout->mstats.heap_stats.off,
			    stats, bytes);
	if (!err)
		err = gr_image_read(rt->image, layout->vars.class_to_size,
				    sizes, classes * 2);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (!err)
		add_up(heap, layout, stats, sizes);
	return err;
}
