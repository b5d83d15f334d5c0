// SPDX-License-Identifier: Apache-2.0
/* The sizes of objects in words that the collector scans. */
#include "heapgraph/heapgraph.h"

#include "base/cleanup.h"

/* Fill in the sizes of a span's objects; @p v is the first one. */
static void fill_span(const struct gr_span_sizes *sizes,
		      const struct gr_objects *objects, gr_vertex v,
		      uint32_t *weights)
{
	const struct gr_span *span = sizes->span;
	size_t end = (size_t)span->first_obj + span->nelems;

	for (size_t slot = span->first_obj;
	     (slot = gr_bitmap_next(objects->slots, slot, end)) < end; slot++) {
		uint64_t words = gr_span_size(sizes, slot - span->first_obj);

		// An object of 32 GiB or more counts as 32 GiB.
		weights[v++] = words < UINT32_MAX ? words : UINT32_MAX;
	}
}

/* Blocks of C stay zero: the collector does not scan them. */
static struct gr_error *fill(const struct gr_objects *objects,
			     struct gr_span_sizes *sizes, uint32_t *weights)
{
	const struct gr_heap *heap = sizes->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		gr_vertex v = gr_objects_rank(objects, span->first_obj);

		if (!gr_span_has_edges(span))
			continue;
		err = gr_span_sizes_begin(sizes, span);
		if (!err)
			fill_span(sizes, objects, v, weights);
	}
	return err;
}

/* Room for a size of each object, in the place of other parts if memory is
 * short. */
static uint32_t *make_room(struct gr_heap_graph *hg)
{
	uint64_t count = (uint64_t)hg->graph->nobjects + 1;
	uint32_t *weights =
		gr_array_calloc(&hg->budget, count, sizeof(*weights));

	if (weights)
		return weights;
	gr_graph_drop(hg->graph, GR_PART_ALL);
	hg->budget.is_exceeded = false;
	return gr_array_calloc(&hg->budget, count, sizeof(*weights));
}

struct gr_error *gr_heap_graph_weigh(struct gr_heap_graph *hg,
				     const struct gr_heap *heap,
				     enum gr_weight weight)
{
	const struct gr_poll poll = gr_runtime_poller(heap->rt);
	_cleanup_(gr_span_sizes_deinit) struct gr_span_sizes sizes = {
		.heap = heap, .weight = weight
	};
	_cleanup_array_ uint32_t *weights = NULL;

	if (gr_heap_graph_weight(hg) == weight)
		return NULL;
	if (weight == GR_WEIGHT_BYTES)
		return gr_graph_weigh(hg->graph, NULL, &poll);
	weights = make_room(hg);
	if (!weights)
		return gr_budget_error(&hg->budget);
	struct gr_error *err = fill(hg->graph->objects, &sizes, weights);
	return err ? err : gr_graph_weigh(hg->graph, steal_ptr(weights), &poll);
}
