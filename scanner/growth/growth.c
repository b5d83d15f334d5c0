// SPDX-License-Identifier: Apache-2.0
#include "growth/growth.h"

#include "base/cleanup.h"
#include "goruntime/memory/c_blocks.h"
#include "growth/thread_stacks.h"
#include "scan/costs.h"
#include "scan/enter.h"
#include "scan/running.h"
#include "scan/stop.h"

struct gr_growth {
	struct gr_scan *scan;
	struct gr_touches touches;
	struct gr_owners owners;
	struct gr_untouched untouched;
	struct gr_remap_vector mapped; /* since the first tick */
	uint64_t mapped_left_out_bytes;
	struct gr_thread_stacks thread_stacks;
	struct gr_c_block_memo c_memo;
	/* By the last tick. */
	struct gr_growth_stack_vector stacks, untouched_stacks;
	struct gr_mapping_class_vector mappings;
};

/** The sums of one tick. */
struct sums {
	struct gr_class_sums resident, untouched;
	struct gr_owned_vector untouched_pages;
	struct gr_mapping_classes mappings;
};

struct gr_error *gr_growth_create(struct gr_scan *scan, bool from_empty,
				  struct gr_growth **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return &gr_enomem;
	(*ret)->scan = scan;
	(*ret)->owners.has_begun = from_empty;
	return NULL;
}

void gr_growth_destroy(struct gr_growth *growth)
{
	if (!growth)
		return;
	gr_touches_deinit(&growth->touches);
	gr_owners_deinit(&growth->owners);
	gr_untouched_deinit(&growth->untouched);
	gr_remap_vector_deinit(&growth->mapped);
	gr_thread_stacks_deinit(&growth->thread_stacks);
	gr_c_block_memo_deinit(&growth->c_memo);
	gr_growth_stack_vector_deinit(&growth->stacks);
	gr_growth_stack_vector_deinit(&growth->untouched_stacks);
	gr_mapping_class_vector_deinit(&growth->mappings);
	free(growth);
}

struct gr_error *gr_growth_add_events(struct gr_growth *growth,
				      const uint8_t *data, size_t bytes)
{
	static const struct gr_poll nobody = { 0 };

	if (bytes % GR_TOUCH_EVENT_BYTES)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "events have %d bytes each",
				       GR_TOUCH_EVENT_BYTES);
	return gr_touches_add(&growth->touches, data,
			      bytes / GR_TOUCH_EVENT_BYTES, &nobody);
}

struct gr_error *gr_growth_add_stack_pointer(struct gr_growth *growth,
					     uint64_t addr)
{
	return gr_thread_stacks_add(&growth->thread_stacks, addr);
}

// --------------------------------------------------------------------- a tick

static void sums_deinit(struct sums *sums)
{
	gr_class_sums_deinit(&sums->resident);
	gr_class_sums_deinit(&sums->untouched);
	gr_owned_vector_deinit(&sums->untouched_pages);
	gr_mapping_classes_deinit(&sums->mappings);
}

/* Take memory apart that was mapped and not touched. */
static struct gr_error *class_untouched(struct gr_growth *growth,
					struct gr_stop *stop,
					const uint8_t *classes, bool has_spans,
					struct sums *sums)
{
	const struct gr_residency *now = &stop->pages.residency;
	// It borrows the mappings.
	struct gr_residency untouched = { .mappings = now->mappings };
	struct gr_error *err = gr_untouched_writable(&growth->untouched, now,
						     &sums->untouched_pages,
						     &untouched.ranges);

	if (!err)
		err = gr_class_sums_add_others(&sums->untouched, stop, classes,
					       has_spans, &untouched);
	gr_resident_vector_deinit(&untouched.ranges);
	return err;
}

/* Take the pages of the stop apart. */
static struct gr_error *class_pages(struct gr_growth *growth,
				    struct gr_stop *stop, bool has_spans,
				    struct sums *sums)
{
	_cleanup_free_ uint8_t *classes = NULL;
	struct gr_error *err = gr_class_sums_prepare(stop, &classes);

	sums->mappings.mappings = &stop->pages.residency.mappings.list;
	if (!err)
		err = gr_class_sums_add(&sums->resident, stop, classes,
					has_spans);
	gr_mapping_classes_end(&sums->mappings);
	if (!err && sums->mappings.is_short_of_memory)
		err = &gr_enomem;
	return err ? err :
		     class_untouched(growth, stop, classes, has_spans, sums);
}

static void fill(const struct sums *sums, const struct gr_residency *residency,
		 struct gr_growth_tick *tick)
{
	const struct gr_owned_vector *owned = sums->resident.owned;

	for (size_t i = 0; i < GR_NRSS_CLASSES; i++) {
		uint64_t bytes = sums->resident.bytes[i];

		tick->total_bytes += bytes;
		tick->untouched_bytes += sums->untouched.bytes[i];
		if (bytes)
			tick->rows[tick->nrows++] =
				(struct gr_rss_row){ gr_class_sums_name(i),
						     gr_class_sums_text(i),
						     bytes };
	}
	tick->rss_bytes = residency->rss_bytes;
	tick->residency = gr_residency_name(residency->kind);
	for (size_t i = 0; i < owned->size; i++)
		tick->tracked_bytes +=
			owned->data[i].end - owned->data[i].start;
}

/* The memory that sorting takes. */
static struct gr_error *want_memory(const struct gr_touches *touches,
				    const struct gr_stop *stop)
{
	uint64_t bytes = touches->faults.size * sizeof(struct gr_fault);
	uint64_t nremaps = touches->mapped.size + touches->given_back.size;

	// A list that is made disjoint may have twice as many.
	return gr_image_want(stop->image,
			     bytes + 4 * nremaps * sizeof(struct gr_remap));
}

/* Join the pages that were read with what was seen. */
static struct gr_error *join(struct gr_growth *growth, struct gr_stop *stop,
			     struct gr_growth_tick *tick)
{
	const struct gr_residency *now = &stop->pages.residency;
	struct gr_poll poll = gr_runtime_poller(&stop->program->rt);
	struct gr_error *err = want_memory(&growth->touches, stop);

	if (!err)
		err = gr_touches_settle(&growth->touches, &poll);
	if (!err)
		err = gr_untouched_update(&growth->untouched, now,
					  &growth->touches, &poll);
	if (!err)
		err = gr_mapped_update(&growth->mapped, now, &growth->touches,
				       &poll, &growth->mapped_left_out_bytes);
	if (!err)
		err = gr_owners_update(&growth->owners, now, &growth->touches,
				       &poll, &tick->flow);
	if (!err)
		gr_touches_clear(&growth->touches);
	tick->lost_events = growth->touches.lost;
	tick->untouched_left_out_bytes = growth->untouched.left_out_bytes;
	tick->mapped_left_out_bytes = growth->mapped_left_out_bytes;
	return err;
}

static struct gr_error *read_all(struct gr_growth *growth, struct gr_stop *stop,
				 struct sums *sums, struct gr_growth_tick *tick)
{
	struct gr_thread_stacks *stacks = &growth->thread_stacks;
	uint8_t sp = stop->program->rt.arch->sp;
	struct gr_running_heap heap;
	struct gr_error *err = gr_thread_stacks_read(
		stacks, gr_target_memory_pid(&stop->target), sp);

	if (!err)
		err = gr_scan_read_running(growth->scan, stacks->threads.data,
					   stacks->threads.size,
					   &growth->c_memo, &heap, &stop);
	if (err)
		return err;
	gr_thread_stacks_check(stacks, &stop->pages.residency.mappings, sp);
	tick->has_left_out_stacks = stacks->is_full;
	tick->has_spans = heap.is_read;
	tick->bad_spans = heap.bad_spans;
	err = join(growth, stop, tick);
	if (!err)
		err = class_pages(growth, stop, heap.is_read, sums);
	if (!err)
		fill(sums, &stop->pages.residency, tick);
	return err;
}

/* Keep the stacks of a tick. */
static void keep(struct gr_class_sums *sums, struct gr_growth_stack_vector *ret)
{
	gr_class_sums_sort(sums);
	gr_growth_stack_vector_deinit(ret);
	*ret = sums->stacks;
	sums->stacks = (struct gr_growth_stack_vector){ 0 };
}

struct gr_error *gr_growth_take_tick(struct gr_growth *growth, bool has_gaps,
				     struct gr_growth_tick *ret)
{
	_cleanup_(sums_deinit) struct sums sums = { 0 };
	uint64_t begin = gr_costs_now_us();
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;
	struct gr_error *err =
		gr_scan_enter_running(growth->scan, &guard, &stop);

	growth->touches.has_gaps |= has_gaps;
	sums.resident.owned = &growth->owners.owned;
	sums.resident.mappings = &sums.mappings;
	sums.untouched.owned = &sums.untouched_pages;
	*ret = (struct gr_growth_tick){ 0 };
	if (!err) {
		err = read_all(growth, stop, &sums, ret);
		gr_scan_end_running(growth->scan);
	}
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		return err;
	keep(&sums.resident, &growth->stacks);
	keep(&sums.untouched, &growth->untouched_stacks);
	gr_mapping_class_vector_deinit(&growth->mappings);
	growth->mappings = sums.mappings.list;
	sums.mappings.list = (struct gr_mapping_class_vector){ 0 };
	ret->cost_us = gr_costs_now_us() - begin;
	return NULL;
}

const struct gr_growth_stack_vector *
gr_growth_stacks(const struct gr_growth *growth)
{
	return &growth->stacks;
}

const struct gr_growth_stack_vector *
gr_growth_untouched(const struct gr_growth *growth)
{
	return &growth->untouched_stacks;
}

const struct gr_mapping_class_vector *
gr_growth_mappings(const struct gr_growth *growth)
{
	return &growth->mappings;
}

struct gr_error *gr_growth_pages(const struct gr_growth *growth,
				 struct gr_mapped_vector *ret)
{
	return gr_mapped_extents(&growth->mapped, &growth->owners.owned, ret);
}
