// SPDX-License-Identifier: Apache-2.0
#include "growth/path_goroutines.h"

#include "goruntime/layout/names.h"
#include "heapgraph/limited_keys.h"
#include "scan/stop.h"

/** Goroutines that run finalizers, or cleanups. */
struct runners {
	uint64_t goid; /* of the last one */
	uint64_t count;
};

void gr_path_goroutines_deinit(struct gr_path_goroutines *goroutines)
{
	gr_keys_deinit(&goroutines->by_thread);
}

static uint64_t only_one(const struct runners *runners)
{
	return runners->count == 1 ? runners->goid : 0;
}

/* Note a goroutine by the thread that runs it. */
static struct gr_error *add_thread(struct gr_path_goroutines *p, uint32_t index)
{
	const struct gr_sched *sched = &p->answers->stop->sched;
	const struct gr_running *running =
		gr_sched_running(sched, sched->goroutines[index].addr);
	uint64_t thread = running ? (uint64_t)running->thread_id : 0;

	if (!thread || gr_keys_find(&p->by_thread, thread, 0) != UINT32_MAX)
		return NULL;
	return gr_limited_keys_add(sched->rt, &p->by_thread, thread, 0, index);
}

struct gr_error *gr_path_goroutines_init(struct gr_path_goroutines *p,
					 const struct gr_answers *answers)
{
	const struct gr_sched *sched = &answers->stop->sched;
	struct runners finalizers = { 0 }, cleanups = { 0 };
	struct gr_error *err = NULL;
	struct gr_func start;

	p->answers = answers;
	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, 1);
		if (err || g->is_g0)
			continue;
		err = add_thread(p, (uint32_t)i);
		if (err || !gr_func_find(sched->rt, g->startpc, &start) ||
		    !gr_name_calls_back(start.name))
			continue;
		struct runners *runners =
			gr_name_has(start.name, GR_NAME_RUNS_CLEANUPS) ?
				&cleanups :
				&finalizers;
		*runners = (struct runners){ g->goid, runners->count + 1 };
	}
	// Without a queue of their own, cleanups are in that of finalizers.
	p->finalizers = only_one(&finalizers);
	p->cleanups = sched->rt->layout.cleanup_block.size_bytes ?
			      only_one(&cleanups) :
			      p->finalizers;
	return err;
}

static uint64_t of_thread(const struct gr_path_goroutines *p, int32_t thread)
{
	uint32_t i = thread > 0 ?
			     gr_keys_find(&p->by_thread, (uint64_t)thread, 0) :
			     UINT32_MAX;

	return i == UINT32_MAX ? 0 : p->answers->stop->sched.goroutines[i].goid;
}

/* The goroutine that is to run what is queued and holds this. */
static uint64_t of_queue(const struct gr_path_goroutines *p, uint32_t index)
{
	const struct gr_root *root = &p->answers->stop->roots.list.data[index];

	if (!root->queue_entry)
		return 0;
	return root->kind == GR_ROOT_FINALIZER ? p->finalizers :
	       root->kind == GR_ROOT_CLEANUP   ? p->cleanups :
						 0;
}

uint64_t gr_path_goroutine(const struct gr_path_goroutines *p, gr_vertex root)
{
	const struct gr_heap_graph *hg = p->answers->graph;
	const struct gr_graph *g = hg->graph;

	if (root == GR_VERTEX_NONE || root == gr_graph_top(g))
		return 0;
	bool is_root = root < gr_graph_first_group(g);
	gr_vertex group = is_root ? g->parent[root] : root;
	gr_vertex index = group - gr_graph_first_group(g);

	if (group >= gr_graph_first_group(g) && index < hg->ngoroutines)
		return p->answers->stop->sched.goroutines[index].goid;
	if (!is_root)
		return 0;
	const struct gr_root_vertex *vertex =
		&hg->roots.data[root - gr_graph_first_root(g)];
	if (vertex->source == GR_FROM_LIST)
		return of_queue(p, vertex->index);
	if (vertex->source == GR_FROM_C_REGISTERS)
		return of_thread(p, (int32_t)vertex->index);
	if (vertex->source == GR_FROM_C &&
	    hg->c_roots.data[vertex->index].kind == GR_C_ROOT_STACK)
		return of_thread(p, hg->c_roots.data[vertex->index].lwp);
	return 0;
}
