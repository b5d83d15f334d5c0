/* SPDX-License-Identifier: Apache-2.0 */
/** checks: all checks, each in the file check_NAME.c. */
#ifndef GR_WASTE_CHECKS_H
#define GR_WASTE_CHECKS_H

#include "waste/objects/check.h"

extern const struct gr_check gr_check_duplicates, gr_check_capacity,
	gr_check_pinned, gr_check_maps, gr_check_constant, gr_check_stacks,
	gr_check_finalizers, gr_check_headroom, gr_check_contexts,
	gr_check_pools, gr_check_size_class, gr_check_field_order,
	gr_check_tiny, gr_check_timers, gr_check_library_tax;

#endif /* GR_WASTE_CHECKS_H */
