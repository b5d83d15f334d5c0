/* SPDX-License-Identifier: Apache-2.0 */
/** result_sites: sampled objects on the paths that hold them. */
#ifndef GR_RESULT_SITES_H
#define GR_RESULT_SITES_H

#include "base/error.h"
#include "walks/result.h"

struct gr_scan;

/**
 * The sampled objects that are reached, as a result for profiles: a node's path
 * has what holds its objects, by names, and then the calls that allocated them.
 * Objects and bytes are scaled, as runtime/pprof does it: at rates above 1 they
 * are estimated. The ledger is that of @p result, a complete walk from all
 * roots. There are no types.
 *
 * @param max_depth, max_nodes As in gr_walk_options; calls are not counted.
 * @return As gr_sites_read().
 */
struct gr_error *gr_result_sites(struct gr_scan *scan,
				 const struct gr_result *result,
				 uint32_t max_depth, uint32_t max_nodes,
				 struct gr_result **ret) GR_MUST_CHECK;

#endif /* GR_RESULT_SITES_H */
