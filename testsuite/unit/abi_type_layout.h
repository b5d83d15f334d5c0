/* SPDX-License-Identifier: Apache-2.0 */
/**
 * abi_type_layout: where tests have the fields of a type (internal/abi.Type).
 */
#pragma once

#include "goruntime/layout/layout.h"

enum { TYPE_BYTES = 48 };

static inline void set_type_layout(struct gr_layout *layout)
{
	layout->type.size_bytes = TYPE_BYTES;
	layout->type.size = (struct gr_field){ 0, 8 };
	layout->type.ptr_bytes = (struct gr_field){ 8, 8 };
	layout->type.tflag = (struct gr_field){ 20, 1 };
	layout->type.kind = (struct gr_field){ 23, 1 };
	layout->type.gcdata = (struct gr_field){ 32, 8 };
	layout->type.str = (struct gr_field){ 40, 4 };
	layout->consts.kind_mask = 31;
}
