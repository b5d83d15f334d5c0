/* SPDX-License-Identifier: Apache-2.0 */
/** map_layouts: the fields of both designs of maps, as in Go 1.23 and 1.24. */
#pragma once

#include "goruntime/layout/layout.h"

/** Maps are hash tables of buckets. */
static inline void map_layout_use_buckets(struct gr_layout *layout)
{
	layout->hmap.size_bytes = 48;
	layout->hmap.count = (struct gr_field){ 0, 8 };
	layout->hmap.flags = (struct gr_field){ 8, 1 };
	layout->hmap.b = (struct gr_field){ 9, 1 };
	layout->hmap.buckets = (struct gr_field){ 16, 8 };
	layout->hmap.oldbuckets = (struct gr_field){ 24, 8 };
}

/** Maps are tables of groups. */
static inline void map_layout_use_groups(struct gr_layout *layout)
{
	layout->swiss_map.size_bytes = 48;
	layout->swiss_map.used = (struct gr_field){ 0, 8 };
	layout->swiss_map.dir_ptr = (struct gr_field){ 16, 8 };
	layout->swiss_map.dir_len = (struct gr_field){ 24, 8 };
	layout->swiss_table.size_bytes = 32;
	layout->swiss_table.groups_data = (struct gr_field){ 16, 8 };
	layout->swiss_table.groups_mask = (struct gr_field){ 24, 8 };
}
