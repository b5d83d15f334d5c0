// SPDX-License-Identifier: Apache-2.0
/*
 * Compare the walk with the allocator's own data, and with itself: a linear
 * sweep over all reached objects must lead to no new object.
 */
#include "walks/verify.h"

#include "base/vector.h"
#include "mark/edges.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/mark.h"
#include "walks/reached.h"

/** With fewer survivors of a collection, is_most_lost is not set. */
enum { MIN_KEPT = 100 };

GR_VECTOR(difference_vector, struct gr_difference);

struct verifier {
	struct gr_answers *answers;
	const struct gr_heap *heap;
	struct gr_marking m;
	struct gr_verdict *verdict;
	struct difference_vector differences;
	size_t max_differences;
	struct gr_class_total classes[256];
	uint64_t *missed; /* a bit an object: reached memory points to it */
	const struct gr_native *native; /* or NULL */
};

void gr_verdict_destroy(struct gr_verdict *verdict)
{
	if (!verdict)
		return;
	free(verdict->classes);
	free(verdict->differences);
	gr_native_verdict_deinit(&verdict->native);
	free(verdict);
}
GR_DEFINE_CLEANUP(verdict, struct gr_verdict, gr_verdict_destroy)

static void verifier_deinit(struct verifier *v)
{
	gr_marking_deinit(&v->m);
	difference_vector_deinit(&v->differences);
	free(v->missed);
}

/* Pointers in reached memory: their objects must have been reached, too. */
static struct gr_error *check_edges(void *ctx, const struct gr_edge *edges,
				    size_t count)
{
	struct verifier *v = ctx;

	for (size_t i = 0; i < count; i++) {
		if (gr_marking_is_reached(&v->m, edges[i].to) ||
		    edges[i].is_fresh)
			continue;
		v->verdict->missed_pointers++;
		gr_bitmap_set(v->missed, edges[i].to);
	}
	return NULL;
}

/* A pointer that may lead to free memory of C. */
static void check_other(void *ctx, const struct gr_edge *edge)
{
	struct verifier *v = ctx;

	if (v->native && !edge->is_doubtful)
		v->verdict->native.free_pointers +=
			gr_native_is_free(v->native, edge->value);
}

/* Is there unread memory, which may hold any object? */
static bool is_torn(const struct verifier *v)
{
	const uint64_t *count = v->answers->stop->gaps.count;

	return count[GR_GAP_UNREADABLE_PAGES] ||
	       count[GR_GAP_GOROUTINES_SKIPPED] || count[GR_GAP_BROKEN_LISTS];
}

/* The reason why an allocated object was not reached. */
static const char *explain(struct verifier *v, const struct gr_span *span,
			   uint32_t index)
{
	if (gr_bitmap_test(v->missed, span->first_obj + index))
		return NULL;
	if (!span->is_noscan && !span->host)
		return "memory of its span could not be read";
	if (is_torn(v))
		return "perhaps held by memory that could not be read";
	if (strcmp(v->answers->stop->info.gc_phase, "off"))
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
		.type = gr_memory_header_type(v->answers->stop->program, span,
					      index),
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
		if (gr_marking_is_reached(&v->m, obj)) {
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
	const struct gr_sched *sched = &v->answers->stop->sched;

	for (size_t i = 0; i < sched->ngoroutines; i++)
		if (sched->goroutines[i].is_g0 ||
		    sched->goroutines[i].status ==
			    sched->rt->layout.consts.grunning)
			return true;
	return false;
}

/* Are most survivors of the last collection not reached? A busy program may
 * release most of its objects between two collections. In an idle program, the
 * scan more likely misses their roots. */
static bool is_most_lost(const struct verifier *v)
{
	const struct gr_verdict *verdict = v->verdict;

	return !is_torn(v) && !strcmp(v->answers->stop->info.gc_phase, "off") &&
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
	verdict->unexplained +=
		verdict->free_slot_pointers + verdict->native.unexplained;
	verdict->is_most_lost = is_most_lost(v);
	// A running P may have taken a slot and not yet counted it.
	if (verdict->has_stats && !is_in_motion(v) &&
	    (verdict->stats.objects != verdict->rebuilt.objects ||
	     verdict->stats.bytes != verdict->rebuilt.bytes) &&
	    !v->answers->stop->gaps.count[GR_GAP_SPANS_MID_SWEEP])
		verdict->unexplained++;
	verdict->differences = v->differences.data;
	verdict->ndifferences = v->differences.size;
	memset(&v->differences, 0, sizeof(v->differences));
	return NULL;
}

static const struct gr_walk_options mark_options = { .max_depth = 1,
						     .max_nodes = 1 };

/* Walk, and keep the marking, the gaps and the pointers to free slots. */
static struct gr_error *mark_and_count(struct verifier *v)
{
	_cleanup_(gr_marking_deinit) struct gr_marking precise = { 0 };
	struct gr_verdict *verdict = v->verdict;
	struct gr_ledger ledger = { 0 };
	struct gr_error *err = gr_reached_mark(v->answers, &ledger, &v->m);

	if (!err)
		err = gr_answers_sort_free_slots(v->answers, &mark_options,
						 &ledger, &precise);
	verdict->gaps = ledger.gaps;
	verdict->free_slot_pointers =
		ledger.gaps.count[GR_GAP_FREE_SLOT_POINTERS];
	if (err)
		return err;
	verdict->nfree_slots = precise.nfree_slots;
	memcpy(verdict->free_slots, precise.free_slots,
	       sizeof(precise.free_slots));
	return NULL;
}

static struct gr_error *verify(struct gr_answers *answers,
			       size_t max_differences, struct gr_verdict **ret)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict =
		calloc(1, sizeof(*verdict));
	_cleanup_(verifier_deinit) struct verifier v = {
		.answers = answers,
		.heap = stop->heap,
		.verdict = verdict,
		.max_differences = max_differences,
		.missed = gr_bitmap_alloc(stop->heap->nobjs + 1),
	};
	struct gr_native *native = NULL;
	struct gr_error *err;

	if (!verdict || !v.missed)
		return &gr_enomem;
	// The graph keeps a walk, which a mark drops.
	err = gr_verify_native(answers, &native, &verdict->native);
	v.native = native;
	if (!err)
		err = mark_and_count(&v);
	if (!err)
		err = gr_for_each_edge(stop->heap, &stop->roots, &v.m,
				       check_edges, check_other, &v);
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
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = verify(answers, max_differences, &verdict);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(verdict);
	return err;
}
