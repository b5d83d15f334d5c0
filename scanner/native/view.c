// SPDX-License-Identifier: Apache-2.0
#include "native/view.h"

struct gr_view gr_view_of(struct gr_runtime *rt)
{
	return (struct gr_view){ .rt = rt,
				 .ranges = gr_image_ranges(rt->image) };
}

bool gr_view_piece(struct gr_view *view, uint64_t start, uint64_t end,
		   struct gr_range *ret)
{
	const struct gr_ranges *ranges = view->ranges;
	uint64_t mask = GR_WORD_BYTES - 1;

	end &= ~mask;
	if (start >= end)
		return false;
	// Bounded by the ranges: those that are shorter than a word are passed.
	for (size_t i = gr_ranges_search(ranges, start);
	     i < ranges->count && ranges->data[i].start < end; i++) {
		const struct gr_range *range = &ranges->data[i];
		uint64_t from = range->start > start ? range->start : start;
		uint64_t to = range->end < end ? range->end : end;

		from = (from + mask) & ~mask;
		to &= ~mask;
		if (from >= to)
			continue;
		*ret = (struct gr_range){ from, to,
					  range->host + (from - range->start) };
		return true;
	}
	return false;
}

bool gr_view_part(struct gr_view *view, uint64_t start, uint64_t end,
		  struct gr_range *ret)
{
	if (!gr_view_piece(view, start, end, ret))
		return false;
	if (ret->end - ret->start > GR_VIEW_PART_BYTES)
		ret->end = ret->start + GR_VIEW_PART_BYTES;
	return true;
}

bool gr_view_copy(struct gr_view *view, uint64_t addr, void *ret,
		  uint64_t bytes)
{
	uint64_t end = addr + bytes;
	uint8_t *to = ret;
	struct gr_range piece;

	if (end < addr)
		return false;
	// Bounded by the words: each piece has one at least.
	for (uint64_t at = addr; at < end; at = piece.end) {
		if (!gr_view_piece(view, at, end, &piece) || piece.start != at)
			return false;
		memcpy(to + (at - addr), piece.host, piece.end - at);
	}
	return true;
}
