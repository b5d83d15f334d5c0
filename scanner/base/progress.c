// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

const char *gr_scan_step_name(enum gr_scan_step step)
{
	static const char *const names[] = {
#define X(id, name) [GR_SCAN_STEP_##id] = name,
		GR_SCAN_STEPS(X)
#undef X
	};

	return names[step];
}
