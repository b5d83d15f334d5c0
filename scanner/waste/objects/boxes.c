// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/boxes.h"

struct gr_error *gr_boxes_init(struct gr_boxes *boxes, gr_obj nobjs)
{
	boxes->boxed = gr_bitmap_alloc(nobjs);
	boxes->mixed = gr_bitmap_alloc(nobjs);
	boxes->shared = gr_bitmap_alloc(nobjs);
	return boxes->boxed && boxes->mixed && boxes->shared ? NULL :
							       &gr_enomem;
}

void gr_boxes_deinit(struct gr_boxes *boxes)
{
	free(boxes->boxed);
	free(boxes->mixed);
	free(boxes->shared);
	memset(boxes, 0, sizeof(*boxes));
}

bool gr_boxes_fill(const struct gr_boxes *boxes,
		   const struct gr_reach_table *reach, gr_obj obj)
{
	const struct gr_interval *list;
	struct gr_interval one;

	return gr_reach_get(reach, obj, &one, &list) &&
	       (gr_reach_is_one_view(reach, obj) ||
		!gr_bitmap_test(boxes->mixed, obj));
}
