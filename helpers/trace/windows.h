/* SPDX-License-Identifier: Apache-2.0 */
/**
 * windows: when the probes of the mode native are open. The time of the trace is
 * divided into periods. Each period has at most one window, which opens at a
 * random moment and is as long as the account of processor time permits. A period
 * has no window if the account has too little. If the account pays for all calls,
 * the probes stay, and a window is a whole period.
 *
 * Random moments keep the estimates unbiased if the program does something at
 * regular times. A window in each period makes them cover the whole time.
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
	/** Processor time of the process, in ns, for a second of an open window,
	 * and for attaching and detaching the probes once. */
	double open_cost, change_cost_ns;
	double account_ns; /**< This may be spent; negative: a debt. */
	uint64_t spent_ns; /**< As the last step was told. */
	uint64_t period_end_ns;
	uint64_t opens_ns,
		closes_ns; /**< 0: no window is left in this period. */
	bool is_open;
	uint64_t random;
};

/**
 * Begin. The costs have to be known.
 *
 * @param budget_ppm The share of a processor that the probes may take; 0: there
 *	is no limit.
 * @param spent_ns The processor time that the process has paid so far. The
 *	account begins with this debt.
 */
void gr_windows_begin(struct gr_windows *w, uint64_t now_ns, uint64_t period_ns,
		      uint64_t budget_ppm, uint64_t spent_ns, uint64_t seed);

/**
 * Say what is known of the costs.
 *
 * @param calls_per_s The calls of allocators in the process.
 * @param call_ns The processor time of a call while a window is open.
 * @param hit_ns The same while the probes are attached, and no window is open.
 * @param change_ns The time to attach and detach the probes of one window.
 */
void gr_windows_set_cost(struct gr_windows *w, double calls_per_s,
			 uint64_t call_ns, uint64_t hit_ns, uint64_t change_ns);

/** Find out what to do now. @p spent_ns never decreases. */
enum gr_windows_step gr_windows_step(struct gr_windows *w, uint64_t now_ns,
				     uint64_t spent_ns);

/** The length of a window, in ns, that the budget of a period pays for; the
 * length of the period if that is all of it. */
uint64_t gr_windows_length(const struct gr_windows *w, double account_ns);

#endif /* GR_TRACE_WINDOWS_H */
