/* SPDX-License-Identifier: Apache-2.0 */
/** verify: compare the walk with the allocator and its statistics. */
#ifndef GR_VERIFY_H
#define GR_VERIFY_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "mark/ledger.h"
#include "walks/verify_native.h"

struct gr_scan;

/** Objects of one span class (runtime/mheap.go: spanClass). */
struct gr_class_total {
	uint8_t spanclass;   /**< Size class << 1 | noscan. */
	uint64_t elem_bytes; /**< Size of a slot; 0 for large objects. */
	struct gr_total allocated, reached;
};

/** An object that is allocated but not reached. */
struct gr_difference {
	uint64_t addr;
	uint64_t bytes;	  /**< Size of its slot, as in totals. */
	const char *type; /**< "" if it is not known. */
	/** The reason; NULL: unexplained, which is an error. */
	const char *reason;
};

/** The answer to `goref verify`. Belongs to the caller. */
struct gr_verdict {
	struct gr_total allocated, reached;
	/**
	 * Objects that survived the last collection, in slots that allocations
	 * have not come near since; and those of them that are reached. If
	 * most are not reached, the scan may miss a kind of root.
	 */
	struct gr_total kept, kept_reached;
	bool is_most_lost;
	uint64_t free_slot_pointers;
	struct gr_free_slot free_slots[GR_FREE_SLOTS_MAX]; /**< The first. */
	size_t nfree_slots;
	/** Pointers in reached memory to objects that were not reached. */
	uint64_t missed_pointers;
	/** The runtime's own statistics, and the same figures from spans. */
	bool has_stats;
	struct gr_total stats, rebuilt;
	struct gr_class_total *classes; /**< Where the two differ. */
	size_t nclasses;
	struct gr_difference *differences; /**< The first, by address. */
	size_t ndifferences;
	struct gr_native_verdict native; /**< The memory of C. */
	uint64_t unexplained;		 /**< 0: everything is accounted for. */
	struct gr_gaps gaps;
};

/**
 * Compare the walk with the allocator. Every allocated object must be reached
 * or have a reason not to be, no precise pointer may lead to a free slot, and
 * the runtime's own totals must match to the byte; so must those of C
 * allocators. Explained differences are listed up to @p max_differences.
 */
struct gr_error *gr_scan_verify(struct gr_scan *scan, size_t max_differences,
				struct gr_verdict **ret) GR_MUST_CHECK;
void gr_verdict_destroy(struct gr_verdict *verdict);

#endif /* GR_VERIFY_H */
