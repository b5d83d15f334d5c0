/* SPDX-License-Identifier: Apache-2.0 */
/** check_pools: tells arrays of a pool that are far larger than the others. */
#ifndef GR_CHECK_POOLS_H
#define GR_CHECK_POOLS_H

#include "base/base.h"

enum {
	GR_OUTLIER_TIMES = 8,	      /* of the median */
	GR_OUTLIER_BYTES = 64 * 1024, /* and more than this */
};

/** The index of the median of @p n sizes that rise, at least one; of two, the
 * smaller one is it. */
static inline size_t gr_median_index(size_t n)
{
	return (n - 1) / 2;
}

/** Is an array far larger than the others? */
static inline bool gr_is_outlier(uint64_t bytes, uint64_t median)
{
	return bytes > GR_OUTLIER_BYTES && bytes > median * GR_OUTLIER_TIMES;
}

#endif /* GR_CHECK_POOLS_H */
