/* SPDX-License-Identifier: Apache-2.0 */
/** result_dominators: the dominator tree as the result of a walk. */
#ifndef GR_RESULT_DOMINATORS_H
#define GR_RESULT_DOMINATORS_H

#include "walks/result.h"

/**
 * The dominator tree as a result, for profiles: a node's path has what dominates
 * its objects, by names. Objects and bytes of all nodes add up to what the walk
 * reached. The ledger is that of @p result, a complete walk from all roots. The
 * roots are those on the first level; there are no types.
 *
 * @param max_depth, max_nodes As in gr_walk_options.
 */
struct gr_error *gr_result_dominators(struct gr_scan *scan,
				      const struct gr_result *result,
				      uint32_t max_depth, uint32_t max_nodes,
				      struct gr_result **ret) GR_MUST_CHECK;

#endif /* GR_RESULT_DOMINATORS_H */
