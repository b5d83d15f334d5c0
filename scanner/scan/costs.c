// SPDX-License-Identifier: Apache-2.0
#include "scan/costs.h"

#include "scan/scan.h"

#include <sched.h>
#include <time.h>

uint64_t gr_costs_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

void gr_costs_note_memory(struct gr_costs *costs)
{
	uint64_t now = gr_meter_private_bytes(&costs->meter);

	if (now > costs->first_private_bytes &&
	    now - costs->first_private_bytes > costs->peak_private_bytes)
		costs->peak_private_bytes = now - costs->first_private_bytes;
}

void gr_costs_end_phase(struct gr_costs *costs, enum gr_phase phase)
{
	uint64_t now = gr_costs_now_us();

	costs->phases_us[phase] += now - costs->phase_start_us;
	costs->phase_start_us = now;
	gr_costs_note_memory(costs);
}

/* Opening may use this much memory whatever the limit is, so that goref can
 * tell how much a walk needs. */
#define OPENING_BYTES (UINT64_C(32) << 20)

void gr_scan_set_memory_limit(struct gr_scan *scan, uint64_t bytes)
{
	gr_meter_deinit(&scan->costs.meter);
	gr_meter_init(&scan->costs.meter, bytes);
	scan->costs.meter.floor_bytes = scan->costs.walking ? 0 : OPENING_BYTES;
}

void gr_costs_begin_walk(struct gr_costs *costs, enum gr_scan_step step,
			 const struct gr_ledger *ledger)
{
	costs->walk = step;
	costs->walking = ledger;
	costs->meter.floor_bytes = 0;
}

void gr_costs_end_walk(struct gr_costs *costs)
{
	costs->walking = NULL;
	costs->meter.floor_bytes = OPENING_BYTES;
}

unsigned int gr_costs_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : n;
}
