/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ranges: target addresses whose bytes are in our own address space.
 *
 * A flat table, sorted by address, without overlaps. It holds the memory in a
 * core, the segments of executables where the core has none, and captured
 * memory. Every read without a live source is one binary search in this table.
 */
#ifndef GR_RANGES_H
#define GR_RANGES_H

#include "base/base.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/target.h"

/** Target bytes [start, end), the first at @p host. Never empty. */
struct gr_range {
	uint64_t start, end;
	const uint8_t *host;
};

GR_VECTOR(gr_range_vector, struct gr_range);

/**
 * Invariants: sorted; data[i].end <= data[i + 1].start; adjacent ranges are not
 * adjacent in host memory (else they would be one range); starts[i] ==
 * data[i].start.
 */
struct gr_ranges {
	struct gr_range *data;
	uint64_t *starts;
	size_t count;
	size_t last; /**< Hint: the range that was found last. */
};

/**
 * Build the table. If ranges of @p by_priority overlap, the first one provides
 * the bytes. @p target polls.
 */
struct gr_error *gr_ranges_init(struct gr_ranges *ranges,
				const struct gr_range_vector *by_priority,
				const struct gr_target *target) GR_MUST_CHECK;
void gr_ranges_deinit(struct gr_ranges *ranges);

/** Index of the first range whose end is after @p addr, or count. */
size_t gr_ranges_search(const struct gr_ranges *ranges, uint64_t addr);

/** The range that holds @p addr, or NULL. May be called by many threads. */
static inline const struct gr_range *gr_ranges_find(struct gr_ranges *ranges,
						    uint64_t addr)
{
	size_t last = __atomic_load_n(&ranges->last, __ATOMIC_RELAXED);
	if (last < ranges->count) {
		const struct gr_range *range = &ranges->data[last];
		if (addr - range->start < range->end - range->start)
			return range;
	}
	size_t i = gr_ranges_search(ranges, addr);
	if (i == ranges->count || addr < ranges->data[i].start)
		return NULL;
	__atomic_store_n(&ranges->last, i, __ATOMIC_RELAXED);
	return &ranges->data[i];
}

/** Host address of [addr, addr + bytes) if one range holds it, or NULL. */
static inline const uint8_t *gr_ranges_host(struct gr_ranges *ranges,
					    uint64_t addr, uint64_t bytes)
{
	const struct gr_range *range = gr_ranges_find(ranges, addr);
	if (!range || bytes > range->end - addr)
		return NULL;
	return range->host + (addr - range->start);
}

#endif /* GR_RANGES_H */
