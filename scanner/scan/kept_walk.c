// SPDX-License-Identifier: Apache-2.0
#include "scan/kept_walk.h"

#include "scan/answers.h"
#include "scan/mark.h"

void gr_kept_walk_drop(struct gr_answers *answers)
{
	struct gr_kept_walk *kept = steal_ptr(answers->kept_walk);

	if (!kept)
		return;
	gr_marking_deinit(&kept->m);
	free(kept);
}

struct gr_error *gr_kept_walk_need(struct gr_answers *answers,
				   enum gr_attribution attribution)
{
	struct gr_stop *stop = answers->stop;
	_cleanup_(gr_marking_deinit) struct gr_marking m = { 0 };
	struct gr_walk_options options = { .attribution = attribution };
	struct gr_ledger ledger = { 0 };
	struct gr_gaps before;
	struct gr_error *err;

	if (answers->kept_walk &&
	    answers->kept_walk->attribution == attribution)
		return NULL;
	gr_kept_walk_drop(answers);
	before = stop->gaps;
	err = gr_answers_mark(answers, &options, true, &ledger, &m);
	struct gr_gaps gaps = stop->gaps;
	gr_gaps_end_walk(&stop->gaps, &before);
	if (!err)
		err = gr_tree_finish(&m.tree);
	if (!err)
		err = gr_parents_finish(m.parents, stop->program->rt.poll,
					stop->program->rt.poll_ctx);
	if (err)
		return err;
	answers->kept_walk = calloc(1, sizeof(*answers->kept_walk));
	if (!answers->kept_walk)
		return &gr_enomem;
	answers->kept_walk->attribution = attribution;
	answers->kept_walk->gaps = gaps;
	answers->kept_walk->m = m;
	memset(&m, 0, sizeof(m));
	// Parents tell which objects are reached, so states are not needed.
	free(steal_ptr(answers->kept_walk->m.states));
	return NULL;
}
