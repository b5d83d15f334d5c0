// SPDX-License-Identifier: Apache-2.0
/* All checks. */
#include "waste/checks/table.h"

#include "waste/checks/checks.h"

const struct gr_check *const gr_waste_table[GR_NWASTE_CHECKS] = {
	[GR_WASTE_DUPLICATE_STRINGS] = &gr_check_duplicates,
	[GR_WASTE_SLICE_CAPACITY] = &gr_check_capacity,
	[GR_WASTE_PINNED_ARRAY] = &gr_check_pinned,
	[GR_WASTE_SPARSE_MAP] = &gr_check_maps,
	[GR_WASTE_CONSTANT_FIELD] = &gr_check_constant,
	[GR_WASTE_SIZE_CLASS] = &gr_check_size_class,
	[GR_WASTE_FIELD_ORDER] = &gr_check_field_order,
	[GR_WASTE_TINY_OBJECTS] = &gr_check_tiny,
	[GR_WASTE_GOROUTINE_STACK] = &gr_check_stacks,
	[GR_WASTE_STUCK_FINALIZER] = &gr_check_finalizers,
	[GR_WASTE_GC_HEADROOM] = &gr_check_headroom,
	[GR_WASTE_CONTEXT_CHILDREN] = &gr_check_contexts,
	[GR_WASTE_POOL] = &gr_check_pools,
	[GR_WASTE_FAR_TIMERS] = &gr_check_timers,
	[GR_WASTE_LIBRARY_TAX] = &gr_check_library_tax,
};
