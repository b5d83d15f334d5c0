// SPDX-License-Identifier: Apache-2.0
#include "goref-scan-locals.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

GR_DEFINE_CLEANUP(backtrace, struct gr_backtrace, gr_backtrace_destroy)
GR_DEFINE_CLEANUP(goroutine_list, struct gr_goroutine_list,
		  gr_goroutine_list_destroy)

static void put_call(uint64_t goroutine, const struct gr_backtrace_call *call)
{
	for (size_t i = 0; i < call->nvariables; i++) {
		const struct gr_call_variable *v = &call->variables[i];

		printf("%" PRIu64 "\t%s\t%s\t%s\t%s\n", goroutine,
		       call->at.function, v->name, v->type, v->value);
	}
}

static struct gr_error *put_goroutine(struct gr_scan *scan, uint64_t id)
{
	_cleanup_(gr_cleanup_backtrace) struct gr_backtrace *backtrace = NULL;
	const struct gr_backtrace_query query = {
		.goroutine_id = id,
		.with_variables = true,
		.limits = GR_SHOW_DEFAULTS,
	};
	struct gr_error *err = gr_scan_backtrace(scan, &query, &backtrace);

	for (size_t i = 0; !err && i < backtrace->ncalls; i++)
		put_call(id, &backtrace->calls[i]);
	return err;
}

struct gr_error *put_locals(struct gr_scan *scan)
{
	_cleanup_(gr_cleanup_goroutine_list) struct gr_goroutine_list *list =
		NULL;
	const struct gr_goroutine_query query = { .with_system = true,
						  .group = GR_BY_NOTHING };
	struct gr_error *err = gr_scan_list_goroutines(scan, &query, &list);

	for (size_t i = 0; !err && i < list->nrows; i++)
		err = put_goroutine(scan, list->rows[i].id);
	return err;
}
