/* SPDX-License-Identifier: Apache-2.0 */
/**
 * meter: measures the private memory that this process has taken since a scan
 * began, and compares it with a limit. The kernel counts the pages, so all
 * users of memory count: our tables, libdwarf's, copies of the target.
 */
#ifndef GR_METER_H
#define GR_METER_H

#include "base/base.h"
#include "base/error.h"

/** Zero-initialised, it measures nothing. */
struct gr_meter {
	int statm_fd; /**< -1: not available; nothing is measured. */
	bool is_on;
	uint64_t first_bytes; /**< Memory at the start. */
	uint64_t limit_bytes; /**< 0: none. */
	uint64_t floor_bytes; /**< Always allowed, whatever the limit. */
	uint64_t looked_ns;   /**< Time of the latest query to the kernel. */
};

/** Start the measurement. */
void gr_meter_init(struct gr_meter *meter, uint64_t limit_bytes);
void gr_meter_deinit(struct gr_meter *meter);

/** Anonymous memory of this process now, in bytes; 0 if not known. */
uint64_t gr_meter_private_bytes(const struct gr_meter *meter);

/**
 * GR_ERROR_MEMORY_LIMIT if the memory taken plus @p more_bytes exceeds the
 * limit. The check is cheap enough for every few thousand steps of a loop: if
 * @p more_bytes is at most a page, the kernel is asked only every 4 ms.
 */
struct gr_error *gr_meter_check(struct gr_meter *meter,
				uint64_t more_bytes) GR_MUST_CHECK;

#endif /* GR_METER_H */
