// SPDX-License-Identifier: Apache-2.0
#include "goruntime/roots/root_kinds.h"

const char *gr_root_kind_name(enum gr_root_kind kind)
{
	static const char *const names[] = {
#define X(id, name) name,
		GR_ROOT_KINDS(X)
#undef X
	};

	return names[kind];
}
