/* SPDX-License-Identifier: Apache-2.0 */
/**
 * waste: memory that could be saved without changing what the program does.
 *
 * Each check is one file, checks/check_NAME.c. Bytes are those of the
 * allocator's slots: the slot now less the slot afterwards. An object is what a
 * walk has reached: garbage wastes nothing that a change of the program would
 * save.
 */
#ifndef GR_WASTE_H
#define GR_WASTE_H

#include "base/error.h"
#include "waste/objects/answer.h"

struct gr_scan;

/**
 * Find waste. Checks that need values which the target does not have are not
 * asked; gr_waste.asked says so. The object graph is made only for a check that
 * has found something that is not small.
 */
struct gr_error *gr_scan_waste(struct gr_scan *scan,
			       const struct gr_waste_options *options,
			       struct gr_waste **ret) GR_MUST_CHECK;
void gr_waste_destroy(struct gr_waste *waste);

#endif /* GR_WASTE_H */
