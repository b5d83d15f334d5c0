// SPDX-License-Identifier: Apache-2.0
/* The object graph of a stop: made by the first question that needs it, and
 * kept for the next ones. */
#include "scan/graph.h"

#include "base/cleanup.h"
#include "base/huge.h"

#include "graph/ahead.h"
#include "scan/kept_walk.h"
#include "scan/native.h"

#include "scan/scan.h"

enum { MAX_THREADS = 4 };

/* Threads for a graph: those that were asked for, or the processors. */
static unsigned int count_threads(const struct gr_answers *answers)
{
	unsigned int n = gr_costs_processors();

	if (answers->graph_threads)
		return answers->graph_threads;
	return n > MAX_THREADS ? MAX_THREADS : n;
}

/* Bytes that the graph's arrays may take; 0: no limit. */
static uint64_t limit_bytes(const struct gr_costs *costs)
{
	uint64_t limit = costs->meter.limit_bytes;
	uint64_t now = gr_meter_private_bytes(&costs->meter);
	// The arrays take spare memory first.
	uint64_t spare = gr_huge_spare_bytes();

	now = now > spare ? now - spare : 0;
	uint64_t used = now > costs->meter.first_bytes ?
				now - costs->meter.first_bytes :
				0;

	if (!limit)
		return 0;
	return used < limit ? limit - used : 1;
}

void gr_answers_make_room(struct gr_answers *answers)
{
	uint64_t limit = limit_bytes(answers->costs);

	if (answers->graph && limit &&
	    limit < answers->costs->estimate.table_bytes)
		gr_answers_drop_graph(answers);
}

void gr_answers_drop_graph(struct gr_answers *answers)
{
	gr_memo_destroy(steal_ptr(answers->links));
	gr_heap_graph_destroy(steal_ptr(answers->graph));
	answers->graph_phases = (struct gr_graph_phases){ 0 };
}

/* Make the graph with the roots of C, if the program has C memory. */
static struct gr_error *make_with_c(struct gr_answers *answers,
				    struct gr_heap_graph_spec *spec)
{
	_cleanup_(gr_c_threads_deinit) struct gr_c_threads threads = { 0 };
	struct gr_c_roots_spec roots;
	struct gr_error *err = NULL;

	spec->c_roots = &roots;
	if (spec->native && spec->native->blocks.list.size)
		err = gr_stop_c_roots_spec(answers->stop, &threads, &roots);
	return err ? err : gr_heap_graph_create(spec, &answers->graph);
}

static struct gr_error *find_c_types(void *ctx, size_t module,
				     const struct gr_dwarf **ret)
{
	return gr_stop_c_types(ctx, module, ret);
}

static struct gr_error *make_graph(struct gr_answers *answers)
{
	struct gr_stop *stop = answers->stop;
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	if (err)
		return err;
	struct gr_heap_graph_spec spec = {
		.heap = stop->heap,
		.sched = &stop->sched,
		.roots = &stop->roots,
		.marking = &answers->kept_walk->m,
		.find_c_types = find_c_types,
		.ctx = stop,
		.limit_bytes = limit_bytes(answers->costs),
		.nthreads = count_threads(answers),
	};

	err = gr_stop_native(stop, &spec.native);
	if (!err)
		err = make_with_c(answers, &spec);
	gr_progress_end(&answers->costs->progress);
	if (err)
		return err;
	answers->graph_gaps = answers->kept_walk->gaps;
	answers->graph_phases.masks_us = answers->graph->masks_us;
	answers->graph_phases.edges_us = answers->graph->edges_us;
	return NULL;
}

const struct gr_graph_phases *gr_scan_graph_phases(const struct gr_scan *scan)
{
	return &scan->answers.graph_phases;
}

const struct gr_gaps *gr_scan_gaps(const struct gr_scan *scan)
{
	return scan->answers.graph ? &scan->answers.graph_gaps :
				     &scan->stop.gaps;
}

/* The dominators take so many times the number of vertices as units of work: 12
 * to 14 in the heaps of services and of benchmarks. */
enum { DOMINATOR_UNITS = 13 };

static void begin_step(struct gr_answers *answers, unsigned int parts)
{
	uint64_t n = answers->graph->graph->nvertices;
	struct gr_progress *progress = &answers->costs->progress;

	if (parts & (GR_PART_DOMINATORS | GR_PART_CHILDREN))
		gr_progress_begin(progress, GR_SCAN_STEP_DOMINATORS,
				  DOMINATOR_UNITS * n);
	else
		gr_progress_begin(progress, GR_SCAN_STEP_PATHS, n);
}

/* Make parts, and add the time to a phase. */
static struct gr_error *make_parts(struct gr_answers *answers,
				   unsigned int parts, uint64_t *phase_us)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	uint64_t start_us = gr_costs_now_us();

	begin_step(answers, parts);
	struct gr_error *err =
		gr_graph_need(answers->graph->graph, parts, &poll);

	gr_progress_end(&answers->costs->progress);
	*phase_us += gr_costs_now_us() - start_us;
	return err;
}

/* Make parts one after the other. */
static struct gr_error *make_in_turn(struct gr_answers *answers,
				     unsigned int parts)
{
	struct gr_graph_phases *phases = &answers->graph_phases;
	struct gr_error *err =
		make_parts(answers, GR_PART_NEAREST, &phases->nearest_us);

	if (!err && (parts & GR_PART_REVERSE))
		err = make_parts(answers, GR_PART_REVERSE, &phases->reverse_us);
	if (!err && (parts & (GR_PART_DOMINATORS | GR_PART_CHILDREN)))
		err = make_parts(answers, parts, &phases->dominators_us);
	return err;
}

/* Make parts, the reverse edges by a second thread. If memory is short, make
 * them one after the other. */
static struct gr_error *make_side_by_side(struct gr_answers *answers,
					  unsigned int parts)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_ahead ahead;

	gr_ahead_begin(&ahead, answers->graph->graph);
	struct gr_error *err = make_in_turn(answers, parts & ~GR_PART_REVERSE);
	uint64_t start_us = gr_costs_now_us();
	bool is_wanted = !err;
	gr_error_catch(&err, GR_ERROR_NO_MEMORY);
	struct gr_error *ended = gr_ahead_end(&ahead, is_wanted, &poll);
	answers->graph_phases.reverse_us += gr_costs_now_us() - start_us;
	answers->graph->budget.is_exceeded = false;
	if (!err)
		return ended;
	gr_error_destroy(ended);
	return err;
}

struct gr_error *gr_answers_weigh(struct gr_answers *answers,
				  enum gr_weight weight)
{
	answers->weight = weight;
	return answers->graph ?
		       gr_heap_graph_weigh(answers->graph, answers->stop->heap,
					   weight) :
		       NULL;
}

static struct gr_error *need(struct gr_answers *answers, unsigned int parts)
{
	struct gr_error *err = answers->graph ? NULL : make_graph(answers);

	if (!err)
		err = gr_answers_weigh(answers, answers->weight);
	if (!err && count_threads(answers) > 1 && (parts & GR_PART_REVERSE) &&
	    !answers->graph->graph->from)
		err = make_side_by_side(answers, parts);
	return err ? err : make_in_turn(answers, parts);
}

struct gr_error *gr_answers_need_graph(struct gr_answers *answers,
				       unsigned int parts)
{
	gr_huge_hold();
	struct gr_error *err = need(answers, parts);
	gr_costs_note_memory(answers->costs);
	gr_huge_release();
	return err;
}
