/* SPDX-License-Identifier: Apache-2.0 */
/** result_internal: the fields of a gr_result, for those who make one. */
#ifndef GR_RESULT_INTERNAL_H
#define GR_RESULT_INTERNAL_H

#include "mark/tree.h"
#include "mark/weight.h"
#include "walks/result.h"

/** A finished walk. Names belong to the scan. */
struct gr_result {
	struct gr_tree tree;
	struct gr_ledger ledger;
	enum gr_weight weight;	     /**< The unit of all sizes. */
	struct gr_root_total *roots; /**< Sorted. */
	struct gr_type_total *types; /**< Sorted. */
	size_t ntypes;
	struct gr_node_line *lines; /**< A line for each node; or NULL. */
	bool is_sampled;
	struct gr_result_sampling sampling; /**< If it is sampled. */
};

/** Make roots of the tree's roots, which have their totals. */
struct gr_error *gr_result_sort_roots(struct gr_result *result) GR_MUST_CHECK;

#endif /* GR_RESULT_INTERNAL_H */
