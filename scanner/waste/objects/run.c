// SPDX-License-Identifier: Apache-2.0
/* The names of the checks, and which of them are asked. */
#include "waste/objects/check.h"

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

uint64_t gr_waste_min_bytes(const struct gr_waste_run *run)
{
	double share = (double)run->options->min_share / GR_WASTE_WHOLE;

	return (uint64_t)(share * (double)run->waste->heap_bytes);
}
