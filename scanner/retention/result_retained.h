/* SPDX-License-Identifier: Apache-2.0 */
/** result_retained: what the roots of a walk keep alive. */
#ifndef GR_RESULT_RETAINED_H
#define GR_RESULT_RETAINED_H

#include "walks/result.h"

/**
 * Count the bytes that each root alone keeps alive, in the order of
 * gr_result_roots(), for free(): what would be freed if nothing else held what
 * it holds. Several vertices of one root, such as a local of many goroutines,
 * count together. Makes the object graph. The result is of a walk from all
 * roots.
 *
 * @param max_roots Only the first ones; the others have UINT64_MAX. 0: all.
 */
struct gr_error *gr_result_retained(struct gr_scan *scan,
				    const struct gr_result *result,
				    size_t max_roots,
				    uint64_t **ret) GR_MUST_CHECK;

#endif /* GR_RESULT_RETAINED_H */
