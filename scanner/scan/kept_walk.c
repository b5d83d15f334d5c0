// SPDX-License-Identifier: Apache-2.0
#include "scan/kept_walk.h"

#include "scan/mark.h"
#include "scan/scan.h"

void gr_scan_drop_chains(struct gr_scan *scan)
{
	struct gr_chains *chains = steal_ptr(scan->answers.chains);

	if (!chains)
		return;
	gr_marking_deinit(&chains->m);
	free(chains);
}

struct gr_error *gr_scan_need_chains(struct gr_scan *scan,
				     enum gr_attribution attribution)
{
	_cleanup_(gr_marking_deinit) struct gr_marking m = { 0 };
	struct gr_walk_options options = { .attribution = attribution };
	struct gr_ledger ledger = { 0 };
	struct gr_gaps before;
	struct gr_error *err;

	if (scan->answers.chains &&
	    scan->answers.chains->attribution == attribution)
		return NULL;
	gr_scan_drop_chains(scan);
	before = scan->stop.gaps;
	err = gr_scan_mark(scan, &options, true, &ledger, &m);
	struct gr_gaps gaps = scan->stop.gaps;
	gr_gaps_end_walk(&scan->stop.gaps, &before);
	if (!err)
		err = gr_tree_finish(&m.tree);
	if (!err)
		err = gr_parents_finish(m.parents, scan->program.rt.poll,
					scan->program.rt.poll_ctx);
	if (err)
		return err;
	scan->answers.chains = calloc(1, sizeof(*scan->answers.chains));
	if (!scan->answers.chains)
		return &gr_enomem;
	scan->answers.chains->attribution = attribution;
	scan->answers.chains->gaps = gaps;
	scan->answers.chains->m = m;
	memset(&m, 0, sizeof(m));
	// Parents tell which objects are reached, so states are not needed.
	free(steal_ptr(scan->answers.chains->m.states));
	return NULL;
}
