/* SPDX-License-Identifier: Apache-2.0 */
/** costs: the time and memory that a scan takes, and its limit. */
#ifndef GR_COSTS_H
#define GR_COSTS_H

#include "base/meter.h"
#include "base/progress.h"
#include "mark/ledger.h"
#include "scan/open.h"

/** The costs so far, of stages and of walks. */
struct gr_costs {
	struct gr_meter meter;
	const struct gr_ledger *walking; /**< The running walk, or NULL. */
	enum gr_scan_step walk;		 /**< Which one it is. */
	struct gr_progress progress;	 /**< Outside of a walk. */
	uint64_t phases_us[GR_NPHASES];
	uint64_t phase_start_us;
	uint64_t first_private_bytes, peak_private_bytes;
	uint64_t symbols_bytes; /**< Peak memory after reading the program. */
	struct gr_estimate estimate;
};

/** Microseconds of a monotonic clock. */
uint64_t gr_costs_now_us(void);

/** Measure our memory now, for the peak. */
void gr_costs_note_memory(struct gr_costs *costs);

/** Charge the time since the last call to @p phase. */
void gr_costs_end_phase(struct gr_costs *costs, enum gr_phase phase);

/** Begin a walk: its limits and its progress apply until gr_costs_end_walk(). */
void gr_costs_begin_walk(struct gr_costs *costs, enum gr_scan_step step,
			 const struct gr_ledger *ledger);
void gr_costs_end_walk(struct gr_costs *costs);

/** The processors that this process may use, at least 1. */
unsigned int gr_costs_processors(void);

#endif /* GR_COSTS_H */
