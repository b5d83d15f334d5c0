/* SPDX-License-Identifier: Apache-2.0 */
/**
 * owners: which stack has made each page resident.
 *
 * Pages that are resident now, and were not at the last tick, are joined with
 * the faults in between. A fault may map other pages along with its own: those
 * around it of a file (fault_around_bytes), or all of a large page. Memory that
 * was populated as it was mapped has no fault. That is how a page without a fault
 * gets a stack, if no event was missed.
 */
#ifndef GR_GROWTH_OWNERS_H
#define GR_GROWTH_OWNERS_H

#include "growth/touches.h"
#include "inferior/residency.h"

/** Pages [start, end) that one stack has made resident; 0: none is known. */
struct gr_owned_pages {
	uint64_t start, end;
	uint32_t stack;
	/** No fault of their own tells it. The process runs while its pages are
	 * read, so that one may yet come with the events of the next tick. */
	bool is_inferred;
};
GR_VECTOR(gr_owned_vector, struct gr_owned_pages);

/** Pages that were resident at a tick. */
struct gr_page_range {
	uint64_t start, end;
};
GR_VECTOR(gr_page_ranges, struct gr_page_range);

/** Bytes that came and went since the last tick. */
struct gr_flow {
	uint64_t new_bytes, gone_bytes;
	uint64_t unattributed_bytes; /**< The part of new_bytes. */
};

/** The pages of the last tick, and the owners of those that are new since the
 * first one. Zero-initialised, there was no tick. With has_begun alone, there
 * was one without pages. */
struct gr_owners {
	bool has_begun;
	struct gr_page_ranges before;
	struct gr_owned_vector owned; /**< By address, without overlaps. */
};

void gr_owners_deinit(struct gr_owners *owners);

/**
 * Take the pages of a tick. At the first one, all are old.
 *
 * @param touches Settled; what was seen since the last tick.
 */
struct gr_error *gr_owners_update(struct gr_owners *owners,
				  const struct gr_residency *now,
				  const struct gr_touches *touches,
				  const struct gr_poll *poll,
				  struct gr_flow *ret) GR_MUST_CHECK;

#endif /* GR_GROWTH_OWNERS_H */
