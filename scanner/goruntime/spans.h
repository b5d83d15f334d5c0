/* SPDX-License-Identifier: Apache-2.0 */
/** spans: the runtime's list of spans, on its way into the heap's tables. */
#ifndef GR_SPANS_H
#define GR_SPANS_H

#include "base/vector.h"
#include "goruntime/heap.h"

/** A span and what is needed of it only while the heap is read. */
struct gr_raw_span {
	struct gr_span span;
	uint64_t npages;
	uint64_t alloc_bits_addr;
	uint64_t freeindex;
};
GR_VECTOR(gr_raw_spans, struct gr_raw_span);

/** The end of its last page. */
static inline uint64_t gr_raw_span_end(const struct gr_raw_span *raw)
{
	return raw->span.base_addr + (raw->npages << GR_PAGE_SHIFT);
}

/** Whether to go on, asked now and then in a loop over spans. */
static inline struct gr_error *gr_spans_poll(struct gr_runtime *rt, uint64_t i)
{
	return i % 4096 ? NULL : rt->poll(rt->poll_ctx);
}

/**
 * Read mheap.allspans: the spans in use, by address, none overlapping, their
 * objects and words numbered; sets nobjs, nwords and cached_* of rt->heap.
 * Descriptors that make no sense are gaps.
 */
struct gr_error *gr_spans_read(struct gr_runtime *rt,
			       struct gr_raw_spans *ret) GR_MUST_CHECK;

#endif /* GR_SPANS_H */
