// SPDX-License-Identifier: Apache-2.0
/*
 * The walk held against the allocator's own books, and against itself: a
 * linear sweep over everything that was reached must lead nowhere new.
 */
#include "scan.h"

#include "base/vector.h"
#include "goruntime/ptrmap.h"

/** Fewer that survived a collection say nothing. */
enum { MIN_KEPT = 100 };

GR_VECTOR(difference_vector, struct gr_difference);

struct verifier {
	struct gr_scan *scan;
	struct gr_heap *heap;
	struct gr_verdict *verdict;
	struct difference_vector differences;
	size_t max_differences;
	struct gr_class_total classes[256];
	uint64_t *missed; /* a bit an object: reached memory points to it */
};

void gr_verdict_destroy(struct gr_verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->classes);
	free(verdict->differences);
	free(verdict);
}
GR_DEFINE_CLEANUP(verdict, struct gr_verdict, gr_verdict_destroy)

static void verifier_deinit(struct verifier *v)
{
	difference_vector_deinit(&v->differences);
	free(v->missed);
}

/* A pointer in reached memory: its object must have been reached, too. */
static void check_pointer(struct verifier *v, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(v->heap, addr, &span);

	if (obj == GR_OBJ_NONE || !gr_heap_is_allocated(v->heap, obj) ||
	    gr_heap_is_counted(v->heap, obj) ||
	    obj - span->first_obj == span->fresh)
		return;
	v->verdict->missed_pointers++;
	gr_bitmap_set(v->missed, obj);
}

static void check_words(struct verifier *v, const uint64_t *map, uint64_t first,
			uint64_t end, const uint8_t *host)
{
	for (uint64_t at = first; (at = gr_bitmap_next(map, at, end)) < end;
	     at++)
		check_pointer(v, gr_load_u64(host + (at - first) * 8));
}

/* Every pointer word of every reached object, by masks read afresh. */
static struct gr_error *check_closure(struct verifier *v)
{
	_cleanup_free_ uint64_t *words = NULL;
	struct gr_error *err = gr_ptrmap_build(&v->scan->rt, 64, &words);

	for (uint32_t i = 0; !err && i < v->heap->nspans; i++) {
		const struct gr_span *span = &v->heap->spans[i];
		uint64_t elem_words = span->elem_bytes / GR_WORD_BYTES;

		if (span->is_noscan || !span->host)
			continue;
		for (uint32_t j = 0; j < span->nelems; j++) {
			uint64_t first = span->first_word + j * elem_words;
			if (gr_heap_is_counted(v->heap, span->first_obj + j))
				check_words(v, words, first, first + elem_words,
					    span->host + j * span->elem_bytes);
		}
		if (i % 1024 == 0)
			err = v->scan->rt.poll(v->scan->rt.poll_ctx);
	}
	return err;
}

static void check_areas(struct verifier *v)
{
	const struct gr_area_list *areas = &v->scan->roots.areas;

	for (size_t i = 0; i < areas->count; i++) {
		const struct gr_area *area = &areas->areas[i];
		if (area->host && area->live)
			check_words(v, area->live, 0,
				    (area->end - area->start) / GR_WORD_BYTES,
				    area->host);
	}
}

/* Is there memory that was not seen, and that may hold anything? */
static bool is_torn(const struct verifier *v)
{
	const uint64_t *count = v->scan->gaps.count;

	return count[GR_GAP_UNREADABLE_PAGES] ||
	       count[GR_GAP_GOROUTINES_SKIPPED] || count[GR_GAP_BROKEN_LISTS];
}

/* Why an allocated object was not reached. */
static const char *explain(struct verifier *v, const struct gr_span *span,
			   uint32_t index)
{
	if (gr_bitmap_test(v->missed, span->first_obj + index))
		return NULL;
	if (!span->is_noscan && !span->host)
		return "memory of its span could not be read";
	if (is_torn(v))
		return "perhaps held by memory that could not be read";
	if (strcmp(v->scan->info.gc_phase, "off"))
		return "a collection is under way";
	if (index == span->fresh)
		return "being allocated";
	if (span->is_unswept)
		return "garbage that is not yet swept";
	if (index < span->freeindex)
		return "allocated since the last collection, garbage now";
	return "garbage since the last collection";
}

static struct gr_error *
add_difference(struct verifier *v, const struct gr_span *span, uint32_t index)
{
	struct gr_difference d = {
		.addr = gr_span_slot_addr(span, index) + span->header_bytes,
		.bytes = span->elem_bytes,
		.type = gr_scan_header_type(v->scan, span, index),
		.reason = explain(v, span, index),
	};

	if (!d.reason)
		v->verdict->unexplained++;
	if (v->differences.size >= v->max_differences && d.reason)
		return NULL;
	return difference_vector_append(&v->differences, d) ? NULL : &gr_enomem;
}

static void total_add(struct gr_total *total, const struct gr_span *span)
{
	total->objects++;
	total->bytes += span->elem_bytes;
}

static struct gr_error *compare_span(struct verifier *v,
				     const struct gr_span *span)
{
	struct gr_class_total *class = &v->classes[span->spanclass];
	struct gr_error *err;

	class->spanclass = span->spanclass;
	class->elem_bytes = span->spanclass >> 1 ? span->elem_bytes : 0;
	for (uint32_t i = 0; i < span->nelems; i++) {
		gr_obj obj = span->first_obj + i;
		if (!gr_heap_is_allocated(v->heap, obj))
			continue;
		bool is_kept = i >= span->freeindex && !span->is_unswept;
		total_add(&class->allocated, span);
		if (is_kept)
			total_add(&v->verdict->kept, span);
		if (gr_heap_is_counted(v->heap, obj)) {
			total_add(&class->reached, span);
			if (is_kept)
				total_add(&v->verdict->kept_reached, span);
			continue;
		}
		err = add_difference(v, span, i);
		if (err)
			return err;
	}
	return NULL;
}

/* Did any thread work with a P when the program was stopped? */
static bool is_in_motion(const struct verifier *v)
{
	const struct gr_runtime *rt = &v->scan->rt;

	for (size_t i = 0; i < rt->ngoroutines; i++)
		if (rt->goroutines[i].is_g0 ||
		    rt->goroutines[i].status == rt->layout.consts.grunning)
			return true;
	return false;
}

/* A busy program lets go of most between two collections; where one at rest
 * seems to, it is rather we who do not see what holds it. */
static bool is_most_lost(const struct verifier *v)
{
	const struct gr_verdict *verdict = v->verdict;

	return !is_torn(v) && !strcmp(v->scan->info.gc_phase, "off") &&
	       verdict->kept.objects >= MIN_KEPT &&
	       verdict->kept_reached.objects < verdict->kept.objects / 2;
}

static struct gr_error *finish(struct verifier *v)
{
	struct gr_verdict *verdict = v->verdict;

	verdict->classes =
		calloc(GR_ARRAY_SIZE(v->classes), sizeof(*verdict->classes));
	if (!verdict->classes)
		return &gr_enomem;
	for (size_t i = 0; i < GR_ARRAY_SIZE(v->classes); i++) {
		const struct gr_class_total *class = &v->classes[i];
		verdict->allocated.objects += class->allocated.objects;
		verdict->allocated.bytes += class->allocated.bytes;
		verdict->reached.objects += class->reached.objects;
		verdict->reached.bytes += class->reached.bytes;
		if (class->allocated.objects != class->reached.objects)
			verdict->classes[verdict->nclasses++] = *class;
	}
	verdict->rebuilt.objects = v->heap->allocated_objects;
	verdict->rebuilt.bytes = v->heap->allocated_bytes;
	verdict->has_stats = v->heap->has_stats;
	verdict->stats.objects = v->heap->stats_objects;
	verdict->stats.bytes = v->heap->stats_bytes;
	verdict->unexplained += verdict->free_slot_pointers;
	verdict->is_most_lost = is_most_lost(v);
	// A P that is at work may be between a slot and its statistics.
	if (verdict->has_stats && !is_in_motion(v) &&
	    (verdict->stats.objects != verdict->rebuilt.objects ||
	     verdict->stats.bytes != verdict->rebuilt.bytes) &&
	    !v->scan->gaps.count[GR_GAP_SPANS_MID_SWEEP])
		verdict->unexplained++;
	verdict->differences = v->differences.data;
	verdict->ndifferences = v->differences.size;
	memset(&v->differences, 0, sizeof(v->differences));
	return NULL;
}

static const struct gr_walk_options mark_options = { .max_depth = 1,
						     .max_nodes = 1 };

/* A walk whose marks are left in the heap's object bits; @p ledger has its
 * gaps, and those of the target. */
static struct gr_error *mark(struct gr_scan *scan, struct gr_ledger *ledger)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	struct gr_gaps before = scan->gaps;
	struct gr_error *err =
		gr_scan_run_walk(scan, &mark_options, GR_OBJ_NONE, ledger, &w);

	ledger->gaps = scan->gaps;
	gr_gaps_end_walk(&scan->gaps, &before);
	return err;
}

/* The marks of a walk, its gaps, and the pointers to free slots. */
static struct gr_error *mark_and_count(struct gr_scan *scan,
				       struct gr_verdict *verdict)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *precise = NULL;
	struct gr_ledger ledger = { 0 }, unused = { 0 };
	struct gr_error *err = mark(scan, &ledger);

	if (!err)
		err = gr_scan_sort_free_slots(scan, &mark_options, &ledger,
					      &precise);
	verdict->gaps = ledger.gaps;
	verdict->free_slot_pointers =
		ledger.gaps.count[GR_GAP_FREE_SLOT_POINTERS];
	if (err || !precise)
		return err;
	verdict->nfree_slots = precise->nfree_slots;
	memcpy(verdict->free_slots, precise->free_slots,
	       sizeof(precise->free_slots));
	// The marks are those of everything again.
	return mark(scan, &unused);
}

static struct gr_error *verify(struct gr_scan *scan, size_t max_differences,
			       struct gr_verdict **ret)
{
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict =
		calloc(1, sizeof(*verdict));
	_cleanup_(verifier_deinit) struct verifier v = {
		.scan = scan,
		.heap = scan->rt.heap,
		.verdict = verdict,
		.max_differences = max_differences,
		.missed = gr_bitmap_alloc(scan->rt.heap->nobjs + 1),
	};
	struct gr_error *err;

	if (!verdict || !v.missed)
		return &gr_enomem;
	err = mark_and_count(scan, verdict);
	if (!err)
		err = check_closure(&v);
	if (!err)
		check_areas(&v);
	for (uint32_t i = 0; !err && i < v.heap->nspans; i++)
		err = compare_span(&v, &v.heap->spans[i]);
	if (!err)
		err = finish(&v);
	if (!err)
		*ret = steal_ptr(verdict);
	return err;
}

struct gr_error *gr_scan_verify(struct gr_scan *scan, size_t max_differences,
				struct gr_verdict **ret)
{
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard);

	if (!err)
		err = verify(scan, max_differences, &verdict);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(verdict);
	return err;
}

struct gr_error *gr_scan_objects(struct gr_scan *scan,
				 struct gr_error *(*emit)(void *ctx,
							  uint64_t addr,
							  uint64_t bytes),
				 void *ctx)
{
	const struct gr_heap *heap = scan->rt.heap;
	struct gr_sigbus_guard guard;
	struct gr_ledger unused = { 0 };
	struct gr_error *err = gr_scan_enter(scan, &guard);

	if (!err)
		err = mark(scan, &unused);
	err = gr_sigbus_guard_end(&guard, err);
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		for (uint32_t j = 0; !err && j < span->nelems; j++)
			if (gr_heap_is_counted(heap, span->first_obj + j))
				err = emit(ctx,
					   gr_span_slot_addr(span, j) +
						   span->header_bytes,
					   span->elem_bytes);
	}
	return err;
}
