// SPDX-License-Identifier: Apache-2.0
#include "waste/release.h"

#include "base/cleanup.h"
#include "scan/answers.h"
#include "waste/checks/cut_sets.h"

/* Collect the cuts of the rows that are not small. */
static struct gr_error *collect(struct gr_waste_run *run,
				struct gr_cut_vector *ret)
{
	const struct gr_findings *findings = &run->findings;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < findings->rows.size; i++) {
		const struct gr_finding *row = &findings->rows.data[i];

		err = gr_runtime_step(run->heap->rt, 1);
		for (uint32_t k = row->first_cut;
		     !err && !row->is_small && k < row->end_cut; k++) {
			err = gr_runtime_append(run->heap->rt, gr_cut_vector,
						ret, findings->cuts.data[k]);
			if (!err)
				err = gr_runtime_step(run->heap->rt, 1);
		}
	}
	return err;
}

/* Turn vertices that are not marked into bits of slots. */
static struct gr_error *take_gone(struct gr_waste_run *run,
				  const uint64_t *marked, uint64_t *bits,
				  uint64_t *ret_bytes)
{
	const struct gr_graph *g = run->answers->graph->graph;
	const struct gr_objects *objects = g->objects;
	struct gr_object_iterator it =
		gr_objects_between(objects, 0, objects->nfirst);
	struct gr_error *err = NULL;

	while (!err && gr_objects_next(&it)) {
		if (!gr_bitmap_test(marked, it.vertex)) {
			assert(it.slot < run->heap->nobjs);
			gr_bitmap_set(bits, it.slot);
			*ret_bytes += it.run->elem_bytes;
		}
		if (GR_UNLIKELY(!(it.vertex % GR_POLL_STEPS)))
			err = gr_runtime_step(run->heap->rt, GR_POLL_STEPS);
	}
	return err;
}

struct gr_error *gr_waste_release(struct gr_waste_run *run, uint64_t **ret_bits,
				  uint64_t *ret_bytes)
{
	_cleanup_(gr_cut_vector_deinit) struct gr_cut_vector cuts = { 0 };
	_cleanup_array_ uint64_t *marked = NULL;
	struct gr_error *err = collect(run, &cuts);

	*ret_bits = NULL;
	*ret_bytes = 0;
	if (err || !cuts.size)
		return err;
	err = gr_answers_need_graph(run->answers, 0);
	if (!err)
		err = gr_cuts_mark(run, cuts.data, cuts.size, &marked);
	if (err)
		return err;
	_cleanup_free_ uint64_t *bits = gr_bitmap_alloc(run->heap->nobjs);
	if (!bits)
		return &gr_enomem;
	err = take_gone(run, marked, bits, ret_bytes);
	if (!err)
		*ret_bits = steal_ptr(bits);
	return err;
}
