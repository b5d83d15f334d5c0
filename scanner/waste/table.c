// SPDX-License-Identifier: Apache-2.0
/* The checks, and their names. */
#include "waste/check.h"

static const struct gr_check *const checks[GR_NWASTE_CHECKS] = {
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

const struct gr_check *gr_waste_check(enum gr_waste_check id)
{
	static const struct gr_check none = { .advice = "" };

	return checks[id] ? checks[id] : &none;
}

const char *gr_waste_check_name(enum gr_waste_check check)
{
	static const char *const names[] = {
#define X(id, name, values) [GR_WASTE_##id] = name,
		GR_WASTE_CHECKS(X)
#undef X
	};

	return names[check];
}

bool gr_waste_check_needs_values(enum gr_waste_check check)
{
	static const bool needs[] = {
#define X(id, name, values) [GR_WASTE_##id] = values,
		GR_WASTE_CHECKS(X)
#undef X
	};

	return needs[check];
}

bool gr_waste_is_asked(const struct gr_waste_run *run, enum gr_waste_check id)
{
	return (run->options->checks >> id & 1) &&
	       (run->has_values || !gr_waste_check_needs_values(id));
}
