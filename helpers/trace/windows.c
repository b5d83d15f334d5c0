// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/windows.h"

enum {
	SHORTEST_MS = 50, // below it, attaching costs more
	BANKED_PERIODS = 8,
};

static const double NS = 1e9;

static double budget_of(const struct gr_windows *w)
{
	return (double)w->period_ns * (double)w->budget_ppm / 1e6;
}

/* A number in [0, 1): splitmix64. */
static double chance(struct gr_windows *w)
{
	uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

uint64_t gr_windows_length(const struct gr_windows *w, double account_ns)
{
	double period = (double)w->period_ns;

	if (w->is_full || !w->budget_ppm)
		return w->period_ns;
	// Probes that stay are not attached and detached.
	if (w->open_cost * period / NS <= budget_of(w) && account_ns >= 0)
		return w->period_ns;
	double left = account_ns - w->change_cost_ns;
	double length = w->open_cost > 0 ? left / w->open_cost * NS : period;
	if (length < SHORTEST_MS * 1e6)
		return 0;
	return length < period ? (uint64_t)length : w->period_ns;
}

/* The most that may be saved up. However short a period is, this pays for a window, as a
 * busy process would never have one otherwise. */
static double most_banked(const struct gr_windows *w)
{
	double banked = BANKED_PERIODS * budget_of(w);
	double least = w->open_cost * SHORTEST_MS / 1e3 + w->change_cost_ns;

	return banked > 2 * least ? banked : 2 * least;
}

/* Choose when a window opens in the period that begins. */
static void plan(struct gr_windows *w, uint64_t now_ns)
{
	uint64_t begin = w->period_end_ns;

	if (now_ns > begin + w->period_ns) // this call comes late
		begin = now_ns;
	w->period_end_ns = begin + w->period_ns;
	double most = most_banked(w);
	w->account_ns += budget_of(w);
	if (w->account_ns > most)
		w->account_ns = most;
	uint64_t length = gr_windows_length(w, w->account_ns);
	uint64_t spare = w->period_ns - length;
	w->opens_ns = w->closes_ns = 0;
	if (!length)
		return;
	w->opens_ns = begin + (uint64_t)(chance(w) * (double)spare);
	w->closes_ns = w->opens_ns + length;
}

void gr_windows_begin(struct gr_windows *w, uint64_t now_ns, uint64_t period_ns,
		      uint64_t budget_ppm, uint64_t spent_ns, uint64_t seed)
{
	w->period_ns = period_ns;
	w->budget_ppm = budget_ppm;
	w->account_ns = -(double)spent_ns;
	w->spent_ns = spent_ns;
	w->random = seed;
	w->is_open = false;
	w->period_end_ns = now_ns;
	plan(w, now_ns);
}

void gr_windows_set_cost(struct gr_windows *w, double calls_per_s,
			 uint64_t call_ns, uint64_t hit_ns, uint64_t change_ns)
{
	w->open_cost = calls_per_s * (double)call_ns;
	w->change_cost_ns =
		calls_per_s * (double)hit_ns * (double)change_ns / NS;
}

static enum gr_windows_step open_now(struct gr_windows *w)
{
	w->is_open = true;
	return GR_WINDOWS_OPEN;
}

static enum gr_windows_step close_now(struct gr_windows *w)
{
	w->is_open = false;
	w->opens_ns = 0;
	return GR_WINDOWS_CLOSE;
}

/* End a period. A window that is open here had the whole period. */
static enum gr_windows_step end_period(struct gr_windows *w, uint64_t now_ns)
{
	plan(w, now_ns);
	if (!w->is_open)
		return GR_WINDOWS_WAIT;
	bool is_whole = w->opens_ns &&
			w->closes_ns - w->opens_ns == w->period_ns;
	w->is_open = is_whole;
	return is_whole ? GR_WINDOWS_NEXT : GR_WINDOWS_CLOSE;
}

enum gr_windows_step gr_windows_step(struct gr_windows *w, uint64_t now_ns,
				     uint64_t spent_ns)
{
	w->account_ns -= (double)(spent_ns - w->spent_ns);
	w->spent_ns = spent_ns;
	if (w->is_full)
		return w->is_open ? GR_WINDOWS_WAIT : open_now(w);
	if (now_ns >= w->period_end_ns)
		return end_period(w, now_ns);
	if (!w->opens_ns)
		return GR_WINDOWS_WAIT;
	if (!w->is_open)
		return now_ns >= w->opens_ns ? open_now(w) : GR_WINDOWS_WAIT;
	bool is_broke = w->budget_ppm && w->account_ns < w->change_cost_ns / 2;
	if (now_ns >= w->closes_ns && w->closes_ns < w->period_end_ns)
		return close_now(w);
	return is_broke ? close_now(w) : GR_WINDOWS_WAIT;
}
