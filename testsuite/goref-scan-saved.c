// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-saved.h"

#include "base/cleanup.h"
#include "goroutines/backtrace.h"
#include "goroutines/goroutine_list.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/leaks.h"
#include "goroutines/scheduler.h"
#include "goroutines/waits/wait_report.h"
#include "profiles/goroutine_profile.h"
#include "profiles/site_table.h"
#include "resident/rss.h"
#include "result.h"
#include "retention/dominators.h"
#include "retention/histogram.h"
#include "retention/holders.h"
#include "retention/listing.h"
#include "retention/object.h"
#include "retention/suspects.h"
#include "saving/save_internal.h"
#include "verify.h"
#include "why.h"

#include <inttypes.h>
#include <stdio.h>

enum { OBJECTS = 400, MAX_PATHS = 4 };

GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)
GR_DEFINE_CLEANUP(verdict, struct gr_verdict, gr_verdict_destroy)
GR_DEFINE_CLEANUP(list, struct gr_goroutine_list, gr_goroutine_list_destroy)
GR_DEFINE_CLEANUP(wait, struct gr_goroutine_wait, gr_goroutine_wait_destroy)
GR_DEFINE_CLEANUP(waits, struct gr_wait_report, gr_wait_report_destroy)
GR_DEFINE_CLEANUP(leaks, struct gr_leak_report, gr_leak_report_destroy)
GR_DEFINE_CLEANUP(sites, struct gr_site_table, gr_site_table_destroy)
GR_DEFINE_CLEANUP(dominators, struct gr_dominators, gr_dominators_destroy)
GR_DEFINE_CLEANUP(suspects, struct gr_suspect_report, gr_suspect_report_destroy)
GR_DEFINE_CLEANUP(histogram, struct gr_histogram, gr_histogram_destroy)
GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)
GR_DEFINE_CLEANUP(object, struct gr_object_info, gr_object_info_destroy)
GR_DEFINE_CLEANUP(holders, struct gr_holders, gr_holders_destroy)
GR_DEFINE_CLEANUP(profile, struct gr_goroutine_profile,
		  gr_goroutine_profile_destroy)

static struct gr_error *ask_walk(struct gr_scan *scan,
				 enum gr_attribution attribution,
				 bool per_goroutine)
{
	_cleanup_(gr_cleanup_result) struct gr_result *result = NULL;
	const struct gr_walk_options options = {
		.max_depth = 256,
		.max_nodes = 1 << 20,
		.attribution = attribution,
		.per_goroutine = per_goroutine,
	};

	return gr_scan_walk(scan, &options, &result);
}

static struct gr_error *ask_walks(struct gr_scan *scan)
{
	struct gr_error *err = NULL;

	for (int i = 0; !err && i < 4; i++)
		err = ask_walk(scan,
			       i & 1 ? GR_ATTRIBUTION_FIRST :
				       GR_ATTRIBUTION_NEAREST,
			       i & 2);
	return err;
}

static struct gr_error *ask_memory(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_verdict) struct gr_verdict *verdict = NULL;
	struct gr_rss rss = { 0 };
	struct gr_error *err =
		gr_save_allow_absent(gr_scan_rss(scan, true, &rss));

	return err ? err : gr_scan_verify(scan, SIZE_MAX, &verdict);
}

static struct gr_error *ask_goroutine(struct gr_scan *scan, uint64_t id)
{
	_cleanup_(gr_cleanup_wait) struct gr_goroutine_wait *wait = NULL;
	const struct gr_wait_query query = {
		.goroutine_id = id,
		.may_walk = true,
		.limits = GR_SHOW_DEFAULTS,
	};

	return gr_save_allow_absent(
		gr_scan_goroutine_wait(scan, &query, &wait));
}

static struct gr_error *ask_goroutines(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_list) struct gr_goroutine_list *list = NULL;
	const struct gr_goroutine_query query = { .with_system = true,
						  .with_bytes = true };
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	for (size_t i = 0; !err && i < list->nrows; i++)
		err = ask_goroutine(scan, list->rows[i].id);
	return err;
}

static struct gr_error *ask_waits(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_waits) struct gr_wait_report *waits = NULL;
	_cleanup_(gr_cleanup_leaks) struct gr_leak_report *leaks = NULL;
	_cleanup_(gr_cleanup_profile) struct gr_goroutine_profile *profile =
		NULL;
	const struct gr_waits_query query = { .with_paths = true };
	struct gr_error *err = gr_scan_waits(scan, &query, &waits);

	if (!err)
		err = gr_scan_leaks(scan, NULL, &leaks);
	return err ? err :
		     gr_scan_goroutine_profile(scan, GR_GOROUTINES_LEAKED,
					       &profile);
}

static struct gr_error *ask_sites(struct gr_scan *scan)
{
	static const struct gr_site_options kinds[] = {
		{ .with_root = true }, { .is_garbage = true }
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(kinds); i++) {
		_cleanup_(gr_cleanup_sites) struct gr_site_table *sites = NULL;

		err = gr_save_allow_absent(
			gr_scan_site_table(scan, &kinds[i], &sites));
	}
	return err;
}

static struct gr_error *ask_histograms(struct gr_scan *scan)
{
	struct gr_error *err = NULL;

	for (int i = 0; !err && i < 4 * GR_NHISTOGRAM_KEYS; i++) {
		_cleanup_(gr_cleanup_histogram) struct gr_histogram *histogram =
			NULL;
		const struct gr_histogram_options options = {
			.by = i / 4,
			.is_garbage = i & 1,
			.with_retained = i & 2,
		};

		err = gr_save_allow_absent(
			gr_scan_histogram(scan, &options, &histogram));
	}
	return err;
}

static struct gr_error *drop(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	(void)text;
	(void)bytes;
	return NULL;
}

static struct gr_error *ask_holders(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *dominators =
		NULL;
	_cleanup_(gr_cleanup_suspects) struct gr_suspect_report *suspects =
		NULL;
	const struct gr_dominators_options options = { .max_depth = 8,
						       .max_rows = 10000 };
	const struct gr_listing_options listing = { .with_retained = true };
	const struct gr_listing_sink sink = { .write = drop };
	struct gr_listed listed;
	struct gr_error *err = gr_scan_dominators(scan, &options, &dominators);

	if (!err)
		err = gr_scan_suspects(scan, &suspects);
	return err ? err : gr_scan_list(scan, &listing, &sink, &listed);
}

static struct gr_error *ask_object(struct gr_scan *scan, uint64_t addr)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	_cleanup_(gr_cleanup_object) struct gr_object_info *info = NULL;
	_cleanup_(gr_cleanup_holders) struct gr_holders *holders = NULL;
	const struct gr_walk_options walk = { .attribution =
						      GR_ATTRIBUTION_NEAREST };
	const struct gr_object_options all = { SIZE_MAX, SIZE_MAX, true, true };
	const struct gr_holders_options paths = { .max_paths = MAX_PATHS };
	struct gr_error *err = gr_scan_why(scan, &walk, addr, &why);

	if (!err)
		err = gr_scan_object(scan, addr, &all, &info);
	return err ? err :
		     gr_save_allow_absent(
			     gr_scan_holders(scan, addr, &paths, &holders));
}

// Of slots all over the heap, free ones among them.
static struct gr_error *ask_objects(struct gr_scan *scan)
{
	const struct gr_heap *heap = scan->heap;
	gr_obj step = heap->nobjs / OBJECTS + 1;
	struct gr_error *err = NULL;

	for (gr_obj obj = 0; !err && obj < heap->nobjs; obj += step)
		err = ask_object(scan, gr_heap_object_addr(heap, obj));
	return err;
}

static struct gr_error *ask(struct gr_scan *scan)
{
	static struct gr_error *(*const questions[])(struct gr_scan *) = {
		ask_walks, ask_memory,	   ask_goroutines, ask_waits,
		ask_sites, ask_histograms, ask_holders,	   ask_objects,
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(questions); i++)
		err = questions[i](scan);
	return err;
}

// The words of @p after that @p before lacks.
static uint64_t put_words(struct gr_word_set *before, struct gr_word_set *after)
{
	struct gr_word_set_pages at = { 0 };
	const uint64_t *bits;
	uint64_t page, count = 0;

	while (gr_word_set_next_page(after, &at, &page, &bits))
		for (uint64_t i = 0; i < GR_SET_PAGE_WORDS; i++) {
			uint64_t addr = page + i * 8;

			if (!(bits[i / 64] >> i % 64 & 1) ||
			    gr_word_set_has(before, addr, 8))
				continue;
			printf("0x%" PRIx64 "\n", addr);
			count++;
		}
	return count;
}

// The bytes of all tables with their answers.
static uint64_t tables_bytes(const struct gr_scan *scan)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < scan->target.nmodules; i++) {
		size_t bytes = 0;

		if (scan->dwarfs[i])
			free(gr_dwarf_pack(scan->dwarfs[i], &bytes));
		sum += bytes;
	}
	return sum;
}

struct gr_error *put_unsaved(struct gr_scan *scan)
{
	_cleanup_(gr_word_set_deinit) struct gr_word_set before = { 0 };
	_cleanup_(gr_word_set_deinit) struct gr_word_set after = { 0 };
	const struct gr_recorder *recorder = gr_image_recorder(scan->image);
	uint64_t tables = tables_bytes(scan);

	if (!gr_recorder_list_words(recorder, &before))
		return &gr_enomem;
	scan->graph_threads = 1;
	struct gr_error *err = ask(scan);
	if (err)
		return err;
	if (!gr_recorder_list_words(recorder, &after))
		return &gr_enomem;
	uint64_t words = put_words(&before, &after);
	printf("%" PRIu64 " words, %" PRIu64 " bytes of tables\n", words,
	       tables_bytes(scan) - tables);
	return NULL;
}
