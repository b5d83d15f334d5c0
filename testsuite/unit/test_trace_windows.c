// SPDX-License-Identifier: Apache-2.0
/* When the windows of the mode native are open, with a clock that is ours and a
 * process that pays what it was said to pay. */
#include "helpers/trace/windows.h"

#include "suite.h"

enum { MS = 1000000, STEP_MS = 5 };

static const uint64_t S = 1000000000;

/** A process and the windows that it sees. */
struct run {
	struct gr_windows w;
	uint64_t now, spent, opened, open_ns, shortest, longest;
	uint64_t first[8], nfirst; /* the first openings */
	uint32_t opens, closes, nexts;
	double calls_per_s;
	uint64_t call_ns, hit_ns;
};

static struct run begin_with(double calls_per_s, uint64_t ppm, uint64_t seed,
			     uint64_t period_ns)
{
	struct run r = { .now = 5 * S,
			 .calls_per_s = calls_per_s,
			 .call_ns = 2300,
			 .hit_ns = 480,
			 .shortest = UINT64_MAX };

	gr_windows_set_cost(&r.w, calls_per_s, r.call_ns, r.hit_ns, 50 * MS);
	gr_windows_begin(&r.w, r.now, period_ns, ppm, 0, seed);
	return r;
}

static struct run begin(double calls_per_s, uint64_t ppm, uint64_t seed)
{
	return begin_with(calls_per_s, ppm, seed, 10 * S);
}

static void closed(struct run *r)
{
	uint64_t length = r->now - r->opened;

	r->open_ns += length;
	r->shortest = length < r->shortest ? length : r->shortest;
	r->longest = length > r->longest ? length : r->longest;
}

static void step(struct run *r)
{
	if (r->w.is_open)
		r->spent += (uint64_t)(r->calls_per_s * (double)r->call_ns *
				       STEP_MS / 1000);
	r->now += STEP_MS * MS;
	switch (gr_windows_step(&r->w, r->now, r->spent)) {
	case GR_WINDOWS_OPEN:
		assert_true(r->opens + r->nexts == r->closes + r->nexts);
		if (r->nfirst < GR_ARRAY_SIZE(r->first))
			r->first[r->nfirst++] = r->now;
		r->opened = r->now;
		r->opens++;
		break;
	case GR_WINDOWS_CLOSE:
		closed(r);
		r->closes++;
		r->spent += (uint64_t)(r->calls_per_s * (double)r->hit_ns / 20);
		break;
	case GR_WINDOWS_NEXT:
		closed(r);
		r->opened = r->now;
		r->nexts++;
		break;
	case GR_WINDOWS_WAIT:
		break;
	}
}

static void run(struct run *r, uint64_t seconds)
{
	for (uint64_t end = r->now + seconds * S; r->now < end;)
		step(r);
}

TEST(busy_processes_have_a_window_each_period)
{
	struct run r = begin(100000, 8000, 1);

	run(&r, 600);
	assert_in_range(r.opens, 58, 60);
	// 80 ms of 10 s are to be spent, and 2.4 of them to come and go.
	assert_true(r.spent <= 600 * S * 8 / 1000 + 80 * MS);
	assert_true(r.spent >= 600 * S * 7 / 1000);
	assert_true(r.shortest >= 300 * MS && r.longest <= 400 * MS);
}

TEST(quiet_processes_are_seen_all_the_time)
{
	struct run r = begin(1000, 8000, 1);

	run(&r, 100);
	assert_int_equal(r.opens, 1);
	assert_in_range(r.nexts, 9, 10);
	assert_int_equal(r.closes, 0);
	// A window opens at the first step.
	assert_true(r.shortest >= 10 * S - STEP_MS * MS);
	assert_true(r.longest <= 10 * S);
}

TEST(very_busy_processes_save_up_for_a_window)
{
	struct run r = begin(2000000, 8000, 1);

	run(&r, 600);
	// 80 ms a period pay for 17 ms: below what is worth a change of probes.
	assert_in_range(r.opens, 5, 30);
	assert_true(r.shortest >= 5 * MS);
	assert_true(r.spent <= 600 * S * 8 / 1000 + 100 * MS);
}

TEST(any_process_saves_up_for_a_window_in_short_periods)
{
	struct run r = begin_with(1000000, 8000, 1, S);

	run(&r, 600);
	// A window of 50 ms costs 115 ms, of which a period pays 8.
	assert_in_range(r.opens, 5, 50);
	assert_true(r.spent <= 600 * S * 8 / 1000 + 300 * MS);
}

TEST(any_rate_has_windows)
{
	struct run r = begin(20000000, 8000, 1);

	run(&r, 3600);
	assert_in_range(r.opens, 3, 20);
	assert_true(r.spent <= 3600 * S * 8 / 1000 + 3 * S);
}

TEST(without_a_limit_all_is_seen)
{
	struct run r = begin(2000000, 0, 1);

	run(&r, 30);
	assert_int_equal(r.opens, 1);
	assert_int_equal(r.closes, 0);
}

TEST(full_is_one_window)
{
	struct run r = begin(2000000, 8000, 1);

	r.w.is_full = true;
	run(&r, 100);
	assert_int_equal(r.opens, 1);
	assert_int_equal(r.nexts + r.closes, 0);
}

TEST(chance_decides_when_a_window_opens)
{
	uint64_t early = 0, late = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct run r = begin(100000, 8000, seed);
		run(&r, 10);
		assert_int_equal(r.nfirst, 1);
		uint64_t at = r.first[0] - 5 * S;
		early += at < 5 * S;
		late += at >= 5 * S;
	}
	assert_in_range(early, 60, 140);
	assert_int_equal(early + late, 200);
}

TEST(a_process_that_becomes_busy_is_left_in_time)
{
	struct run r = begin(1000, 8000, 1);

	run(&r, 15);
	r.calls_per_s = 1000000;
	for (int i = 0; i < 2000 && !r.closes; i++)
		step(&r);
	assert_int_equal(r.closes, 1);
	// No more than was saved up, and a step.
	assert_true(r.spent <= 8 * 80 * MS + 12 * MS * 5);
}

TEST(what_was_spent_before_is_owed)
{
	struct gr_windows w = { 0 };

	gr_windows_set_cost(&w, 100000, 2300, 480, 50 * MS);
	gr_windows_begin(&w, S, 10 * S, 8000, 79 * MS, 1);
	assert_true(w.opens_ns == 0);
	w = (struct gr_windows){ 0 };
	gr_windows_set_cost(&w, 100000, 2300, 480, 50 * MS);
	gr_windows_begin(&w, S, 10 * S, 8000, 45 * MS, 1);
	assert_true(w.opens_ns >= S && w.closes_ns <= 11 * S);
	assert_in_range((w.closes_ns - w.opens_ns) / MS, 135, 145);
}

GR_SUITE("windows of the mode native")
