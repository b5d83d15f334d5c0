/* SPDX-License-Identifier: Apache-2.0 */
/** table: all checks by their numbers. */
#ifndef GR_WASTE_TABLE_H
#define GR_WASTE_TABLE_H

#include "waste/objects/check.h"

extern const struct gr_check *const gr_waste_table[GR_NWASTE_CHECKS];

#endif /* GR_WASTE_TABLE_H */
