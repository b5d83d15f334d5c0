/* SPDX-License-Identifier: Apache-2.0 */
/** total: what all rows of the answer would save together. */
#ifndef GR_WASTE_TOTAL_H
#define GR_WASTE_TOTAL_H

#include "waste/objects/check.h"

/**
 * Fill gr_waste.total_bytes. Objects that would be gone save their slots and
 * nothing else. Another object saves the most that one of its rows says; its
 * unused capacity and its part that is not reached are separate.
 */
struct gr_error *gr_waste_add_up_total(struct gr_waste_run *run) GR_MUST_CHECK;

#endif /* GR_WASTE_TOTAL_H */
