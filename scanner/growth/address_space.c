// SPDX-License-Identifier: Apache-2.0
#include "growth/address_space.h"

void gr_address_space_deinit(struct gr_address_space *space)
{
	free(space->run_ends);
	free(space->bytes_before);
}

// ------------------------------------------------------------------- tables

static struct gr_error *make(struct gr_runtime *rt, size_t count,
			     uint64_t **ret)
{
	struct gr_error *err =
		gr_image_want(rt->image, (count + 1) * sizeof(**ret));

	if (err)
		return err;
	*ret = calloc(count + 1, sizeof(**ret));
	return *ret ? NULL : &gr_enomem;
}

static struct gr_error *find_runs(struct gr_address_space *space,
				  struct gr_runtime *rt)
{
	const struct gr_mapping_vector *list = &space->residency->mappings.list;
	struct gr_error *err = make(rt, list->size, &space->run_ends);

	for (size_t i = list->size; !err && i-- > 0;) {
		bool is_last = i + 1 == list->size ||
			       list->data[i + 1].start != list->data[i].end;

		space->run_ends[i] = is_last ? list->data[i].end :
					       space->run_ends[i + 1];
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

static struct gr_error *sum_resident(struct gr_address_space *space,
				     struct gr_runtime *rt)
{
	const struct gr_resident_vector *list = &space->residency->ranges;
	struct gr_error *err = make(rt, list->size, &space->bytes_before);

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_resident *range = &list->data[i];

		space->bytes_before[i + 1] =
			space->bytes_before[i] + range->end - range->start;
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_address_space_init(struct gr_address_space *space,
				       struct gr_stop *stop,
				       const struct gr_native *native)
{
	struct gr_runtime *rt = &stop->program->rt;

	space->stop = stop;
	space->native = native;
	space->residency = &stop->pages.residency;
	struct gr_error *err = gr_sys_memory_sort(
		stop->heap, &stop->pages.arenas, &stop->pages.sys_memory);
	if (!err)
		err = find_runs(space, rt);
	return err ? err : sum_resident(space, rt);
}

// ----------------------------------------------------------------- residency

/* Resident bytes below an address. */
static uint64_t bytes_below(const struct gr_address_space *space, uint64_t addr)
{
	const struct gr_resident_vector *list = &space->residency->ranges;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);
	uint64_t bytes = space->bytes_before[n];

	if (n < list->size && list->data[n].start < addr)
		bytes += addr - list->data[n].start;
	return bytes;
}

/* Does the target tell which pages of a mapping are resident? */
static bool tells(const struct gr_address_space *space, uint64_t addr)
{
	const struct gr_mapping *m =
		gr_native_mapping_at(space->residency, addr);

	if (space->residency->kind == GR_RESIDENCY_ANONYMOUS)
		return m && gr_mapping_is_anonymous(m) &&
		       !(m->flags & GR_MAPPING_SHARED);
	return space->residency->kind == GR_RESIDENCY_EXACT;
}

uint64_t gr_address_space_resident(const struct gr_address_space *space,
				   uint64_t start, uint64_t end)
{
	if (!tells(space, start))
		return UINT64_MAX;
	return bytes_below(space, end) - bytes_below(space, start);
}

// ------------------------------------------------------------------- whose

/* The end of what is mapped from @p addr on without a hole. */
static uint64_t mapped_end(const struct gr_address_space *space, uint64_t addr)
{
	const struct gr_mapping *m =
		gr_native_mapping_at(space->residency, addr);

	return m ? space->run_ends[m - space->residency->mappings.list.data] :
		   addr;
}

/* Where the memory of allocators begins; @p end: not before that. */
static uint64_t native_start(const struct gr_native *native, uint64_t addr,
			     uint64_t end)
{
	const struct gr_native_range_vector *list = &native->memory;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	if (n == list->size || list->data[n].start >= end)
		return end;
	return list->data[n].start > addr ? list->data[n].start : addr;
}

uint64_t gr_address_space_own_end(const struct gr_address_space *space,
				  uint64_t addr)
{
	const struct gr_stop *stop = space->stop;
	uint64_t end = mapped_end(space, addr), next;

	if (gr_image_segment_end(stop->image, addr) > addr)
		return addr;
	end = native_start(space->native, addr, end);
	if (end > addr)
		gr_heap_arenas_before(&stop->pages.arenas, addr, end, &end,
				      &next);
	if (end > addr && gr_sys_memory_at(&stop->pages.sys_memory, addr, end,
					   &next) != GR_SYS_NONE)
		return addr;
	return end > addr ? next : addr;
}
