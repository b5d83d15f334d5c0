/* SPDX-License-Identifier: Apache-2.0 */
/** names: rows get their names, and those of one name become one. */
#ifndef GR_WASTE_NAMES_H
#define GR_WASTE_NAMES_H

#include "waste/objects/check.h"

/** Name all rows, add those with equal names to the first of them
 * (gr_finding.row), and find out which are small. */
struct gr_error *gr_waste_name_rows(struct gr_waste_run *run) GR_MUST_CHECK;

/** Is it a row of the answer: no part of another one, and not small? */
bool gr_waste_is_listed(const struct gr_waste_run *run, uint32_t row);

/** Fill the rows of the answer, sorted. */
struct gr_error *gr_waste_list_rows(struct gr_waste_run *run) GR_MUST_CHECK;

#endif /* GR_WASTE_NAMES_H */
