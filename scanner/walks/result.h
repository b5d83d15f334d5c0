/* SPDX-License-Identifier: Apache-2.0 */
/**
 * result: a walk of the heap: the reference tree, roots, types, the ledger.
 */
#ifndef GR_RESULT_H
#define GR_RESULT_H

#include "base/base.h"
#include "base/error.h"
#include "mark/ledger.h"
#include "mark/node.h"
#include "mark/options.h"

struct gr_scan;
struct gr_result;

/** Walk the heap. The result must be destroyed before its scan. */
struct gr_error *gr_scan_walk(struct gr_scan *scan,
			      const struct gr_walk_options *options,
			      struct gr_result **ret) GR_MUST_CHECK;
void gr_result_destroy(struct gr_result *result);

const struct gr_ledger *gr_result_ledger(const struct gr_result *result);

/** The unit of the sizes of a result. */
enum gr_weight gr_result_weight(const struct gr_result *result);

const struct gr_node *gr_result_nodes(const struct gr_result *result,
				      size_t *count);

/** The source lines of the nodes; NULL: no node has one. */
const struct gr_node_line *gr_result_lines(const struct gr_result *result);

/** The samples of allocations that a result is made of. */
struct gr_result_sampling {
	int64_t rate; /**< Bytes for each sample; 0: sampling is off. */
	/** The number of samples; objects and bytes are estimated from them. */
	uint64_t objects;
	bool is_disabled; /**< The linker has left sampling out. */
	bool is_cut;	  /**< The runtime's records are damaged. */
};

/** NULL: the result has all objects. */
const struct gr_result_sampling *
gr_result_sampling(const struct gr_result *result);

/** The roots, sorted by bytes, then objects, both descending, then name. */
const struct gr_root_total *gr_result_roots(const struct gr_result *result,
					    size_t *count);

/** Reached objects of one type. Sorted like the roots. */
struct gr_type_total {
	const char *type;
	struct gr_total total;
};

const struct gr_type_total *gr_result_types(const struct gr_result *result,
					    size_t *count);

#endif /* GR_RESULT_H */
