// SPDX-License-Identifier: Apache-2.0
#include "resident/pieces.h"

#include "goruntime/memory/page_bits.h"
#include "mark/marking.h"
#include "resident/c_pages.h"
#include "scan/stop.h"

static void add(struct gr_pieces *p, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	if (start < end)
		p->add(p->ctx, class, start, end);
}

enum gr_rss_class gr_pieces_class_of(const struct gr_pieces *p, gr_obj obj)
{
	if (!gr_heap_is_allocated(p->heap, obj))
		return GR_RSS_FREE_SLOTS;
	return gr_marking_is_reached(p->marking, obj) ? GR_RSS_LIVE :
							GR_RSS_GARBAGE;
}

/* Add [start, end), which lies in a span in use. */
static struct gr_error *add_span(struct gr_pieces *p,
				 const struct gr_span *span, uint64_t start,
				 uint64_t end)
{
	while (start < end && start < span->limit_addr) {
		uint32_t i = gr_span_index(span, start - span->base_addr);
		uint64_t stop = gr_span_slot_addr(span, i + 1);
		struct gr_error *err = gr_runtime_step(p->heap->rt, 1);

		if (err)
			return err;
		if (stop > end)
			stop = end;
		add(p, gr_pieces_class_of(p, span->first_obj + i), start, stop);
		start = stop;
	}
	add(p, GR_RSS_TAILS, start, end);
	return NULL;
}

/* Add [start, end), which lies in one page that no span has. */
static void add_free_page(struct gr_pieces *p, uint64_t start, uint64_t end)
{
	enum gr_page_state state = gr_page_bits_at(p->page_bits, start);

	if (state == GR_PAGE_FREE)
		p->returnable_bytes += end - start;
	add(p, state == GR_PAGE_SCAVENGED ? GR_RSS_SCAVENGED : GR_RSS_IDLE,
	    start, end);
}

/* Add [start, end), which lies in one page of an arena without a span in use. */
static void add_other_page(struct gr_pieces *p, uint64_t start, uint64_t end)
{
	const struct gr_manual_span_vector *spans = &p->heap->manual_spans;
	size_t n = gr_count_before(spans->size, i,
				   spans->data[i].base_addr <= start);

	if (!n || spans->data[n - 1].end_addr <= start)
		add_free_page(p, start, end);
	else
		add(p,
		    spans->data[n - 1].is_stack ? GR_RSS_STACKS :
						  GR_RSS_RUNTIME_SPANS,
		    start, end);
}

/* Add resident memory of an arena, page by page of the heap. */
static struct gr_error *add_arena(struct gr_pieces *p, uint64_t start,
				  uint64_t end)
{
	while (start < end) {
		const struct gr_span *span = gr_heap_span_at(p->heap, start);
		uint64_t stop = (start | (GR_HEAP_PAGE_BYTES - 1)) + 1;
		struct gr_error *err = gr_runtime_step(p->heap->rt, 1);

		if (stop > end)
			stop = end;
		if (!err && span && p->marking)
			err = add_span(p, span, start, stop);
		else if (!err && span)
			add(p, GR_RSS_LIVE, start, stop);
		else if (!err)
			add_other_page(p, start, stop);
		if (err)
			return err;
		start = stop;
	}
	return NULL;
}

/* Add memory that is not the runtime's: it may be in blocks of malloc. */
static void add_foreign(struct gr_pieces *p, enum gr_rss_class class,
			uint64_t start, uint64_t end)
{
	uint64_t stop;

	// Bounded by the range: stop lies behind start.
	for (; start < end; start = stop) {
		bool is_block =
			gr_c_blocks_have(p->c_blocks, start, end, &stop);

		add(p, is_block ? GR_RSS_C_HEAP : class, start, stop);
	}
}

/* Add memory outside of the arenas. What no mapping explains may be the
 * runtime's own, or malloc's; and the kernel may have joined the runtime's
 * memory with a stack beside it. */
static struct gr_error *add_rest(struct gr_pieces *p, enum gr_rss_class class,
				 uint64_t start, uint64_t end)
{
	static const enum gr_rss_class classes[] = {
		[GR_SYS_SPANS] = GR_RSS_RUNTIME_RECORDS,
		[GR_SYS_CACHES] = GR_RSS_RUNTIME_CACHES,
		[GR_SYS_ARENAS] = GR_RSS_RUNTIME_ARENAS,
		[GR_SYS_PAGES] = GR_RSS_RUNTIME_PAGES,
		[GR_SYS_GC_BITS] = GR_RSS_RUNTIME_GC_BITS,
		[GR_SYS_PROFILE] = GR_RSS_RUNTIME_PROFILE,
		[GR_SYS_OTHER] = GR_RSS_RUNTIME,
	};
	struct gr_error *err = NULL;
	uint64_t stop;

	if (class != GR_RSS_ANONYMOUS && class != GR_RSS_UNKNOWN &&
	    class != GR_RSS_RUNTIME && class != GR_RSS_THREAD_STACKS) {
		add(p, class, start, end);
		return NULL;
	}
	for (; !err && start < end; start = stop) {
		enum gr_sys_kind kind =
			gr_sys_memory_at(p->sys_memory, start, end, &stop);

		if (kind == GR_SYS_NONE)
			add_foreign(p, class, start, stop);
		else
			add(p, classes[kind], start, stop);
		err = gr_runtime_step(p->heap->rt, 1);
	}
	return err;
}

/* Add memory outside of the arenas of Go: first what allocators of C have. */
static struct gr_error *add_outside(struct gr_pieces *p,
				    enum gr_rss_class class, uint64_t start,
				    uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t stop;

	// Bounded by the range: stop lies behind start.
	for (; !err && start < end; start = stop) {
		const struct gr_native_range *range =
			gr_c_pages_next(p->c_pages, start);
		bool is_inside = range && range->start <= start;

		stop = !range ? end : is_inside ? range->end : range->start;
		if (stop > end)
			stop = end;
		err = is_inside ? gr_c_pages_add(p->c_pages, p, start, stop) :
				  add_rest(p, class, start, stop);
		if (!err)
			err = gr_runtime_step(p->heap->rt, 1);
	}
	return err;
}

/* Add resident memory of a mapping, which may have arenas of the Go heap. */
static struct gr_error *add_range(struct gr_pieces *p, enum gr_rss_class class,
				  uint64_t start, uint64_t end)
{
	const uint64_t arena = UINT64_C(1) << GR_ARENA_SHIFT;
	struct gr_error *err = NULL;

	while (!err && start < end) {
		uint64_t stop = (start | (arena - 1)) + 1;

		if (stop > end || !stop) // the last page of the address space
			stop = end;
		bool is_arena = gr_heap_arenas_have(p->arenas, start);
		if (is_arena && p->has_no_spans)
			add(p, GR_RSS_LIVE, start, stop);
		else if (is_arena)
			err = add_arena(p, start, stop);
		else
			err = add_outside(p, class, start, stop);
		if (!err)
			err = gr_runtime_step(p->heap->rt, 1);
		start = stop;
	}
	return err;
}

struct gr_error *gr_pieces_walk(struct gr_pieces *p,
				const struct gr_residency *r,
				const uint8_t *classes)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];

		if (range->is_zeros)
			add(p, GR_RSS_ZEROS, range->start, range->end);
		else
			err = add_range(p, classes[range->mapping],
					range->start, range->end);
	}
	return err;
}
