/* SPDX-License-Identifier: Apache-2.0 */
/** why: the chain of references that holds an object. */
#ifndef GR_WHY_H
#define GR_WHY_H

#include "base/base.h"
#include "base/error.h"
#include "goruntime/roots/root_kinds.h"
#include "inferior/gaps.h"
#include "mark/options.h"

struct gr_answers;
struct gr_scan;

/** One hop of a chain, root first. */
struct gr_hop {
	const char *name;  /**< As in the tree. */
	const char *type;  /**< Type of the object reached, or "". */
	uint64_t addr;	   /**< Its address; 0 for a root in registers. */
	bool is_container; /**< As gr_memory_is_container() says. */
};

/** The answer to `goref why`. Belongs to the caller. */
struct gr_why {
	uint64_t addr;
	bool is_object;
	/** The memory of the object, without its malloc header. */
	uint64_t base_addr, bytes;
	/**
	 * The type of that memory, as gr_memory_name() writes it; "" if it is
	 * not known.
	 */
	const char *type;
	uint64_t offset; /**< addr - base_addr */
	bool is_reachable;
	const char *root_name;
	enum gr_root_kind root_kind;
	uint64_t goroutine_id; /**< For stack roots, else 0. */
	struct gr_hop *hops;
	size_t nhops;
	/** If it is not an object: "stack of goroutine 7", "free slot"; "" if
	 * it is a block of C. */
	const char *description;
	/** The gaps of the target and of the walk. */
	struct gr_gaps gaps;
};

/**
 * Find the chain that holds the memory at @p addr: the one over which a walk
 * with the attribution of @p options bills it. Other options are ignored. The
 * walk of the first question is kept until the next walk of another kind; it
 * takes 8 bytes for each slot of the heap.
 */
struct gr_error *gr_scan_why(struct gr_scan *scan,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret) GR_MUST_CHECK;
/** The same for a question that has entered. */
struct gr_error *gr_why_find(struct gr_answers *answers,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret) GR_MUST_CHECK;
void gr_why_destroy(struct gr_why *why);

#endif /* GR_WHY_H */
