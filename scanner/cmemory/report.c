// SPDX-License-Identifier: Apache-2.0
#include "cmemory/report.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "scan/enter.h"
#include "scan/native.h"

void gr_native_report_destroy(struct gr_native_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->nheaps; i++)
		free(report->heaps[i].arenas);
	free(report->heaps);
	free(report->sizes);
	free(report);
}
GR_DEFINE_CLEANUP(native_report, struct gr_native_report,
		  gr_native_report_destroy)

// -------------------------------------------------------------------- arenas

static void add_arena(struct gr_native_arena *sum,
		      const struct gr_native_arena *arena)
{
	sum->in_use_blocks += arena->in_use_blocks;
	sum->in_use_bytes += arena->in_use_bytes;
	sum->free_blocks += arena->free_blocks;
	sum->free_bytes += arena->free_bytes;
	sum->cached_bytes += arena->cached_bytes;
	sum->top_bytes += arena->top_bytes;
	sum->trimmable_bytes += arena->trimmable_bytes;
	sum->other_bytes += arena->other_bytes;
	sum->mapped_bytes += arena->mapped_bytes;
	if (sum->largest_free_bytes < arena->largest_free_bytes)
		sum->largest_free_bytes = arena->largest_free_bytes;
	sum->resident_bytes =
		arena->resident_bytes == UINT64_MAX ?
			UINT64_MAX :
			sum->resident_bytes + arena->resident_bytes;
	sum->free_resident_bytes =
		arena->free_resident_bytes == UINT64_MAX ?
			UINT64_MAX :
			sum->free_resident_bytes + arena->free_resident_bytes;
}

static struct gr_error *fill_heap(struct gr_stop *stop,
				  const struct gr_native *native,
				  const struct gr_native_allocator *allocator,
				  struct gr_native_heap *ret)
{
	const struct gr_native_arena *arenas =
		native->arenas.data + allocator->first_arena;

	struct gr_error *err =
		gr_image_want(stop->image, (uint64_t)allocator->narenas *
						   sizeof(*ret->arenas));
	if (err)
		return err;
	*ret = (struct gr_native_heap){
		.name = allocator->name,
		.version = allocator->version,
		.is_checked = allocator->is_checked,
		.refusal = allocator->refusal,
		.arenas = calloc((size_t)allocator->narenas + 1,
				 sizeof(*ret->arenas)),
		.narenas = allocator->narenas,
		.sum = { .counted_bytes = UINT64_MAX,
			 .counted_blocks = UINT64_MAX },
	};
	if (!ret->arenas)
		return &gr_enomem;
	for (size_t i = 0; i < ret->narenas; i++) {
		ret->arenas[i] = arenas[i];
		add_arena(&ret->sum, &arenas[i]);
	}
	return NULL;
}

static struct gr_error *fill_heaps(struct gr_stop *stop,
				   const struct gr_native *native,
				   struct gr_native_report *report)
{
	size_t n = native->allocators.size;
	struct gr_error *err = NULL;

	report->heaps = calloc(n + 1, sizeof(*report->heaps));
	if (!report->heaps)
		return &gr_enomem;
	for (; !err && report->nheaps < n; report->nheaps++)
		err = fill_heap(stop, native,
				&native->allocators.data[report->nheaps],
				&report->heaps[report->nheaps]);
	return err;
}

// --------------------------------------------------------------------- sizes

static int compare_units(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct gr_native_size *x = a, *y = b;
	uint64_t of_x = x->bytes * x->blocks, of_y = y->bytes * y->blocks;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The sizes of all blocks, sorted, for free(). NULL: no memory. */
static struct gr_error *sorted_units(struct gr_stop *stop,
				     const struct gr_block_vector *list,
				     uint32_t **ret)
{
	struct gr_runtime *rt = &stop->program->rt;
	// The sort copies them.
	struct gr_error *err = gr_image_want(
		rt->image, 2 * (uint64_t)list->size * sizeof(**ret));
	if (err)
		return err;
	_cleanup_free_ uint32_t *units =
		malloc((list->size + 1) * sizeof(*units));

	if (!units)
		return &gr_enomem;
	for (size_t i = 0; !err && i < list->size; i++) {
		units[i] = list->data[i].units;
		err = gr_runtime_step(rt, 1);
	}
	if (!err)
		err = gr_sort(units, list->size, sizeof(*units), compare_units,
			      rt->poll, rt->poll_ctx);
	if (!err)
		*ret = steal_ptr(units);
	return err;
}

static struct gr_error *fill_sizes(struct gr_stop *stop,
				   const struct gr_block_vector *list,
				   struct gr_native_report *report)
{
	_cleanup_free_ uint32_t *units = NULL;
	struct gr_error *err = sorted_units(stop, list, &units);
	size_t n = 0;

	if (err)
		return err;
	for (size_t i = 0; i < list->size; i++)
		n += !i || units[i] != units[i - 1];
	err = gr_image_want(stop->image,
			    2 * (uint64_t)n * sizeof(*report->sizes));
	if (err)
		return err;
	report->sizes = calloc(n + 1, sizeof(*report->sizes));
	if (!report->sizes)
		return &gr_enomem;
	for (size_t i = 0; i < list->size; i++) {
		if (!i || units[i] != units[i - 1])
			report->sizes[report->nsizes++].bytes =
				(uint64_t)units[i] * GR_BLOCK_UNIT;
		report->sizes[report->nsizes - 1].blocks++;
	}
	return gr_sort(report->sizes, n, sizeof(*report->sizes), compare_sizes,
		       stop->program->rt.poll, stop->program->rt.poll_ctx);
}

// ----------------------------------------------------------------------- all

static struct gr_error *answer(struct gr_stop *stop,
			       struct gr_native_report *report)
{
	struct gr_native *native;
	struct gr_error *err = gr_stop_native(stop, &native);

	report->gaps = stop->gaps;
	if (err || !native)
		return err;
	report->is_known = true;
	report->is_expected = native->is_expected;
	err = fill_heaps(stop, native, report);
	return err ? err : fill_sizes(stop, &native->blocks.list, report);
}

struct gr_error *gr_scan_native(struct gr_scan *scan,
				struct gr_native_report **ret)
{
	_cleanup_(gr_cleanup_native_report) struct gr_native_report *report =
		calloc(1, sizeof(*report));
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = report ? answer(answers->stop, report) : &gr_enomem;
	if (!err)
		*ret = steal_ptr(report);
	return gr_sigbus_guard_end(&guard, err);
}
