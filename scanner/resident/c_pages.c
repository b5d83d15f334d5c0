// SPDX-License-Identifier: Apache-2.0
#include "resident/c_pages.h"

#include "base/cleanup.h"
#include "scan/graph.h"
#include "scan/native.h"

enum { MOST_HEADER_BYTES = 16 };

void gr_c_pages_deinit(struct gr_c_pages *pages)
{
	free(pages->classes);
	memset(pages, 0, sizeof(*pages));
}

/* Give each block the class of what holds it. The graph has the holder of a
 * block before the block. */
static struct gr_error *class_blocks(const struct gr_heap_graph *hg,
				     struct gr_runtime *rt, uint8_t *classes)
{
	const struct gr_graph *g = hg->graph;
	gr_vertex first = gr_objects_second(g->objects);
	struct gr_error *err = NULL;

	memset(classes, GR_RSS_C_LEAKED, hg->native->blocks.list.size);
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i], from = g->parent[v];

		err = gr_runtime_step(rt, 1);
		if (err || !gr_vertex_is_block(g, v))
			continue;
		bool is_c_root = from >= g->nobjects &&
				 g->parent[from] ==
					 gr_group_vertex(hg, GR_GROUP_C);
		classes[v - first] = gr_vertex_is_block(g, from) ?
					     classes[from - first] :
				     is_c_root ? GR_RSS_C_HELD_BY_C :
						 GR_RSS_C_HELD_BY_GO;
	}
	return err;
}

struct gr_error *gr_c_pages_read(struct gr_answers *answers,
				 struct gr_c_pages *ret)
{
	struct gr_native *native;
	struct gr_error *err = gr_stop_native(answers->stop, &native);

	if (err || !native || !native->memory.size)
		return err;
	ret->native = native;
	err = gr_answers_need_graph(answers, GR_PART_NEAREST);
	// The blocks are not told apart.
	if (gr_error_catch(&err, GR_ERROR_NO_MEMORY) ||
	    gr_error_catch(&err, GR_ERROR_LIMIT) || err ||
	    !answers->graph->native)
		return err;
	err = gr_image_want(answers->stop->image, native->blocks.list.size);
	if (err)
		return err;
	ret->classes = malloc(native->blocks.list.size + 1);
	return ret->classes ?
		       class_blocks(answers->graph, &answers->stop->program->rt,
				    ret->classes) :
		       &gr_enomem;
}

const struct gr_native_range *gr_c_pages_next(const struct gr_c_pages *pages,
					      uint64_t addr)
{
	if (!pages->native)
		return NULL;
	const struct gr_native_range_vector *list = &pages->native->memory;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size ? &list->data[n] : NULL;
}

static void add(const struct gr_pieces *sink, enum gr_rss_class class,
		uint64_t start, uint64_t end)
{
	if (start < end)
		sink->add(sink->ctx, class, start, end);
}

/* Add [start, end) between two blocks: free, or the allocator's own. */
static void add_free(const struct gr_c_pages *pages,
		     const struct gr_pieces *sink, uint64_t start, uint64_t end)
{
	const struct gr_native_range_vector *list = &pages->native->trimmable;
	size_t i = gr_count_before(list->size, k, list->data[k].end <= start);

	// Bounded by the ranges in [start, end).
	for (; i < list->size && list->data[i].start < end; i++) {
		const struct gr_native_range *range = &list->data[i];
		uint64_t from = range->start > start ? range->start : start;
		uint64_t to = range->end < end ? range->end : end;

		add(sink, GR_RSS_C_FREE, start, from);
		add(sink, GR_RSS_C_TRIMMABLE, from, to);
		start = to;
	}
	add(sink, GR_RSS_C_FREE, start, end);
}

struct gr_error *gr_c_pages_add(const struct gr_c_pages *pages,
				const struct gr_pieces *sink, uint64_t start,
				uint64_t end)
{
	struct gr_runtime *rt = sink->heap->rt;
	const struct gr_native *native = pages->native;
	const struct gr_native_range *range = gr_c_pages_next(pages, start);
	const struct gr_block_vector *list = &native->blocks.list;
	struct gr_error *err = NULL;

	if (!pages->classes || !native->arenas.data[range->arena].is_checked) {
		add(sink, GR_RSS_C_HEAP, start, end);
		return NULL;
	}
	// The block before may reach into it.
	uint32_t i = gr_blocks_from(&native->blocks, start + MOST_HEADER_BYTES);
	for (i = i ? i - 1 : 0; !err && start < end && i < list->size; i++) {
		uint64_t from = gr_block_start(&list->data[i]);
		uint64_t to = from + gr_block_bytes(&list->data[i]);

		if (from >= end)
			break;
		if (from < start)
			from = start;
		if (to > end)
			to = end;
		if (from < to) {
			add_free(pages, sink, start, from);
			add(sink, pages->classes[i], from, to);
			start = to;
		}
		err = gr_runtime_step(rt, 1);
	}
	if (!err && start < end)
		add_free(pages, sink, start, end);
	return err;
}
