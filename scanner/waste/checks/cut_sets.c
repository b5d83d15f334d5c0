// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/cut_sets.h"

#include "base/cleanup.h"
#include "graph/exclusive.h"
#include "graph/liveness.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"
#include "waste/checks/forest.h"

enum { CLASS_OF_KINDS = 1 };

void gr_cut_sets_deinit(struct gr_cut_sets *sets)
{
	gr_cut_vector_deinit(&sets->cuts);
	gr_u32_vector_deinit(&sets->set);
}

struct gr_error *gr_cut_sets_add(struct gr_waste_run *run,
				 struct gr_cut_sets *sets, uint32_t set,
				 struct gr_cut cut)
{
	struct gr_runtime *rt = run->heap->rt;
	struct gr_error *err =
		gr_runtime_append(rt, gr_cut_vector, &sets->cuts, cut);

	if (!err)
		err = gr_runtime_append(rt, gr_u32_vector, &sets->set, set);
	return err ? err : gr_runtime_step(rt, 1);
}

struct gr_error *gr_cut_sets_weigh(struct gr_waste_run *run,
				   const struct gr_cut_sets *sets,
				   uint32_t nsets, struct gr_kept *kept)
{
	const struct gr_graph *g = run->answers->graph->graph;
	const struct gr_poll poll = gr_runtime_poller(run->heap->rt);
	size_t n = sets->cuts.size;
	_cleanup_free_ gr_vertex *vertices = calloc(n + 1, sizeof(*vertices));
	_cleanup_free_ gr_vertex *holders = calloc(n + 1, sizeof(*holders));
	struct gr_kept together;

	if (!vertices || !holders)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++) {
		vertices[i] = sets->cuts.data[i].vertex;
		holders[i] = sets->cuts.data[i].holder;
	}
	bool has_holders = n && holders[0] != GR_VERTEX_NONE;
	const struct gr_root_sets roots = {
		.vertices = vertices,
		.set = sets->set.data,
		.count = n,
		.nsets = nsets,
		.holders = has_holders ? holders : NULL,
		.nholders = has_holders ? n : 0,
	};
	struct gr_error *err =
		n ? gr_graph_exclusive(g, &roots, &poll, kept, &together) :
		    NULL;
	// Blocks of C are no part of the heap that Go counts.
	for (uint32_t k = 0; !err && k < nsets; k++)
		kept[k].bytes -= kept[k].second_bytes;
	return err;
}

struct gr_error *gr_cuts_mark(struct gr_waste_run *run,
			      const struct gr_cut *cuts, size_t ncuts,
			      uint64_t **ret_marked)
{
	const struct gr_graph *g = run->answers->graph->graph;
	const struct gr_poll poll = gr_runtime_poller(run->heap->rt);
	size_t nwords = gr_bitmap_words(g->nvertices) + 1;
	_cleanup_array_ uint64_t *marked =
		gr_array_calloc(g->budget, nwords, sizeof(*marked));
	_cleanup_array_ uint64_t *without =
		gr_array_calloc(g->budget, nwords, sizeof(*without));
	_cleanup_array_ struct gr_hidden_edge *hidden =
		gr_array_alloc(g->budget, ncuts + 1, sizeof(*hidden));
	const uint32_t none = 0;
	const gr_vertex nothing = GR_VERTEX_NONE;
	uint64_t nobody = 0;
	struct gr_liveness_spec spec = {
		.without = without,
		.first_held = &none,
		.held = &nothing,
		.first_awaited = &none,
		.awaited = &nothing,
		.hidden = hidden,
	};

	if (!marked || !without || !hidden)
		return gr_budget_error(g->budget);
	for (size_t i = 0; i < ncuts; i++) {
		assert(cuts[i].vertex < g->nvertices);
		if (cuts[i].holder == GR_VERTEX_NONE)
			gr_bitmap_set(without, cuts[i].vertex);
		else
			hidden[spec.nhidden++] =
				(struct gr_hidden_edge){ cuts[i].holder,
							 cuts[i].vertex };
	}
	struct gr_error *err =
		gr_graph_liveness(g, &spec, &poll, &nobody, marked);
	if (!err)
		*ret_marked = steal_ptr(marked);
	return err;
}

struct gr_error *gr_marked_missing(struct gr_waste_run *run,
				   const uint64_t *marked, uint64_t *bits,
				   uint64_t *ret_bytes)
{
	const struct gr_graph *g = run->answers->graph->graph;
	const struct gr_objects *objects = g->objects;
	struct gr_object_iterator it =
		gr_objects_between(objects, 0, objects->nfirst);
	struct gr_error *err = NULL;

	*ret_bytes = 0;
	while (!err && gr_objects_next(&it)) {
		if (!gr_bitmap_test(marked, it.vertex)) {
			assert(it.slot < run->heap->nobjs);
			if (bits)
				gr_bitmap_set(bits, it.slot);
			*ret_bytes += it.run->elem_bytes;
		}
		if (GR_UNLIKELY(!(it.vertex % GR_POLL_STEPS)))
			err = gr_runtime_step(run->heap->rt, GR_POLL_STEPS);
	}
	return err;
}

struct gr_error *gr_roots_may_hold_enough(struct gr_waste_run *run,
					  uint64_t kinds, bool *ret)
{
	const struct gr_root_vector *roots =
		&run->answers->kept_walk->m.tree.roots;
	_cleanup_free_ uint8_t *of_root = calloc(roots->size + 1, 1);
	const struct gr_forest_spec spec = { .of_root = of_root };
	uint64_t bytes[GR_FOREST_CLASSES];

	if (!of_root)
		return &gr_enomem;
	for (size_t i = 0; i < roots->size; i++)
		if (kinds >> roots->data[i].kind & 1)
			of_root[i] = CLASS_OF_KINDS;
	struct gr_error *err = gr_forest_sum(run, &spec, bytes);
	*ret = bytes[CLASS_OF_KINDS] &&
	       bytes[CLASS_OF_KINDS] >= gr_waste_min_bytes(run);
	return err;
}

struct gr_error *gr_cut_sets_finish(struct gr_waste_run *run,
				    const struct gr_cut_sets *sets,
				    uint32_t set, struct gr_finding row)
{
	struct gr_cut_vector *cuts = &run->findings.cuts;
	struct gr_error *err = NULL;

	row.first_cut = cuts->size;
	for (size_t i = 0; !err && i < sets->cuts.size; i++) {
		if (sets->set.data[i] == set)
			err = gr_runtime_append(run->heap->rt, gr_cut_vector,
						cuts, sets->cuts.data[i]);
		if (!err)
			err = gr_runtime_step(run->heap->rt, 1);
	}
	row.end_cut = cuts->size;
	return err ? err : gr_findings_add(&run->findings, &row);
}
