/* SPDX-License-Identifier: Apache-2.0 */
/** costs: the time and memory that a scan takes, and its limit. */
#ifndef GR_COSTS_H
#define GR_COSTS_H

#include "base/meter.h"
#include "mark/ledger.h"
#include "scan/open.h"

struct gr_costs {
	struct gr_meter meter;
	const struct gr_ledger *walking; /**< The running walk, or NULL. */
	uint64_t phases_us[GR_NPHASES];
	uint64_t phase_start_us;
	uint64_t first_private_bytes, peak_private_bytes;
	uint64_t symbols_bytes; /**< Peak memory after reading the program. */
	struct gr_estimate estimate;
};

#endif /* GR_COSTS_H */
