// SPDX-License-Identifier: Apache-2.0
/*
 * Reads once all memory of the target that questions read. Values are read only
 * if they are saved. Afterwards, the recorder of the image has these words, and
 * the tables of debug information have the functions and types that were asked
 * for. The answers themselves are dropped.
 *
 * Questions on the object graph are not asked. The edges of the graph are
 * pointers by their masks, which pointers.c records. Names of words need
 * only what a walk has read (gr_word_read()). Types of garbage, which no walk
 * reaches, are asked for separately (ask_headers()). test_saved.py asks all
 * questions after a save: they may read only what was recorded.
 */
#include "save/save_internal.h"

#include "cmemory/c_holds.h"
#include "goroutines/backtrace.h"
#include "goroutines/deferred.h"
#include "goroutines/goroutine_list.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/panic.h"
#include "goroutines/finalizers/pools.h"
#include "goroutines/scheduler.h"
#include "goroutines/waits/wait_report.h"
#include "graph/keys.h"
#include "naming/memory_name.h"
#include "profiles/bucket_profile.h"
#include "profiles/goroutine_profile.h"
#include "profiles/site_table.h"
#include "resident/rss.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/mark.h"
#include "walks/result.h"
#include "waste/waste.h"

/* Forget the error of a question that does not apply to the target. It fails
 * in the file, too. */
static struct gr_error *allow_absent(struct gr_error *err)
{
	if (gr_error_catch(&err, GR_ERROR_NOT_FOUND) ||
	    gr_error_catch(&err, GR_ERROR_ARGUMENT) ||
	    gr_error_catch(&err, GR_ERROR_LAYOUT) ||
	    gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	return err;
}

/* Walk in the order of roots: an object may get another type than by the nearest
 * root. */
static struct gr_error *ask_first(struct gr_scan *scan)
{
	static const struct gr_walk_options options = {
		.max_depth = 1,
		.max_nodes = 1,
		.attribution = GR_ATTRIBUTION_FIRST,
	};
	struct gr_result *result = NULL;
	struct gr_error *err = gr_scan_walk(scan, &options, &result);

	gr_result_destroy(result);
	return err;
}

/* Walk by the nearest roots, and, as a scan does it, without doubtful ones if
 * there are pointers to free slots. Later questions use the chains again. */
static struct gr_error *ask_nearest(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	static const struct gr_walk_options options = {
		.attribution = GR_ATTRIBUTION_NEAREST,
	};
	_cleanup_(gr_marking_deinit) struct gr_marking precise = { 0 };
	struct gr_ledger ledger = { 0 };
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	if (err)
		return err;
	ledger.gaps = answers->kept_walk->gaps;
	return gr_answers_sort_free_slots(answers, &options, &ledger, &precise);
}

/* The type in the header of a slot, if it is not one of those before. */
static struct gr_error *ask_header(struct gr_scan *scan,
				   const struct gr_span *span, uint32_t index,
				   struct gr_keys *seen)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	uint64_t record = span->large_type;

	if (span->header_bytes && span->host)
		record = gr_load_u64(span->host +
				     gr_span_slot_addr(span, index) -
				     span->base_addr);
	if (gr_keys_find(seen, record, 0) != UINT32_MAX)
		return NULL;
	gr_memory_header_type(answers->stop->program, span, index);
	return gr_keys_add(seen, record, 0, 0) ? NULL : &gr_enomem;
}

/* Types of objects by their headers: those of garbage, which no walk reaches. */
static struct gr_error *ask_headers(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	_cleanup_(gr_keys_deinit) struct gr_keys seen = { 0 };
	const struct gr_heap *heap = answers->stop->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		err = gr_runtime_step(heap->rt, 1);
		if (!span->header_bytes && !span->large_type)
			continue;
		for (uint32_t k = 0; !err && k < span->nelems; k++) {
			if (!gr_heap_is_allocated(heap, span->first_obj + k))
				continue;
			err = gr_runtime_step(heap->rt, 1);
			if (!err)
				err = ask_header(scan, span, k, &seen);
		}
	}
	return err;
}

/* The code of functions that finalizers and cleanups call; their words may lie
 * where no walk goes. */
static struct gr_error *ask_specials(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	const struct gr_root_list *list = &answers->stop->roots.list;
	struct gr_error *err = NULL;
	struct gr_func func;
	bool found;

	for (size_t i = 0; !err && i < list->size; i++) {
		err = gr_runtime_step(&answers->stop->program->rt, 1);
		if (!err && list->data[i].is_func)
			err = allow_absent(gr_closure_read(
				&answers->stop->program->rt, list->data[i].addr,
				&func, &found));
	}
	return err;
}

/* The calls of a goroutine, with values also their variables, and what it waits
 * for. */
static struct gr_error *ask_goroutine(struct gr_scan *scan, uint64_t id,
				      bool with_values)
{
	const struct gr_backtrace_query calls = {
		.goroutine_id = id,
		.with_variables = with_values,
		.limits = GR_SHOW_DEFAULTS,
	};
	const struct gr_wait_query waits = { .goroutine_id = id };
	struct gr_goroutine_wait *wait = NULL;
	struct gr_backtrace *backtrace = NULL;
	struct gr_error *err = gr_scan_backtrace(scan, &calls, &backtrace);

	gr_backtrace_destroy(backtrace);
	if (!err)
		err = gr_scan_goroutine_wait(scan, &waits, &wait);
	gr_goroutine_wait_destroy(wait);
	return allow_absent(err);
}

static struct gr_error *ask_goroutines(struct gr_scan *scan, bool with_values)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	const struct gr_goroutine_query query = { .with_system = true };
	struct gr_goroutine_list *list = NULL;
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	for (size_t i = 0; !err && i < list->nrows; i++) {
		err = ask_goroutine(scan, list->rows[i].id, with_values);
		if (!err)
			err = gr_runtime_step(&answers->stop->program->rt, 64);
	}
	gr_goroutine_list_destroy(list);
	return err;
}

static struct gr_error *ask_waits(struct gr_scan *scan)
{
	static const struct gr_waits_query query = { 0 };
	struct gr_wait_report *waits = NULL;
	struct gr_scheduler *scheduler = NULL;
	struct gr_error *err = gr_scan_waits(scan, &query, &waits);

	gr_wait_report_destroy(waits);
	if (!err)
		err = allow_absent(gr_scan_scheduler(scan, &scheduler));
	gr_scheduler_destroy(scheduler);
	return err;
}

static struct gr_error *ask_buckets(struct gr_scan *scan,
				    enum gr_bucket_kind kind,
				    enum gr_bucket_moment moment)
{
	struct gr_bucket_profile *profile = NULL;
	struct gr_error *err = allow_absent(
		gr_scan_bucket_profile(scan, kind, moment, &profile));

	gr_bucket_profile_destroy(profile);
	return err;
}

static struct gr_error *ask_profiles(struct gr_scan *scan)
{
	static const enum gr_bucket_kind kinds[] = { GR_BUCKETS_MEMORY,
						     GR_BUCKETS_BLOCK,
						     GR_BUCKETS_MUTEX };
	const struct gr_site_options by_root = { .with_root = true };
	struct gr_site_table *sites = NULL;
	struct gr_goroutine_profile *goroutines = NULL;
	struct gr_error *err =
		gr_scan_goroutine_profile(scan, GR_GOROUTINES_ALL, &goroutines);

	gr_goroutine_profile_destroy(goroutines);
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(kinds); i++)
		err = ask_buckets(scan, kinds[i], GR_MOMENT_COLLECTION);
	if (!err)
		err = ask_buckets(scan, GR_BUCKETS_MEMORY, GR_MOMENT_NOW);
	if (!err)
		err = allow_absent(gr_scan_site_table(scan, &by_root, &sites));
	gr_site_table_destroy(sites);
	return err;
}

static struct gr_error *ask_memory(struct gr_scan *scan)
{
	struct gr_rss rss = { 0 };

	return allow_absent(gr_scan_rss(scan, false, &rss));
}

static struct gr_error *ask_panic(struct gr_scan *scan, bool with_values)
{
	const struct gr_panic_query query = { .limits = GR_SHOW_DEFAULTS,
					      .without_values = !with_values };
	struct gr_panic *panic = NULL;
	struct gr_error *err =
		allow_absent(gr_scan_panic(scan, &query, &panic));

	gr_panic_destroy(panic);
	return err;
}

/* The lists of pools, and where the pools have their tables. */
static struct gr_error *ask_pools(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	_cleanup_(gr_pool_vector_deinit) struct gr_pool_vector pools = { 0 };
	bool is_known;

	return gr_pools_read(answers->stop, &pools, &is_known);
}

/* The table of cgo.Handle, and what is pinned. */
static struct gr_error *ask_c_holds(struct gr_scan *scan)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	_cleanup_(
		gr_c_hold_vector_deinit) struct gr_c_hold_vector holds = { 0 };
	bool is_known;
	struct gr_error *err =
		gr_c_holds_read_handles(answers->stop, &holds, &is_known);

	return err ? err : gr_c_holds_read_pinners(answers->stop, &holds);
}

/* The checks of waste that need no values: lengths of slices and strings, and
 * counts of maps. Small findings need no object graph, and all are small. */
static struct gr_error *ask_waste(struct gr_scan *scan)
{
	struct gr_waste_options options = { .min_share = GR_WASTE_WHOLE };
	struct gr_waste *waste = NULL;

	for (int i = 0; i < GR_NWASTE_CHECKS; i++)
		if (!gr_waste_check_needs_values(i))
			options.checks |= UINT32_C(1) << i;
	struct gr_error *err =
		allow_absent(gr_scan_waste(scan, &options, &waste));
	gr_waste_destroy(waste);
	return err;
}

struct gr_error *gr_save_ask(struct gr_scan *scan, bool with_values)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	static struct gr_error *(*const questions[])(struct gr_scan * scan) = {
		ask_waits,    ask_profiles, ask_memory,	 ask_headers,
		ask_specials, ask_pools,    ask_c_holds, ask_waste,
	};
	// The walk in the order of roots drops the chains.
	struct gr_error *err = ask_first(scan);

	if (!err)
		err = ask_nearest(scan);
	// Some questions count the damage that they find each time.
	const struct gr_gaps of_heap = answers->stop->gaps;
	if (!err)
		err = ask_goroutines(scan, with_values);
	if (!err)
		err = ask_panic(scan, with_values);
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(questions); i++)
		err = questions[i](scan);
	answers->stop->gaps = of_heap;
	return err;
}
