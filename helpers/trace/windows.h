/* SPDX-License-Identifier: Apache-2.0 */
/**
 * windows: when the probes of the mode native are open. The time of the trace is
 * divided into periods. In each period there is one window, at a moment that
 * chance decides, and as long as the account of processor time permits; or none,
 * until enough is saved up. Where all calls are affordable, the probes stay, and
 * a window is a whole period.
 *
 * Chance makes the estimates fair (a program may do something each second), and
 * a window of each period makes them cover the whole time.
 */
#ifndef GR_TRACE_WINDOWS_H
#define GR_TRACE_WINDOWS_H

#include "base/base.h"

/** The answer of gr_windows_step(). */
enum gr_windows_step {
	GR_WINDOWS_WAIT,
	GR_WINDOWS_OPEN,  /**< Attach the probes, and open a window. */
	GR_WINDOWS_CLOSE, /**< Close it, and take the probes away. */
	GR_WINDOWS_NEXT,  /**< Close it, and open the next one at once. */
};

struct gr_windows {
	uint64_t period_ns, budget_ppm;
	bool is_full; /**< One window, which never closes. */
	/** Processor time of the process for a second of an open window; and
	 * for the time in which probes come and go. */
	double open_cost, change_cost_ns;
	double account_ns; /**< It may be spent; below 0 in debt. */
	uint64_t spent_ns; /**< As it was told last. */
	uint64_t period_end_ns;
	uint64_t opens_ns,
		closes_ns; /**< 0: there is no more in this period. */
	bool is_open;
	uint64_t random;
};

/**
 * Begin. The costs have to be known.
 *
 * @param budget_ppm The share of a processor that the probes may take; 0: there
 *	is no limit.
 * @param spent_ns The processor time that the process has paid so far. This
 *	already belongs to the account.
 */
void gr_windows_begin(struct gr_windows *w, uint64_t now_ns, uint64_t period_ns,
		      uint64_t budget_ppm, uint64_t spent_ns, uint64_t seed);

/**
 * Say what is known of the costs.
 *
 * @param calls_per_s Those of the process.
 * @param call_ns Processor time that one costs in a window.
 * @param hit_ns The same while probes are there, and no window is open.
 * @param change_ns The time in which probes come and go, for one window.
 */
void gr_windows_set_cost(struct gr_windows *w, double calls_per_s,
			 uint64_t call_ns, uint64_t hit_ns, uint64_t change_ns);

/** Find out what to do now. @p spent_ns grows. */
enum gr_windows_step gr_windows_step(struct gr_windows *w, uint64_t now_ns,
				     uint64_t spent_ns);

/** The length of a window, in ns, that the budget of a period pays for; the
 * length of the period if that is all of it. */
uint64_t gr_windows_length(const struct gr_windows *w, double account_ns);

#endif /* GR_TRACE_WINDOWS_H */
