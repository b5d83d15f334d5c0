// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/read.h"

#include "base/cleanup.h"
#include "native/allocators/reader.h"

/* glibc is the last one: its large blocks are searched in memory that no other
 * allocator has. */
static const struct gr_allocator *const allocators[] = {
	&gr_allocator_jemalloc, &gr_allocator_mimalloc, &gr_allocator_musl,
	&gr_allocator_tcmalloc, &gr_allocator_glibc,
};

// -------------------------------------------------------------------- memory

/* The memory of one allocator inside of another one's. glibc's main arena is all
 * of the break, also where another allocator has moved it: there, it counts as
 * the program's own. */
struct inner {
	struct gr_native *native;
	struct gr_native_range_vector list; /* by address, without overlaps */
};

static void inner_deinit(struct inner *inner)
{
	gr_native_range_vector_deinit(&inner->list);
}

/* The range among the foreign ones that has all of @p range; NULL: none. */
static const struct gr_native_range *around(const struct gr_native *native,
					    const struct gr_native_range *range)
{
	const struct gr_native_range_vector *list = &native->foreign;
	size_t n = gr_count_before(list->size, i,
				   list->data[i].end <= range->start);

	return n < list->size && list->data[n].start <= range->start &&
			       range->end <= list->data[n].end &&
			       list->data[n].arena != range->arena ?
		       &list->data[n] :
		       NULL;
}

/* Find memory in the foreign memory of another arena, which is sorted. That
 * arena no longer has it. */
static struct gr_error *find_inner(struct gr_runtime *rt, struct inner *inner)
{
	struct gr_native *native = inner->native;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < native->memory.size; i++) {
		const struct gr_native_range range = native->memory.data[i];
		const struct gr_native_range *outer = around(native, &range);

		err = gr_runtime_step(rt, 4);
		if (err || !outer)
			continue;
		struct gr_native_arena *arena =
			&native->arenas.data[outer->arena];
		uint64_t bytes = range.end - range.start;

		if (bytes > arena->other_bytes)
			continue;
		arena->other_bytes -= bytes;
		arena->mapped_bytes -= bytes;
		err = gr_runtime_append(rt, gr_native_range_vector,
					&inner->list, range);
	}
	return err ? err : gr_native_sort_ranges(rt, &inner->list);
}

/* Cut the inner memory out of the ranges of other arenas. */
static struct gr_error *cut_out(struct gr_runtime *rt,
				const struct inner *inner,
				struct gr_native_range_vector *list)
{
	const struct gr_native_range_vector *holes = &inner->list;
	struct gr_native_range_vector kept = { 0 };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_native_range range = list->data[i], part;
		size_t k = gr_count_before(holes->size, n,
					   holes->data[n].end <= range.start);

		// Bounded by the holes in the range.
		for (; !err && k < holes->size &&
		       holes->data[k].start < range.end;
		     k++) {
			if (holes->data[k].arena == range.arena)
				continue;
			part = range;
			part.end = holes->data[k].start;
			if (part.start < part.end)
				err = gr_runtime_append(rt,
							gr_native_range_vector,
							&kept, part);
			range.start = holes->data[k].end;
		}
		if (!err && range.start < range.end)
			err = gr_runtime_append(rt, gr_native_range_vector,
						&kept, range);
		if (!err)
			err = gr_runtime_step(rt, 4);
	}
	gr_native_range_vector_deinit(list);
	*list = kept;
	return err;
}

/* Give each piece of memory to the innermost allocator. */
static struct gr_error *split_memory(struct gr_runtime *rt,
				     struct gr_native *native)
{
	_cleanup_(inner_deinit) struct inner inner = { .native = native };
	struct gr_native_range_vector *const lists[] = { &native->memory,
							 &native->others,
							 &native->foreign };
	struct gr_error *err = gr_native_sort_ranges(rt, &native->foreign);

	if (!err && native->allocators.size > 1)
		err = find_inner(rt, &inner);
	for (size_t i = 0; !err && inner.list.size && i < GR_ARRAY_SIZE(lists);
	     i++)
		err = cut_out(rt, &inner, lists[i]);
	return err;
}

static struct gr_error *sort_memory(struct gr_runtime *rt,
				    struct gr_native *native)
{
	struct gr_native_range_vector *const lists[] = {
		&native->foreign, &native->spare,  &native->structures,
		&native->memory,  &native->others, &native->trimmable
	};
	struct gr_error *err = split_memory(rt, native);

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(lists); i++)
		err = gr_native_sort_ranges(rt, lists[i]);
	return err;
}

/* Sum what is resident of each arena, and of what can be given back. */
static struct gr_error *sum_resident(const struct gr_native_spec *spec,
				     struct gr_native *native)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < native->memory.size; i++) {
		const struct gr_native_range *range = &native->memory.data[i];

		native->arenas.data[range->arena].resident_bytes +=
			gr_native_resident_bytes(spec->residency, range->start,
						 range->end);
		err = gr_runtime_step(spec->rt, 4);
	}
	for (size_t i = 0; !err && i < native->trimmable.size; i++) {
		const struct gr_native_range *range =
			&native->trimmable.data[i];

		native->arenas.data[range->arena].trimmable_bytes +=
			gr_native_resident_bytes(spec->residency, range->start,
						 range->end);
		err = gr_runtime_step(spec->rt, 4);
	}
	for (size_t i = 0; i < native->arenas.size; i++) {
		struct gr_native_arena *arena = &native->arenas.data[i];

		if (spec->residency->kind == GR_RESIDENCY_UNKNOWN)
			arena->resident_bytes = arena->free_resident_bytes =
				UINT64_MAX;
	}
	return err;
}

// -------------------------------------------------------------------- blocks

/* Drop the blocks of arenas that are not checked. */
static struct gr_error *drop_unchecked(struct gr_runtime *rt,
				       struct gr_native *native)
{
	struct gr_block_vector *list = &native->blocks.list;
	struct gr_error *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		if (native->arenas.data[list->data[i].arena].is_checked)
			list->data[kept++] = list->data[i];
		if (i % GR_POLL_STEPS == 0)
			err = gr_runtime_step(rt, GR_POLL_STEPS / 16);
	}
	list->size = kept;
	return err;
}

/* Drop allocators that have no memory at all, beside others: glibc has none if
 * another one takes its place. */
static void drop_unused(struct gr_native *native)
{
	struct gr_native_allocator_vector *list = &native->allocators;
	size_t kept = 0;

	for (size_t i = 0; i < list->size; i++) {
		const struct gr_native_allocator *of = &list->data[i];
		uint64_t bytes = 0;

		for (uint32_t k = 0; k < of->narenas; k++)
			bytes += native->arenas.data[of->first_arena + k]
					 .mapped_bytes;
		if (bytes || of->refusal || !of->is_checked || list->size == 1)
			list->data[kept++] = *of;
	}
	// The only one stays.
	list->size = kept ? kept : list->size > 0;
}

// ----------------------------------------------------------------------- all

static void reader_deinit(struct gr_native_reader *r)
{
	gr_native_range_vector_deinit(&r->taken);
}

static struct gr_error *read_all(const struct gr_native_spec *spec,
				 struct gr_native *native)
{
	_cleanup_(reader_deinit) struct gr_native_reader reader = {
		.spec = spec,
		.view = gr_view_of(spec->rt),
		.native = native,
	};
	uint64_t overlapping = 0;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(allocators); i++) {
		size_t before = native->memory.size;

		err = allocators[i]->read(&reader);
		if (!err)
			err = gr_reader_take(&reader, before);
	}
	if (err)
		return err;
	drop_unused(native);
	err = drop_unchecked(spec->rt, native);
	if (!err)
		err = gr_blocks_index(&native->blocks, spec->rt, &overlapping);
	return err ? err : sort_memory(spec->rt, native);
}

struct gr_error *gr_native_read(const struct gr_native_spec *spec,
				struct gr_native *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->is_expected = gr_mappings_may_have_c(&spec->residency->mappings);
	struct gr_error *err = read_all(spec, ret);

	ret->is_expected |= ret->allocators.size > 0;
	if (!err)
		err = sum_resident(spec, ret);
	return err ? err : gr_native_find_missing(spec, &ret->missing_bytes);
}
