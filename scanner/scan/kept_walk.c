// SPDX-License-Identifier: Apache-2.0
#include "scan/kept_walk.h"

#include "scan/mark.h"
#include "scan/scan.h"

void gr_scan_drop_chains(struct gr_answers *answers)
{
	struct gr_chains *chains = steal_ptr(answers->chains);

	if (!chains)
		return;
	gr_marking_deinit(&chains->m);
	free(chains);
}

struct gr_error *gr_scan_need_chains(struct gr_answers *answers,
				     enum gr_attribution attribution)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_marking_deinit) struct gr_marking m = { 0 };
	struct gr_walk_options options = { .attribution = attribution };
	struct gr_ledger ledger = { 0 };
	struct gr_gaps before;
	struct gr_error *err;

	if (answers->chains && answers->chains->attribution == attribution)
		return NULL;
	gr_scan_drop_chains(answers);
	before = stop->gaps;
	err = gr_scan_mark(answers, &options, true, &ledger, &m);
	struct gr_gaps gaps = stop->gaps;
	gr_gaps_end_walk(&stop->gaps, &before);
	if (!err)
		err = gr_tree_finish(&m.tree);
	if (!err)
		err = gr_parents_finish(m.parents, stop->program->rt.poll,
					stop->program->rt.poll_ctx);
	if (err)
		return err;
	answers->chains = calloc(1, sizeof(*answers->chains));
	if (!answers->chains)
		return &gr_enomem;
	answers->chains->attribution = attribution;
	answers->chains->gaps = gaps;
	answers->chains->m = m;
	memset(&m, 0, sizeof(m));
	// Parents tell which objects are reached, so states are not needed.
	free(steal_ptr(answers->chains->m.states));
	return NULL;
}
