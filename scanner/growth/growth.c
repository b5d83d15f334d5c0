// SPDX-License-Identifier: Apache-2.0
#include "growth/growth.h"

#include "base/cleanup.h"
#include "graph/keys.h"
#include "growth/thread_stacks.h"
#include "resident/c_pages.h"
#include "resident/classes.h"
#include "resident/pieces.h"
#include "scan/costs.h"
#include "scan/enter.h"
#include "scan/running.h"
#include "scan/stop.h"

struct gr_growth {
	struct gr_scan *scan;
	struct gr_touches touches;
	struct gr_owners owners;
	struct gr_thread_stacks thread_stacks;
	struct gr_growth_stack_vector stacks; /* of the last tick */
};

/** The sums of one tick. */
struct sums {
	const struct gr_owned_vector *owned;
	size_t next; /* of them */
	uint64_t bytes[GR_NRSS_CLASSES];
	struct gr_growth_stack_vector stacks;
	struct gr_keys index_of; /* (stack, class) -> index of stacks */
	bool is_short_of_memory;
};

/* Without a mark, no object is known to be live. */
static const char *name_of(enum gr_rss_class class)
{
	return class == GR_RSS_LIVE ? "go_heap" : gr_rss_class_name(class);
}

static const char *text_of(enum gr_rss_class class)
{
	return class == GR_RSS_LIVE ? "Go heap: spans in use" :
				      gr_rss_class_text(class);
}

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
	gr_thread_stacks_deinit(&growth->thread_stacks);
	gr_growth_stack_vector_deinit(&growth->stacks);
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

// ---------------------------------------------------------------------- sums

static void sums_deinit(struct sums *sums)
{
	gr_growth_stack_vector_deinit(&sums->stacks);
	gr_keys_deinit(&sums->index_of);
}

static void add_to_stack(struct sums *sums, uint32_t stack,
			 enum gr_rss_class class, uint64_t bytes)
{
	uint32_t i = gr_keys_find(&sums->index_of, stack, class);

	if (i == UINT32_MAX) {
		i = (uint32_t)sums->stacks.size;
		if (!gr_keys_add(&sums->index_of, stack, class, i) ||
		    !gr_growth_stack_vector_append(
			    &sums->stacks,
			    (struct gr_growth_stack){ stack, name_of(class),
						      0 })) {
			sums->is_short_of_memory = true;
			return;
		}
	}
	sums->stacks.data[i].bytes += bytes;
}

/* A piece of resident memory. These come by address, as the owners do. */
static void add(void *ctx, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	struct sums *sums = ctx;
	const struct gr_owned_vector *list = sums->owned;

	sums->bytes[class] += end - start;
	while (sums->next < list->size && list->data[sums->next].end <= start)
		sums->next++;
	for (size_t i = sums->next; i < list->size && list->data[i].start < end;
	     i++) {
		const struct gr_owned_pages *owned = &list->data[i];
		uint64_t from = owned->start > start ? owned->start : start;
		uint64_t to = owned->end < end ? owned->end : end;

		add_to_stack(sums, owned->stack, class, to - from);
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct gr_growth_stack *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return strcmp(x->class, y->class);
}

// --------------------------------------------------------------------- a tick

/* Take the resident pages of the stop apart. */
static struct gr_error *class_pages(struct gr_stop *stop, bool has_spans,
				    struct sums *sums)
{
	const struct gr_residency *residency = &stop->pages.residency;
	_cleanup_free_ uint8_t *classes = NULL;
	const struct gr_c_pages no_c_pages = { 0 };
	struct gr_error *err = gr_sys_memory_sort(
		stop->heap, &stop->pages.arenas, &stop->pages.sys_memory);

	if (!err)
		err = gr_rss_classify(stop, residency, &classes);
	if (err)
		return err;
	struct gr_pieces pieces = { .heap = stop->heap,
				    .has_no_spans = !has_spans,
				    .arenas = &stop->pages.arenas,
				    .page_bits = &stop->pages.page_bits,
				    .c_blocks = &stop->pages.c_blocks,
				    .c_pages = &no_c_pages,
				    .sys_memory = &stop->pages.sys_memory,
				    .add = add,
				    .ctx = sums };
	err = gr_pieces_walk(&pieces, residency, classes);
	return err || !sums->is_short_of_memory ? err : &gr_enomem;
}

static void fill(const struct sums *sums, const struct gr_residency *residency,
		 struct gr_growth_tick *tick)
{
	for (size_t i = 0; i < GR_NRSS_CLASSES; i++) {
		tick->total_bytes += sums->bytes[i];
		if (sums->bytes[i])
			tick->rows[tick->nrows++] =
				(struct gr_rss_row){ name_of(i), text_of(i),
						     sums->bytes[i] };
	}
	tick->rss_bytes = residency->rss_bytes;
	tick->residency = gr_residency_name(residency->kind);
	for (size_t i = 0; i < sums->owned->size; i++)
		tick->tracked_bytes +=
			sums->owned->data[i].end - sums->owned->data[i].start;
}

/* Join the pages that were read with what was seen. */
static struct gr_error *join(struct gr_growth *growth, struct gr_stop *stop,
			     struct gr_growth_tick *tick)
{
	struct gr_poll poll = gr_runtime_poller(&stop->program->rt);
	struct gr_error *err = gr_touches_settle(&growth->touches, &poll);

	if (!err)
		err = gr_owners_update(&growth->owners, &stop->pages.residency,
				       &growth->touches, &poll, &tick->flow);
	if (!err)
		gr_touches_clear(&growth->touches);
	tick->lost_events = growth->touches.lost;
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
					   stacks->threads.size, &heap, &stop);
	if (err)
		return err;
	gr_thread_stacks_check(stacks, &stop->pages.residency.mappings, sp);
	tick->has_spans = heap.is_read;
	tick->bad_spans = heap.bad_spans;
	err = join(growth, stop, tick);
	if (!err)
		err = class_pages(stop, heap.is_read, sums);
	if (!err)
		fill(sums, &stop->pages.residency, tick);
	return err;
}

struct gr_error *gr_growth_take_tick(struct gr_growth *growth,
				     struct gr_growth_tick *ret)
{
	_cleanup_(sums_deinit) struct sums sums = {
		.owned = &growth->owners.owned
	};
	uint64_t begin = gr_costs_now_us();
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;
	struct gr_error *err =
		gr_scan_enter_running(growth->scan, &guard, &stop);

	*ret = (struct gr_growth_tick){ 0 };
	if (!err) {
		err = read_all(growth, stop, &sums, ret);
		gr_scan_end_running(growth->scan);
	}
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		return err;
	if (sums.stacks.size)
		qsort(sums.stacks.data, sums.stacks.size,
		      sizeof(*sums.stacks.data), by_bytes);
	gr_growth_stack_vector_deinit(&growth->stacks);
	growth->stacks = sums.stacks;
	sums.stacks = (struct gr_growth_stack_vector){ 0 };
	ret->cost_us = gr_costs_now_us() - begin;
	return NULL;
}

const struct gr_growth_stack_vector *
gr_growth_stacks(const struct gr_growth *growth)
{
	return &growth->stacks;
}

const struct gr_owned_vector *gr_growth_pages(const struct gr_growth *growth)
{
	return &growth->owners.owned;
}
