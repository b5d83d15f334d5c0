// SPDX-License-Identifier: Apache-2.0
#include "resident/rss.h"

#include "mark/marking.h"
#include "resident/c_pages.h"
#include "resident/classes.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/mark.h"
#include "scan/residency.h"

/** The sums, as they grow. */
struct adder {
	const struct gr_heap *heap;
	const struct gr_marking *marking; /* NULL: objects are not told apart */
	const struct gr_heap_arenas *arenas;
	const struct gr_page_bits *page_bits;
	const struct gr_c_blocks *c_blocks;
	const struct gr_c_pages *c_pages;
	const struct gr_sys_memory *sys_memory;
	uint64_t returnable_bytes;
	uint64_t bytes[GR_NRSS_CLASSES];
};

static void add(struct adder *a, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	if (start < end)
		a->bytes[class] += end - start;
}

/* The class of a slot. */
static enum gr_rss_class class_of(const struct adder *a, gr_obj obj)
{
	if (!gr_heap_is_allocated(a->heap, obj))
		return GR_RSS_FREE_SLOTS;
	return gr_marking_is_reached(a->marking, obj) ? GR_RSS_LIVE :
							GR_RSS_GARBAGE;
}

/* Add [start, end), which lies in a span in use. */
static struct gr_error *add_span(struct adder *a, const struct gr_span *span,
				 uint64_t start, uint64_t end)
{
	while (start < end && start < span->limit_addr) {
		uint32_t i = gr_span_index(span, start - span->base_addr);
		uint64_t stop = gr_span_slot_addr(span, i + 1);
		struct gr_error *err = gr_runtime_step(a->heap->rt, 1);

		if (err)
			return err;
		if (stop > end)
			stop = end;
		add(a, class_of(a, span->first_obj + i), start, stop);
		start = stop;
	}
	add(a, GR_RSS_TAILS, start, end);
	return NULL;
}

/* Add [start, end), which lies in one page that no span has. */
static void add_free_page(struct adder *a, uint64_t start, uint64_t end)
{
	enum gr_page_state state = gr_page_bits_at(a->page_bits, start);

	if (state == GR_PAGE_FREE)
		a->returnable_bytes += end - start;
	add(a, state == GR_PAGE_SCAVENGED ? GR_RSS_SCAVENGED : GR_RSS_IDLE,
	    start, end);
}

/* Add [start, end), which lies in one page of an arena without a span in use. */
static void add_other_page(struct adder *a, uint64_t start, uint64_t end)
{
	const struct gr_manual_span_vector *spans = &a->heap->manual_spans;
	size_t n = gr_count_before(spans->size, i,
				   spans->data[i].base_addr <= start);

	if (!n || spans->data[n - 1].end_addr <= start)
		add_free_page(a, start, end);
	else
		add(a,
		    spans->data[n - 1].is_stack ? GR_RSS_STACKS :
						  GR_RSS_RUNTIME_SPANS,
		    start, end);
}

/* Add resident memory of an arena, page by page of the heap. */
static struct gr_error *add_arena(struct adder *a, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct gr_span *span = gr_heap_span_at(a->heap, start);
		uint64_t stop = (start | (GR_HEAP_PAGE_BYTES - 1)) + 1;
		struct gr_error *err = gr_runtime_step(a->heap->rt, 1);

		if (stop > end)
			stop = end;
		if (!err && span && a->marking)
			err = add_span(a, span, start, stop);
		else if (!err && span)
			add(a, GR_RSS_LIVE, start, stop);
		else if (!err)
			add_other_page(a, start, stop);
		if (err)
			return err;
		start = stop;
	}
	return NULL;
}

/* Add memory that is not the runtime's: it may be in blocks of malloc. */
static void add_foreign(struct adder *a, enum gr_rss_class class,
			uint64_t start, uint64_t end)
{
	uint64_t stop;

	// Bounded by the range: stop lies behind start.
	for (; start < end; start = stop) {
		bool is_block =
			gr_c_blocks_have(a->c_blocks, start, end, &stop);

		add(a, is_block ? GR_RSS_C_HEAP : class, start, stop);
	}
}

/* Add memory outside of the arenas. What no mapping explains may be the
 * runtime's own, or malloc's; and the kernel may have joined the runtime's
 * memory with a stack beside it. */
static struct gr_error *add_rest(struct adder *a, enum gr_rss_class class,
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

	if (class != GR_RSS_UNKNOWN && class != GR_RSS_RUNTIME &&
	    class != GR_RSS_THREAD_STACKS) {
		add(a, class, start, end);
		return NULL;
	}
	for (; !err && start < end; start = stop) {
		enum gr_sys_kind kind =
			gr_sys_memory_at(a->sys_memory, start, end, &stop);

		if (kind == GR_SYS_NONE)
			add_foreign(a, class, start, stop);
		else
			add(a, classes[kind], start, stop);
		err = gr_runtime_step(a->heap->rt, 1);
	}
	return err;
}

/* Add memory outside of the arenas of Go: first what allocators of C have. */
static struct gr_error *add_outside(struct adder *a, enum gr_rss_class class,
				    uint64_t start, uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t stop;

	// Bounded by the range: stop lies behind start.
	for (; !err && start < end; start = stop) {
		const struct gr_native_range *range =
			gr_c_pages_next(a->c_pages, start);
		bool is_inside = range && range->start <= start;

		stop = !range ? end : is_inside ? range->end : range->start;
		if (stop > end)
			stop = end;
		err = is_inside ? gr_c_pages_add(a->c_pages, a->heap->rt, start,
						 stop, a->bytes) :
				  add_rest(a, class, start, stop);
		if (!err)
			err = gr_runtime_step(a->heap->rt, 1);
	}
	return err;
}

/* Add resident memory of a mapping, which may have arenas of the Go heap. */
static struct gr_error *add_range(struct adder *a, enum gr_rss_class class,
				  uint64_t start, uint64_t end)
{
	const uint64_t arena = UINT64_C(1) << GR_ARENA_SHIFT;
	struct gr_error *err = NULL;

	while (!err && start < end) {
		uint64_t stop = (start | (arena - 1)) + 1;

		if (stop > end || !stop) // the last page of the address space
			stop = end;
		if (gr_heap_arenas_have(a->arenas, start))
			err = add_arena(a, start, stop);
		else
			err = add_outside(a, class, start, stop);
		if (!err)
			err = gr_runtime_step(a->heap->rt, 1);
		start = stop;
	}
	return err;
}

static struct gr_error *add_all(struct adder *a, const struct gr_residency *r,
				const uint8_t *classes, struct gr_rss *rss)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		uint64_t bytes = range->end - range->start;

		rss->total_bytes += bytes;
		if (range->is_anonymous)
			rss->anonymous_bytes += bytes;
		if (range->is_zeros)
			add(a, GR_RSS_ZEROS, range->start, range->end);
		else
			err = add_range(a, classes[range->mapping],
					range->start, range->end);
	}
	return err;
}

/* Count the slots in use that are not reached. */
static struct gr_error *count_garbage(const struct adder *a, struct gr_rss *rss)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < a->heap->nspans; i++) {
		const struct gr_span *span = &a->heap->spans[i];

		err = gr_runtime_step(a->heap->rt, span->nelems);
		for (uint32_t k = 0; !err && k < span->nelems; k++)
			if (class_of(a, span->first_obj + k) == GR_RSS_GARBAGE)
				rss->garbage_bytes += span->elem_bytes;
	}
	return err;
}

static void fill_rows(const struct adder *a, enum gr_residency_kind kind,
		      struct gr_rss *rss)
{
	static const char *const texts[][2] = {
#define X(id, name, text) { name, text },
		GR_RSS_CLASSES(X)
#undef X
	};

	rss->residency = gr_residency_name(kind);
	for (size_t i = 0; i < GR_NRSS_CLASSES; i++)
		rss->rows[i] = (struct gr_rss_row){ texts[i][0], texts[i][1],
						    a->bytes[i] };
}

/* Estimate what the scavenger could give back, and what was never touched. */
static void fill_estimates(const struct adder *a,
			   const struct gr_residency *residency,
			   struct gr_rss *rss)
{
	uint64_t touched = a->bytes[GR_RSS_LIVE] + a->bytes[GR_RSS_GARBAGE];
	bool is_known = residency->kind != GR_RESIDENCY_UNKNOWN;

	rss->returnable_bytes = is_known && a->page_bits->chunks_addr ?
					a->returnable_bytes :
					UINT64_MAX;
	// Pages in swap were touched.
	rss->untouched_bytes = is_known && a->marking &&
					       !residency->swapped_bytes &&
					       touched <= rss->allocated_bytes ?
				       rss->allocated_bytes - touched :
				       UINT64_MAX;
}

/* Find out which objects are reached. */
static struct gr_error *mark(struct gr_answers *answers,
			     struct gr_marking *marking, struct gr_gaps *gaps)
{
	struct gr_stop *stop = answers->stop;
	static const struct gr_walk_options options = { .max_depth = 1,
							.max_nodes = 1 };
	struct gr_gaps before = stop->gaps;
	struct gr_ledger unused = { 0 };

	gr_kept_walk_drop(answers);
	gr_answers_make_room(answers);
	struct gr_error *err =
		gr_answers_mark(answers, &options, false, &unused, marking);
	*gaps = stop->gaps;
	gr_gaps_end_walk(&stop->gaps, &before);
	return err;
}

static struct gr_error *answer(struct gr_answers *answers, bool is_marked,
			       struct gr_rss *rss)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_marking_deinit) struct gr_marking marking = { 0 };
	_cleanup_(gr_c_pages_deinit) struct gr_c_pages c_pages = { 0 };
	_cleanup_free_ uint8_t *classes = NULL;
	const struct gr_residency *residency = NULL;
	struct gr_error *err = gr_stop_residency(stop, &residency);

	rss->gaps = stop->gaps;
	// The graph keeps a walk, which a mark drops.
	if (!err && is_marked)
		err = gr_c_pages_read(answers, &c_pages);
	if (!err && is_marked)
		err = mark(answers, &marking, &rss->gaps);
	if (!err)
		err = gr_sys_memory_sort(stop->heap, &stop->pages.arenas,
					 &stop->pages.sys_memory);
	if (!err)
		err = gr_rss_classify(stop, residency, &classes);
	if (err)
		return err;
	struct adder a = { .heap = stop->heap,
			   .marking = is_marked ? &marking : NULL,
			   .arenas = &stop->pages.arenas,
			   .page_bits = &stop->pages.page_bits,
			   .c_blocks = &stop->pages.c_blocks,
			   .c_pages = &c_pages,
			   .sys_memory = &stop->pages.sys_memory };
	rss->allocated_bytes = stop->heap->allocated_bytes;
	err = add_all(&a, residency, classes, rss);
	if (!err && is_marked)
		err = count_garbage(&a, rss);
	fill_rows(&a, residency->kind, rss);
	fill_estimates(&a, residency, rss);
	rss->collector = stop->pages.collector;
	return err;
}

struct gr_error *gr_scan_rss(struct gr_scan *scan, bool is_marked,
			     struct gr_rss *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	*ret = (struct gr_rss){ 0 };
	if (!err)
		err = answer(answers, is_marked, ret);
	return gr_sigbus_guard_end(&guard, err);
}
