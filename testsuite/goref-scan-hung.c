// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-hung.h"

#include "base/cleanup.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/leaks.h"
#include "goroutines/panic.h"
#include "goroutines/scheduler.h"
#include "goroutines/waits/wait_report.h"

#include <inttypes.h>
#include <stdio.h>

GR_DEFINE_CLEANUP(panic, struct gr_panic, gr_panic_destroy)
GR_DEFINE_CLEANUP(list, struct gr_goroutine_list, gr_goroutine_list_destroy)
GR_DEFINE_CLEANUP(wait, struct gr_goroutine_wait, gr_goroutine_wait_destroy)
GR_DEFINE_CLEANUP(waits, struct gr_wait_report, gr_wait_report_destroy)
GR_DEFINE_CLEANUP(leaks, struct gr_leak_report, gr_leak_report_destroy)
GR_DEFINE_CLEANUP(scheduler, struct gr_scheduler, gr_scheduler_destroy)

static struct gr_error *put_panic(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_panic) struct gr_panic *panic = NULL;
	const struct gr_panic_query query = { .limits = GR_SHOW_DEFAULTS };
	struct gr_error *err = gr_scan_panic(scan, &query, &panic);

	if (!err)
		printf("panic\t%s\t%s\t%zu\t%zu\n", panic->kind,
		       panic->fatal_text, panic->nvalues, panic->ndeferred);
	return err;
}

static struct gr_error *put_groups(struct gr_scan *scan,
				   enum gr_goroutine_field group)
{
	_cleanup_(gr_cleanup_list) struct gr_goroutine_list *list = NULL;
	const struct gr_goroutine_query query = {
		.with_system = true,
		.with_bytes = group == GR_BY_WAITING_ON,
		.group = group,
	};
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	if (!err)
		printf("groups\t%" PRIu64 "\t%zu\t%" PRIu64 "\n", list->total,
		       list->ngroups, list->exclusive_bytes);
	return err;
}

static struct gr_error *put_wait(struct gr_scan *scan, uint64_t id)
{
	_cleanup_(gr_cleanup_wait) struct gr_goroutine_wait *wait = NULL;
	const struct gr_wait_query query = {
		.goroutine_id = id,
		.may_walk = true,
		.limits = GR_SHOW_DEFAULTS,
	};
	struct gr_error *err = gr_scan_goroutine_wait(scan, &query, &wait);

	if (!err)
		printf("wait\t%" PRIu64 "\t%zu\n", id, wait->nwaits);
	return err;
}

/* What each goroutine waits for. */
static struct gr_error *put_each(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_list) struct gr_goroutine_list *list = NULL;
	const struct gr_goroutine_query query = { .with_system = true,
						  .group = GR_BY_NOTHING };
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	for (size_t i = 0; !err && i < list->nrows; i++)
		err = put_wait(scan, list->rows[i].id);
	return err;
}

static struct gr_error *put_report(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_waits) struct gr_wait_report *report = NULL;
	const struct gr_waits_query query = { .with_paths = true };
	struct gr_error *err = gr_scan_waits(scan, &query, &report);

	if (!err)
		printf("waits\t%" PRIu64 "\t%zu\t%zu\n", report->total,
		       report->ndeadlocks, report->nblockers);
	return err;
}

static struct gr_error *put_leaks(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_leaks) struct gr_leak_report *report = NULL;
	struct gr_error *err = gr_scan_leaks(scan, NULL, &report);

	if (!err)
		printf("leaks\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		       report->leaked, report->unproven,
		       report->retained_bytes);
	return err;
}

static struct gr_error *put_scheduler(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_scheduler) struct gr_scheduler *scheduler = NULL;
	struct gr_error *err = gr_scan_scheduler(scan, &scheduler);

	if (!err)
		printf("scheduler\t%zu\t%zu\n", scheduler->nps, scheduler->nms);
	return err;
}

struct gr_error *put_hung(struct gr_scan *scan)
{
	static const enum gr_goroutine_field groups[] = {
		GR_BY_STACK, GR_BY_LABEL, GR_BY_WAIT, GR_BY_WAITING_ON
	};
	struct gr_error *err = put_panic(scan);

	if (!err)
		err = put_scheduler(scan);
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(groups); i++)
		err = put_groups(scan, groups[i]);
	if (!err)
		err = put_each(scan);
	if (!err)
		err = put_report(scan);
	return err ? err : put_leaks(scan);
}
