/* SPDX-License-Identifier: Apache-2.0 */
/** answers: what the questions on a stop have made, for the next ones. */
#ifndef GR_ANSWERS_H
#define GR_ANSWERS_H

#include "heapgraph/heapgraph.h"
#include "scan/costs.h"
#include "scan/graph.h"
#include "scan/stop.h"

/** A question keeps this for the next ones of a stop: the first member of a
 * struct that only its own file knows. */
struct gr_memo {
	void (*destroy)(struct gr_memo *memo);
};
static inline void gr_memo_destroy(struct gr_memo *memo)
{
	if (memo)
		memo->destroy(memo);
}

struct gr_kept_walk;

/** All parts but the stop and the costs are made on demand, or NULL. */
struct gr_answers {
	struct gr_stop *stop;
	struct gr_costs *costs;
	struct gr_kept_walk *kept_walk;
	struct gr_heap_graph *graph;
	/** The unit of sizes in the graph. All questions but those of
	 * gr_scan_enter_weighing() begin with bytes. */
	enum gr_weight weight;
	struct gr_gaps graph_gaps; /**< The target's and its walk's. */
	struct gr_graph_phases graph_phases;
	/** Threads that sweep edges, or pack a file; 0: one for each processor,
	 * to sweep at most 4. */
	unsigned int graph_threads;
	struct gr_memo *primitive_names; /**< For goroutines/primitive.c. */
	struct gr_memo *links;		 /**< For retention/link_cache.c. */
};

/**
 * If *@p err says that the user or a limit ended the walk, destroy the error
 * and record the end in @p ledger.
 */
void gr_answers_catch_end(struct gr_answers *answers, struct gr_error **err,
			  struct gr_ledger *ledger);

#endif /* GR_ANSWERS_H */
