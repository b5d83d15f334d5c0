/* SPDX-License-Identifier: Apache-2.0 */
/** allocation: where one object was allocated, if the runtime has sampled it. */
#ifndef GR_ALLOCATION_H
#define GR_ALLOCATION_H

#include "profiles/stacks.h"

struct gr_scan;

/** The answer. Belongs to the caller. */
struct gr_allocation {
	bool is_sampled; /**< Else the rest is empty. */
	struct gr_stacks stacks;
	uint32_t stack; /**< One of stacks; or GR_NO_STACK. */
};

/**
 * Find the allocation stack of the object that has the byte at @p addr.
 *
 * @return GR_ERROR_NOT_FOUND as gr_sites_read().
 */
struct gr_error *gr_scan_allocation(struct gr_scan *scan, uint64_t addr,
				    struct gr_allocation **ret) GR_MUST_CHECK;
void gr_allocation_destroy(struct gr_allocation *allocation);

#endif /* GR_ALLOCATION_H */
