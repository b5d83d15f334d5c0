// SPDX-License-Identifier: Apache-2.0
#include "native/native.h"

#include "base/sort.h"
#include "inferior/elf.h"

#include <elf.h>

void gr_native_deinit(struct gr_native *native)
{
	gr_native_allocator_vector_deinit(&native->allocators);
	gr_native_arena_vector_deinit(&native->arenas);
	gr_native_range_vector_deinit(&native->memory);
	gr_native_range_vector_deinit(&native->foreign);
	gr_native_range_vector_deinit(&native->others);
	gr_native_range_vector_deinit(&native->spare);
	gr_native_range_vector_deinit(&native->structures);
	gr_native_range_vector_deinit(&native->trimmable);
	gr_blocks_deinit(&native->blocks);
	memset(native, 0, sizeof(*native));
}

// -------------------------------------------------------------------- memory

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_native_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct gr_error *gr_native_sort_ranges(struct gr_runtime *rt,
				       struct gr_native_range_vector *list)
{
	struct gr_error *err = gr_sort(list->data, list->size,
				       sizeof(*list->data), compare_ranges,
				       rt->poll, rt->poll_ctx);
	size_t kept = 0;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_native_range range = list->data[i];

		if (range.start < end)
			range.start = end;
		if (range.start >= range.end)
			continue;
		end = range.end;
		if (kept && list->data[kept - 1].end == range.start &&
		    list->data[kept - 1].arena == range.arena)
			list->data[kept - 1].end = end;
		else
			list->data[kept++] = range;
	}
	if (!err)
		list->size = kept;
	return err;
}

static const struct gr_native_range *
range_at(const struct gr_native_range_vector *list, uint64_t addr)
{
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].start <= addr ? &list->data[n] :
							       NULL;
}

const struct gr_native_range *
gr_native_memory_at(const struct gr_native *native, uint64_t addr)
{
	return range_at(&native->memory, addr);
}

bool gr_native_is_foreign(const struct gr_native *native, uint64_t addr)
{
	return range_at(&native->foreign, addr) != NULL;
}

bool gr_native_is_spare(const struct gr_native *native, uint64_t addr)
{
	const struct gr_native_range *range = range_at(&native->spare, addr);

	return range && native->arenas.data[range->arena].is_checked;
}

bool gr_native_is_free(const struct gr_native *native, uint64_t addr)
{
	const struct gr_blocks *blocks = &native->blocks;
	const struct gr_native_range *range = gr_native_memory_at(native, addr);

	if (!range || !native->arenas.data[range->arena].is_checked ||
	    gr_native_is_foreign(native, addr))
		return false;
	uint32_t next = gr_blocks_from(blocks, addr);
	const struct gr_block *list = blocks->list.data;

	if (next < blocks->list.size &&
	    list[next].addr - addr <= 2 * GR_WORD_BYTES)
		return false;
	return !next || addr - list[next - 1].addr >
				gr_block_usable_bytes(&list[next - 1]);
}

enum gr_native_gap gr_native_gap_at(const struct gr_native *native,
				    uint64_t addr, uint64_t *ret)
{
	const struct gr_block_vector *list = &native->blocks.list;
	const struct gr_native_range *range = gr_native_memory_at(native, addr);
	uint32_t next = gr_blocks_from(&native->blocks, addr);

	if (!range || !native->arenas.data[range->arena].is_checked)
		return GR_GAP_NONE;
	*ret = next < list->size ? list->data[next].addr : 0;
	if (next < list->size &&
	    *ret - addr <= list->data[next].header_words * GR_WORD_BYTES)
		return GR_GAP_HEADER;
	*ret = native->arenas.data[range->arena].addr;
	return range_at(&native->others, addr) ? GR_GAP_NONE : GR_GAP_FREE;
}

const struct gr_mapping *
gr_native_mapping_at(const struct gr_residency *residency, uint64_t addr)
{
	const struct gr_mapping_vector *list = &residency->mappings.list;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].start <= addr ? &list->data[n] :
							       NULL;
}

struct gr_error *gr_native_module_end(struct gr_runtime *rt, uint64_t start,
				      uint64_t end, uint64_t *ret)
{
	struct gr_error *err = NULL;
	uint64_t stop;

	// Bounded by the segments of files: each step passes one.
	while (!err && start < end &&
	       (stop = gr_image_segment_end(rt->image, start)) > start) {
		start = (stop - 1) | (GR_PAGE_BYTES - 1);
		start = start < end ? start + 1 : end;
		err = gr_runtime_step(rt, 4);
	}
	*ret = start;
	return err;
}

uint64_t gr_native_resident_bytes(const struct gr_residency *residency,
				  uint64_t start, uint64_t end)
{
	const struct gr_resident_vector *list = &residency->ranges;
	uint64_t bytes = 0;

	// Bounded by the ranges in [start, end).
	for (size_t i =
		     gr_count_before(list->size, k, list->data[k].end <= start);
	     i < list->size && list->data[i].start < end; i++) {
		const struct gr_resident *range = &list->data[i];
		uint64_t from = range->start > start ? range->start : start;
		uint64_t to = range->end < end ? range->end : end;

		if (from < to && !range->is_zeros)
			bytes += to - from;
	}
	return bytes;
}
