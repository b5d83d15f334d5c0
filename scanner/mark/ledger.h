/* SPDX-License-Identifier: Apache-2.0 */
/** ledger: the totals and times that a walk accounts for. Plain types. */
#ifndef GR_LEDGER_H
#define GR_LEDGER_H

#include "base/base.h"
#include "inferior/gaps.h"
#include "mark/node.h"

/**
 * The phases of a scan, in order, with their names in the table of times.
 * Together they are the whole time of the scan. `estimate` is the first reading
 * of a process that still runs. `result` is the work after a walk: sums, names
 * for the cache.
 */
#define GR_PHASES(X)  \
	X(symbols)    \
	X(estimate)   \
	X(heap)       \
	X(capture)    \
	X(goroutines) \
	X(roots)      \
	X(typed)      \
	X(mask)       \
	X(result)     \
	X(output)

enum gr_phase {
#define X(name) GR_PHASE_##name,
	GR_PHASES(X)
#undef X
		GR_NPHASES,
};

/** The ledger: allocated objects, reached objects, and how they got a type. */
struct gr_ledger {
	struct gr_total allocated;
	struct gr_total reached; /**< = the next four. */
	struct gr_total typed;	 /**< DWARF's type of the referrer gives it. */
	/** Type from the runtime's record beside the pointer: interfaces. */
	struct gr_total runtime_type;
	struct gr_total header;	   /**< Type from the object's own header. */
	struct gr_total masked;	   /**< By pointer masks only. */
	struct gr_total unreached; /**< allocated - reached */
	/** Reached, but counted on an ancestor's node: the tree is full. */
	struct gr_total folded;
	struct gr_gaps gaps;
	uint64_t phases_us[GR_NPHASES];
	uint64_t peak_private_bytes;
	/** The walk was ended early: totals are lower bounds. */
	bool is_partial;
	/** The limit that ended the walk; NULL: poll did. The scan owns it. */
	const char *end_reason;
};

/** A pointer into a slot that is not allocated. */
struct gr_free_slot {
	uint64_t addr;	  /**< Value of the pointer. */
	uint64_t held_by; /**< Base of the object it lies in; 0: a root. */
};

/** The number of such pointers that are kept. */
#define GR_FREE_SLOTS_MAX 20

#endif /* GR_LEDGER_H */
