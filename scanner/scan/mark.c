// SPDX-License-Identifier: Apache-2.0
#include "scan/mark.h"

#include "scan/scan.h"

struct gr_error *gr_answers_mark(struct gr_answers *answers,
				 const struct gr_walk_options *options,
				 bool keep_parents, struct gr_ledger *ledger,
				 struct gr_marking *ret)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	uint64_t start_us = gr_costs_now_us();
	struct gr_error *err;

	memset(ret, 0, sizeof(*ret));
	err = gr_walk_create(stop->heap, &stop->sched, &stop->roots, options,
			     ledger, &w);
	// Finding the pointer words is part of the walk.
	ledger->phases_us[GR_PHASE_typed] += gr_costs_now_us() - start_us;
	if (!err && keep_parents)
		err = gr_walk_keep_parents(w);
	gr_costs_begin_walk(answers->costs,
			    keep_parents ? GR_SCAN_STEP_WALK_AGAIN :
					   GR_SCAN_STEP_WALK,
			    ledger);
	if (!err)
		err = gr_walk_tiers(w, options);
	gr_costs_end_walk(answers->costs);
	if (w && options->keep_partial)
		gr_answers_catch_end(answers, &err, ledger);
	gr_costs_note_memory(answers->costs);
	// No more names will be needed.
	if (!err)
		gr_stop_save_symbols(stop);
	if (!err) {
		*ret = w->m;
		memset(&w->m, 0, sizeof(w->m));
	}
	return err;
}

struct gr_progress gr_scan_progress(const struct gr_scan *scan)
{
	const struct gr_ledger *ledger = scan->costs.walking;

	if (!ledger)
		return scan->costs.progress;
	return (struct gr_progress){
		.step = scan->costs.walk,
		.done = ledger->typed.objects + ledger->runtime_type.objects +
			ledger->header.objects + ledger->masked.objects,
		.total = scan->stop.heap->allocated_objects,
	};
}

struct gr_error *
gr_answers_sort_free_slots(struct gr_answers *answers,
			   const struct gr_walk_options *options,
			   struct gr_ledger *ledger, struct gr_marking *ret)
{
	struct gr_stop *stop = answers->stop;
	struct gr_walk_options precise = {
		.max_depth = 1,
		.max_nodes = 1,
		.attribution = options->attribution,
		.precise_only = true,
		.places = options->places,
		.nplaces = options->nplaces,
	};
	uint64_t *count = ledger->gaps.count;
	struct gr_gaps before = stop->gaps;
	struct gr_ledger again = { 0 };
	struct gr_error *err;

	memset(ret, 0, sizeof(*ret));
	if (!count[GR_GAP_FREE_SLOT_POINTERS])
		return NULL;
	memset(&stop->gaps, 0, sizeof(stop->gaps));
	err = gr_answers_mark(answers, &precise, false, &again, ret);
	uint64_t sure = stop->gaps.count[GR_GAP_FREE_SLOT_POINTERS];
	stop->gaps = before;
	for (int i = 0; i < GR_NPHASES; i++)
		ledger->phases_us[i] += again.phases_us[i];
	if (err || sure >= count[GR_GAP_FREE_SLOT_POINTERS])
		return err;
	count[GR_GAP_CONSERVATIVE_FREE_SLOTS] +=
		count[GR_GAP_FREE_SLOT_POINTERS] - sure;
	count[GR_GAP_FREE_SLOT_POINTERS] = sure;
	return NULL;
}
