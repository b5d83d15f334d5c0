// SPDX-License-Identifier: Apache-2.0
#include "inferior/gaps.h"

static const char *const names[] = {
#define X(id, name) name,
	GR_GAPS(X)
#undef X
};

const char *gr_gap_name(enum gr_gap cause)
{
	return names[cause];
}
