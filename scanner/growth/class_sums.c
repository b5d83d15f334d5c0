// SPDX-License-Identifier: Apache-2.0
#include "growth/class_sums.h"

#include "goruntime/memory/page_bits.h"
#include "resident/c_pages.h"
#include "resident/classes.h"
#include "resident/pieces.h"
#include "scan/stop.h"

void gr_class_sums_deinit(struct gr_class_sums *sums)
{
	gr_growth_stack_vector_deinit(&sums->stacks);
	gr_keys_deinit(&sums->index_of);
}

const char *gr_class_sums_name(enum gr_rss_class class)
{
	return class == GR_RSS_LIVE ? "go_heap" : gr_rss_class_name(class);
}

const char *gr_class_sums_text(enum gr_rss_class class)
{
	return class == GR_RSS_LIVE ? "Go heap: spans in use" :
				      gr_rss_class_text(class);
}

enum gr_rss_class gr_class_sums_whole(enum gr_rss_class class)
{
	if (class <= GR_RSS_TAILS)
		return GR_RSS_LIVE;
	if (class >= GR_RSS_C_HELD_BY_GO && class <= GR_RSS_C_HEAP)
		return GR_RSS_C_HEAP;
	return class;
}

static void add_to_stack(struct gr_class_sums *sums, uint32_t stack,
			 enum gr_rss_class class, uint64_t bytes)
{
	uint32_t i = gr_keys_find(&sums->index_of, stack, class);

	if (i == UINT32_MAX) {
		i = (uint32_t)sums->stacks.size;
		struct gr_growth_stack row = { stack, gr_class_sums_name(class),
					       gr_class_sums_text(class), 0 };

		if (!gr_keys_add(&sums->index_of, stack, class, i) ||
		    !gr_growth_stack_vector_append(&sums->stacks, row)) {
			sums->is_short_of_memory = true;
			return;
		}
	}
	sums->stacks.data[i].bytes += bytes;
}

/* A piece of the pages. These come by address, as the owners do. */
static void add(void *ctx, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	struct gr_class_sums *sums = ctx;
	const struct gr_owned_vector *list = sums->owned;

	sums->bytes[class] += end - start;
	if (sums->mappings)
		gr_mapping_classes_add(sums->mappings, class, start, end);
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

struct gr_error *gr_class_sums_prepare(struct gr_stop *stop, uint8_t **ret)
{
	struct gr_error *err = gr_sys_memory_sort(
		stop->heap, &stop->pages.arenas, &stop->pages.sys_memory);

	return err ? err : gr_rss_classify(stop, &stop->pages.residency, ret);
}

static struct gr_error *walk(struct gr_class_sums *sums, struct gr_stop *stop,
			     const uint8_t *classes, bool has_spans,
			     const struct gr_stop_pages *pages,
			     const struct gr_residency *residency)
{
	const struct gr_c_pages no_c_pages = { 0 };
	struct gr_pieces pieces = { .heap = stop->heap,
				    .has_no_spans = !has_spans,
				    .arenas = &pages->arenas,
				    .page_bits = &pages->page_bits,
				    .c_blocks = &stop->pages.c_blocks,
				    .c_pages = &no_c_pages,
				    .sys_memory = &stop->pages.sys_memory,
				    .add = add,
				    .ctx = sums };
	struct gr_error *err = gr_pieces_walk(&pieces, residency, classes);

	return err || !sums->is_short_of_memory ? err : &gr_enomem;
}

struct gr_error *gr_class_sums_add(struct gr_class_sums *sums,
				   struct gr_stop *stop, const uint8_t *classes,
				   bool has_spans)
{
	return walk(sums, stop, classes, has_spans, &stop->pages,
		    &stop->pages.residency);
}

/* Read which of the pages are the heap's, and which of those are free: the stop
 * knows it of resident pages. */
static struct gr_error *read_heap_pages(struct gr_stop *stop,
					const struct gr_residency *residency,
					struct gr_stop_pages *pages)
{
	struct gr_types *types = stop->program->types;
	struct gr_error *err = gr_page_bits_find(types, &pages->page_bits);

	for (size_t i = 0; !err && i < residency->ranges.size; i++) {
		const struct gr_resident *range = &residency->ranges.data[i];

		err = gr_heap_arenas_read(&stop->program->rt, range->start,
					  range->end, &pages->arenas);
		if (!err)
			err = gr_page_bits_read(types, &pages->page_bits,
						range->start, range->end);
	}
	return err;
}

struct gr_error *gr_class_sums_add_others(struct gr_class_sums *sums,
					  struct gr_stop *stop,
					  const uint8_t *classes,
					  bool has_spans,
					  const struct gr_residency *residency)
{
	struct gr_stop_pages pages = { 0 };
	struct gr_error *err = read_heap_pages(stop, residency, &pages);

	if (!err)
		err = walk(sums, stop, classes, has_spans, &pages, residency);
	gr_heap_arenas_deinit(&pages.arenas);
	gr_page_bits_deinit(&pages.page_bits);
	return err;
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

void gr_class_sums_sort(struct gr_class_sums *sums)
{
	if (sums->stacks.size)
		qsort(sums->stacks.data, sums->stacks.size,
		      sizeof(*sums->stacks.data), by_bytes);
}
