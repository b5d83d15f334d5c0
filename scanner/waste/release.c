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
		     !err && !row->is_left_out && k < row->end_cut; k++) {
			err = gr_runtime_append(run->heap->rt, gr_cut_vector,
						ret, findings->cuts.data[k]);
			if (!err)
				err = gr_runtime_step(run->heap->rt, 1);
		}
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
	err = gr_marked_missing(run, marked, bits, ret_bytes);
	if (!err)
		*ret_bits = steal_ptr(bits);
	return err;
}
