/* SPDX-License-Identifier: Apache-2.0 */
/** spans: the runtime's list of spans, read for the heap's tables. */
#ifndef GR_SPANS_H
#define GR_SPANS_H

#include "base/vector.h"
#include "goruntime/heap/heap.h"

/** A span, with the members that are needed only while the heap is read. */
struct gr_raw_span {
	struct gr_span span;
	uint64_t npages;
	uint64_t alloc_bits_addr;
	uint64_t freeindex;
};
GR_VECTOR(gr_raw_spans, struct gr_raw_span);

/** The end of the span's last page. */
static inline uint64_t gr_raw_span_end(const struct gr_raw_span *raw)
{
	return raw->span.base_addr + (raw->npages << GR_PAGE_SHIFT);
}

/**
 * Read mheap.allspans. The result has the spans in use in address order,
 * without overlaps, and their objects and words are numbered. Sets nobjs,
 * nwords and cached_* of @p heap. Invalid descriptors are gaps.
 */
struct gr_error *gr_spans_read(struct gr_heap *heap,
			       struct gr_raw_spans *ret) GR_MUST_CHECK;

#endif /* GR_SPANS_H */
