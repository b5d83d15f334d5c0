// SPDX-License-Identifier: Apache-2.0
#include "goruntime/heap/heap_arenas.h"

#include <inttypes.h>

/* Addresses of user space end here on amd64 and arm64. */
#define MAX_INDEX (UINT64_C(1) << (48 - GR_ARENA_SHIFT))

struct gr_error *gr_heap_check_geometry(const struct gr_layout *layout)
{
	if (layout->consts.page_bytes != 1 << GR_PAGE_SHIFT ||
	    layout->consts.arena_bytes != 1 << GR_ARENA_SHIFT ||
	    layout->consts.arena_l1_bits < 0 ||
	    layout->consts.arena_l1_bits > 16 ||
	    layout->consts.arena_l2_bits <= 0 ||
	    layout->consts.arena_l2_bits > 48)
		return gr_error_format(
			GR_ERROR_LAYOUT,
			"unknown page or arena geometry (page %" PRId64
			" bytes, arena %" PRId64 ")",
			layout->consts.page_bytes, layout->consts.arena_bytes);
	return NULL;
}

struct gr_error *gr_heap_arena_record(struct gr_runtime *rt, uint64_t addr,
				      uint64_t *ret)
{
	const struct gr_layout *layout = &rt->layout;
	struct gr_error *err;
	uint64_t l2;
	uint64_t index = (addr - (uint64_t)layout->consts.arena_base) /
			 layout->consts.arena_bytes;
	uint64_t l1 = index >> layout->consts.arena_l2_bits;

	*ret = 0;
	if (layout->consts.arena_l1_bits ? l1 >> layout->consts.arena_l1_bits :
					   l1 != 0)
		return NULL;
	index &= (UINT64_C(1) << layout->consts.arena_l2_bits) - 1;
	err = gr_image_read_u64(
		rt->image,
		layout->vars.mheap + layout->mheap.arenas.off + l1 * 8, &l2);
	if (!err)
		err = gr_image_read_u64(rt->image, l2 + index * 8, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

struct gr_error *gr_heap_arenas_read(struct gr_runtime *rt, uint64_t start,
				     uint64_t end, struct gr_heap_arenas *ret)
{
	uint64_t index = start >> GR_ARENA_SHIFT;
	uint64_t stop = start < end ? ((end - 1) >> GR_ARENA_SHIFT) + 1 : index;
	struct gr_error *err = gr_heap_check_geometry(&rt->layout);

	if (ret->size && index <= ret->data[ret->size - 1].index)
		index = ret->data[ret->size - 1].index + 1;
	if (stop > MAX_INDEX)
		stop = MAX_INDEX;
	for (; !err && index < stop; index++) {
		struct gr_heap_arena arena = { .index = index };

		err = gr_heap_arena_record(rt, index << GR_ARENA_SHIFT,
					   &arena.record);
		if (!err && arena.record && !gr_heap_arenas_append(ret, arena))
			return &gr_enomem;
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

bool gr_heap_arenas_have(const struct gr_heap_arenas *arenas, uint64_t addr)
{
	uint64_t index = addr >> GR_ARENA_SHIFT;
	size_t n = gr_count_before(arenas->size, i,
				   arenas->data[i].index <= index);

	return n && arenas->data[n - 1].index == index;
}

void gr_heap_arenas_before(const struct gr_heap_arenas *arenas, uint64_t start,
			   uint64_t end, uint64_t *stop, uint64_t *next)
{
	size_t n = gr_count_before(arenas->size, i,
				   arenas->data[i].index < start >>
					   GR_ARENA_SHIFT);

	*stop = *next = end;
	if (n == arenas->size ||
	    arenas->data[n].index > (end - 1) >> GR_ARENA_SHIFT)
		return;
	uint64_t arena = arenas->data[n].index << GR_ARENA_SHIFT;

	*stop = arena > start ? arena : start;
	if (end - arena > UINT64_C(1) << GR_ARENA_SHIFT)
		*next = arena + (UINT64_C(1) << GR_ARENA_SHIFT);
}
