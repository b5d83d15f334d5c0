/* SPDX-License-Identifier: Apache-2.0 */
/**
 * billed: for each object of the graph, the root that `scan` bills.
 *
 * It is the root of the chain of `why`. Only in one case does a scan bill
 * another one: variables that lead to parts of one array are billed for what is
 * behind their own part, and the chain begins at the variable of the array.
 */
#ifndef GR_BILLED_H
#define GR_BILLED_H

#include "graph/keys.h"
#include "heapgraph/heapgraph.h"
#include "mark/tree.h"

struct gr_answers;

/** The chains of the walk that bills each object to its nearest root. */
struct gr_billed {
	struct gr_answers *answers;
	struct gr_keys goroutines; /**< By first objects that stacks lead to. */
	/** By object: a number of the caller's; UINT32_MAX: none yet. */
	uint32_t *number_of;
};

/**
 * Prepare the chains. The graph has been made.
 *
 * @param number_of By object of the graph; it belongs to the caller.
 */
struct gr_error *gr_billed_init(struct gr_billed *billed,
				struct gr_answers *answers,
				uint32_t *number_of) GR_MUST_CHECK;
void gr_billed_deinit(struct gr_billed *billed);

/** The beginning of a chain. */
struct gr_billed_root {
	const struct gr_root_total *root;
	uint32_t goroutine; /**< Index of the goroutine; or UINT32_MAX. */
};

/**
 * Give each object the number of the root of its chain.
 *
 * @param number Returns a root's number through @p ret. It is asked once for
 *	each object that a root leads to.
 */
struct gr_error *gr_billed_number(
	struct gr_billed *billed,
	struct gr_error *(*number)(void *ctx, const struct gr_billed_root *root,
				   uint32_t *ret),
	void *ctx) GR_MUST_CHECK;

#endif /* GR_BILLED_H */
