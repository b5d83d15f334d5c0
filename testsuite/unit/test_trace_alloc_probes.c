// SPDX-License-Identifier: Apache-2.0
/* Calls of a child of ours are seen in each way that the kernel has: those of
 * older kernels, too. The child calls a function with 1, 2, 3 and so on, which
 * returns its argument: as if it were an address. */
#include "helpers/trace/alloc_probes.h"

#include "helpers/trace/calibrate.h"
#include "helpers/trace/drain.h"
#include "helpers/trace/rights.h"

#include "suite.h"

enum { CALLS = 1000 };

/** The events of the calls. */
struct seen {
	uint64_t allocs, frees, damaged, wrong;
};

static int take(void *ctx, void *event, size_t bytes)
{
	const struct gr_event *e = event;
	struct seen *seen = ctx;

	if (e->head.kind == GR_NATIVE_FREE) {
		seen->frees++;
		return 0;
	}
	seen->damaged += !gr_drain_is_whole(e, bytes);
	seen->allocs++;
	seen->wrong += e->head.address != e->head.bytes || !e->head.address ||
		       e->head.flags != GR_ALLOC_MALLOC || !e->bytes[0] ||
		       e->head.ref != 3;
	return 0;
}

/** Without BPF there is nothing to test. */
static void need_rights(void)
{
	struct gr_error *err = gr_rights_check_bpf();

	if (!err)
		return;
	gr_error_destroy(err);
	skip();
}

/** A request for one function of the child. */
static struct gr_request *request(enum gr_alloc_kind kind)
{
	struct gr_request *req = calloc(1, sizeof(*req));

	assert_non_null(req);
	req->alloc.functions[0] =
		(struct gr_probed_function){ kind,
					     (uintptr_t)gr_calibration_called };
	req->alloc.nfunctions = 1;
	return req;
}

/** Trace the child. The request is freed. */
static void trace(enum gr_alloc_way way, struct gr_request *req,
		  struct seen *seen, struct gr_alloc_sums *sums)
{
	struct gr_calibration *c = gr_calibration_new();
	struct gr_alloc_probes *p;

	assert_non_null(c);
	struct gr_error *err = gr_alloc_probes_load(gr_calibration_pid(c), req,
						    way, take, seen, &p);
	if (!err)
		err = gr_alloc_probes_attach(p);
	if (err)
		fail_msg("%s", err->message);
	assert_true(gr_calibration_calls(c, 10) > 0);
	gr_alloc_probes_set(p, GR_NATIVE_OPEN, 3);
	assert_true(gr_calibration_calls(c, CALLS) > 0);
	gr_alloc_probes_set(p, GR_NATIVE_CLOSED, 3);
	assert_true(gr_calibration_calls(c, 10) > 0);
	gr_alloc_probes_detach(p);
	assert_true(gr_calibration_calls(c, 10) > 0);
	gr_alloc_probes_read(p);
	*sums = gr_alloc_probes_sums(p);
	gr_alloc_probes_destroy(p);
	gr_calibration_destroy(c);
	free(req);
}

static void check_way(enum gr_alloc_way way)
{
	struct gr_alloc_sums sums;
	struct seen seen = { 0 };

	need_rights();
	trace(way, request(GR_ALLOC_MALLOC), &seen, &sums);
	assert_int_equal(seen.allocs, CALLS);
	assert_int_equal(seen.damaged, 0);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(sums.calls, CALLS);
	assert_int_equal(sums.events, CALLS);
	assert_int_equal(sums.lost, 0);
	assert_true(sums.ns > 0);
}

TEST(calls_are_seen_by_a_session)
{
	check_way(GR_ALLOC_SESSION);
}

TEST(calls_are_seen_by_a_pair)
{
	check_way(GR_ALLOC_PAIR);
}

TEST(calls_are_seen_by_perf_events)
{
	check_way(GR_ALLOC_PERF);
}

TEST(frees_are_seen)
{
	struct gr_alloc_sums sums;
	struct seen seen = { 0 };

	need_rights();
	trace(GR_ALLOC_SESSION, request(GR_ALLOC_FREE), &seen, &sums);
	assert_int_equal(seen.frees, CALLS);
	assert_int_equal(sums.calls, 0);
}

TEST(sizes_are_filtered)
{
	struct gr_request *req = request(GR_ALLOC_MALLOC);
	struct gr_alloc_sums sums;
	struct seen seen = { 0 };

	need_rights();
	req->alloc.min_bytes = 11;
	req->alloc.max_bytes = 30;
	trace(GR_ALLOC_SESSION, req, &seen, &sums);
	assert_int_equal(seen.allocs, 20);
	assert_int_equal(sums.calls, 20);
}

TEST(a_part_of_the_calls_is_sampled)
{
	struct gr_request *req = request(GR_ALLOC_MALLOC);
	struct gr_alloc_sums sums;
	struct seen seen = { 0 };

	need_rights();
	req->alloc.sample = 4;
	trace(GR_ALLOC_SESSION, req, &seen, &sums);
	// 250 are expected, with a deviation of 14.
	assert_in_range(seen.allocs, 150, 350);
	assert_int_equal(sums.calls, CALLS);
}

TEST(operator_new_has_no_return_probe_without_sessions)
{
	struct gr_alloc_sums sums;
	struct seen seen = { 0 };

	need_rights();
	trace(GR_ALLOC_PAIR, request(GR_ALLOC_NEW), &seen, &sums);
	assert_int_equal(seen.allocs, 0);
}

TEST(calls_that_are_lost_have_their_price)
{
	const struct gr_alloc_costs costs = { .call_ns = 1000,
					      .hit_ns = 10,
					      .free_ns = 100 };
	struct gr_native_counts n = { .frees = 3, .skipped = 4 };

	n.events.events = 2;
	n.events.ns = 5;
	assert_int_equal(gr_alloc_costs_sum(&costs, &n), 2345);
	n.lost = 7;
	assert_int_equal(gr_alloc_costs_sum(&costs, &n), 9345);
}

GR_SUITE("probes at functions of allocators")
