// SPDX-License-Identifier: Apache-2.0
#include "questions.h"

#include "cmemory/leaks.h"
#include "cmemory/report.h"
#include "goroutines/backtrace.h"
#include "goroutines/goroutine_list.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/leaks.h"
#include "goroutines/panic.h"
#include "goroutines/scheduler.h"
#include "goroutines/waits/wait_report.h"
#include "retention/cards.h"
#include "resident/rss.h"
#include "retention/dominators.h"
#include "retention/object.h"
#include "retention/type_holders.h"
#include "walks/reached.h"
#include "walks/result.h"
#include "walks/verify.h"
#include "walks/why.h"

enum { MAX_QUESTIONS = 4 };

// -------------------------------------------------------------------- heap

static struct gr_error *walk(struct gr_scan *scan, unsigned int how)
{
	struct gr_walk_options options = { .max_depth = 256,
					   .max_nodes = 1 << 16 };
	struct gr_result *result;

	options.attribution = how & 1 ? GR_ATTRIBUTION_FIRST :
					GR_ATTRIBUTION_NEAREST;
	options.per_goroutine = how & 2;
	struct gr_error *err = gr_scan_walk(scan, &options, &result);
	if (err)
		return err;
	const struct gr_ledger *ledger = gr_result_ledger(result);
	if (ledger->reached.objects > ledger->allocated.objects)
		abort();
	gr_result_destroy(result);
	return NULL;
}

static struct gr_error *verify(struct gr_scan *scan)
{
	struct gr_verdict *verdict;

	struct gr_error *err = gr_scan_verify(scan, 20, &verdict);
	if (!err)
		gr_verdict_destroy(verdict);
	return err;
}

static struct gr_error *ask_dominators(struct gr_scan *scan)
{
	const struct gr_dominators_options tree = { .max_depth = 3,
						    .max_rows = 100 };
	struct gr_dominators *dominators;
	struct gr_error *err = gr_scan_dominators(scan, &tree, &dominators);

	if (!err)
		gr_dominators_destroy(dominators);
	return err;
}

/* The largest objects of some types, and who holds them. */
static struct gr_error *ask_types(struct gr_scan *scan)
{
	static const char *const types[] = { "[]uint8", "string", "runtime.g",
					     "(type not known)" };
	const struct gr_card_question question = {
		.types = types,
		.ntypes = GR_ARRAY_SIZE(types),
		.max_objects = 5,
		.max_cards = 20,
	};
	struct gr_type_holders *holders;
	struct gr_cards *cards;
	struct gr_error *err = gr_scan_cards(scan, &question, &cards);

	if (err)
		return err;
	gr_cards_destroy(cards);
	err = gr_scan_type_holders(scan, types, GR_ARRAY_SIZE(types), 5,
				   &holders);
	if (!err)
		gr_type_holders_destroy(holders);
	return err;
}

/** Addresses to ask about: some word of memory, and reached objects. */
struct questions {
	uint64_t addrs[MAX_QUESTIONS];
	uint64_t nobjects;
	uint64_t seed;
};

// Each object takes a place with a chance that gives all the same.
static struct gr_error *note_object(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct questions *q = ctx;

	(void)bytes;
	q->seed = q->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	uint64_t place = (q->seed >> 33) % ++q->nobjects;
	if (place && place < MAX_QUESTIONS)
		q->addrs[place] = addr;
	return NULL;
}

static struct gr_error *ask_why(struct gr_scan *scan, uint64_t addr,
				uint64_t seed)
{
	struct gr_walk_options options = { .max_depth = 64,
					   .max_nodes = 1 << 16 };
	struct questions q = { .addrs = { addr }, .nobjects = 1, .seed = seed };
	struct gr_why *why;
	struct gr_error *err = gr_scan_each_reached(scan, note_object, &q);
	for (int i = 0; !err && i < MAX_QUESTIONS; i++) {
		err = gr_scan_why(scan, &options, q.addrs[i], &why);
		if (!err)
			gr_why_destroy(why);
	}
	return err;
}

struct gr_error *fuzz_ask_heap(struct gr_scan *scan, struct fuzz_input *in,
			       uint64_t addr)
{
	unsigned int how = fuzz_take(in, 1);
	struct gr_error *err = walk(scan, how);

	if (!err)
		err = verify(scan);
	if (!err && how & 4)
		err = ask_dominators(scan);
	if (!err && how & 8)
		err = ask_types(scan);
	return err ? err : ask_why(scan, addr, fuzz_take(in, 4));
}

// ------------------------------------------------------------------------ C

static void check_arena(const struct gr_native_arena *arena)
{
	if (arena->in_use_bytes + arena->free_bytes + arena->other_bytes !=
		    arena->mapped_bytes ||
	    arena->cached_bytes > arena->free_bytes ||
	    arena->is_checked == !!arena->reason)
		abort();
}

static struct gr_error *ask_arenas(struct gr_scan *scan)
{
	struct gr_native_report *report;
	struct gr_error *err = gr_scan_native(scan, &report);

	if (err)
		return err;
	for (size_t i = 0; i < report->nheaps; i++)
		for (size_t k = 0; k < report->heaps[i].narenas; k++)
			check_arena(&report->heaps[i].arenas[k]);
	gr_native_report_destroy(report);
	return NULL;
}

static struct gr_error *ask_native_leaks(struct gr_scan *scan)
{
	struct gr_native_leaks *leaks;
	struct gr_error *err = gr_scan_native_leaks(scan, &leaks);

	if (err)
		return err;
	if (leaks->leaked_blocks > leaks->in_use_blocks ||
	    leaks->leaked_bytes > leaks->in_use_bytes)
		abort();
	gr_native_leaks_destroy(leaks);
	return NULL;
}

static struct gr_error *ask_object(struct gr_scan *scan, uint64_t addr)
{
	const struct gr_object_options options = { .max_references = 10,
						   .max_referrers = 10 };
	struct gr_object_info *info;
	struct gr_error *err = gr_scan_object(scan, addr, &options, &info);

	if (!err)
		gr_object_info_destroy(info);
	return err;
}

struct gr_error *fuzz_ask_native(struct gr_scan *scan, uint64_t addr)
{
	struct gr_rss rss;
	struct gr_error *err = ask_arenas(scan);

	if (!err)
		err = ask_native_leaks(scan);
	if (!err)
		err = ask_object(scan, addr);
	if (!err)
		err = ask_dominators(scan);
	/* A file that was saved without its pages cannot tell. */
	if (!err)
		fuzz_check_error(gr_scan_rss(scan, true, &rss));
	return err;
}

// -------------------------------------------------------------- goroutines

static struct gr_error *ask_panic(struct gr_scan *scan)
{
	const struct gr_panic_query query = { .limits = GR_SHOW_DEFAULTS };
	struct gr_panic *panic;
	struct gr_error *err = gr_scan_panic(scan, &query, &panic);

	if (!err)
		gr_panic_destroy(panic);
	return err;
}

static struct gr_error *ask_scheduler(struct gr_scan *scan)
{
	struct gr_scheduler *scheduler;
	struct gr_error *err = gr_scan_scheduler(scan, &scheduler);

	if (!err)
		gr_scheduler_destroy(scheduler);
	return err;
}

static struct gr_error *ask_wait(struct gr_scan *scan, uint64_t id)
{
	const struct gr_wait_query query = { .goroutine_id = id,
					     .may_walk = true,
					     .limits = GR_SHOW_DEFAULTS };
	struct gr_goroutine_wait *wait;
	struct gr_error *err = gr_scan_goroutine_wait(scan, &query, &wait);

	if (!err)
		gr_goroutine_wait_destroy(wait);
	return err;
}

static struct gr_error *ask_calls(struct gr_scan *scan, uint64_t id)
{
	const struct gr_backtrace_query query = {
		.goroutine_id = id,
		.with_variables = true,
		.limits = GR_SHOW_DEFAULTS,
	};
	struct gr_backtrace *backtrace;
	struct gr_error *err = gr_scan_backtrace(scan, &query, &backtrace);

	if (!err)
		gr_backtrace_destroy(backtrace);
	return err;
}

static struct gr_error *ask_list(struct gr_scan *scan, unsigned int how)
{
	static const enum gr_goroutine_field groups[] = {
		GR_BY_STACK, GR_BY_LABEL, GR_BY_WAITING_ON, GR_BY_NOTHING
	};
	const struct gr_goroutine_query query = { .with_system = how & 4,
						  .with_bytes = how & 8,
						  .group = groups[how & 3] };
	struct gr_goroutine_list *list;
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	if (err)
		return err;
	for (size_t i = 0; !err && i < list->nrows; i++) {
		err = ask_wait(scan, list->rows[i].id);
		// A file without values has no variables to show.
		if (how & 16)
			fuzz_check_error(ask_calls(scan, list->rows[i].id));
	}
	gr_goroutine_list_destroy(list);
	return err;
}

static struct gr_error *ask_waits(struct gr_scan *scan)
{
	const struct gr_waits_query query = { .with_paths = true };
	struct gr_wait_report *report;
	struct gr_error *err = gr_scan_waits(scan, &query, &report);

	if (!err)
		gr_wait_report_destroy(report);
	return err;
}

static struct gr_error *ask_leaks(struct gr_scan *scan)
{
	struct gr_leak_report *report;
	struct gr_error *err = gr_scan_leaks(scan, NULL, &report);

	if (err)
		return err;
	if (report->leaked + report->unproven > report->blocked)
		abort();
	gr_leak_report_destroy(report);
	return NULL;
}

struct gr_error *fuzz_ask_goroutines(struct gr_scan *scan, unsigned int how)
{
	struct gr_error *err = ask_panic(scan);

	if (!err)
		err = ask_scheduler(scan);
	if (!err)
		err = ask_list(scan, how);
	if (!err)
		err = ask_waits(scan);
	return err ? err : ask_leaks(scan);
}
