// SPDX-License-Identifier: Apache-2.0
/*
 * A timer that is pending is a root with its function and its argument, and an
 * element of the heap of timers of a P, which is an object itself. Source:
 * runtime/time.go (timers).
 */
#include "waste/checks/timer_cuts.h"

#include "base/sort.h"
#include "scan/answers.h"

void gr_timer_cuts_deinit(struct gr_timer_cuts *timers)
{
	gr_timer_root_vector_deinit(&timers->roots);
	gr_cut_vector_deinit(&timers->slots);
}

static int by_address(const void *a, const void *b)
{
	const struct gr_timer_root *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_vertex(const void *a, const void *b)
{
	const struct gr_cut *x = a, *y = b;

	if (x->vertex != y->vertex)
		return x->vertex > y->vertex ? 1 : -1;
	return (x->holder > y->holder) - (x->holder < y->holder);
}

static struct gr_error *find_roots(struct gr_timer_cuts *timers)
{
	struct gr_runtime *rt = timers->run->heap->rt;
	const struct gr_heap_graph *hg = timers->run->answers->graph;
	const struct gr_root_list *list =
		&timers->run->answers->stop->roots.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		const struct gr_root_vertex *vertex = &hg->roots.data[i];
		struct gr_timer_root root = {
			.vertex = gr_graph_first_root(hg->graph) + i
		};

		err = gr_runtime_step(rt, 1);
		if (err || vertex->source != GR_FROM_LIST ||
		    list->data[vertex->index].kind != GR_ROOT_TIMER)
			continue;
		root.addr = list->data[vertex->index].addr;
		err = gr_runtime_append(rt, gr_timer_root_vector,
					&timers->roots, root);
	}
	return err ? err :
		     gr_sort(timers->roots.data, timers->roots.size,
			     sizeof(*timers->roots.data), by_address, rt->poll,
			     rt->poll_ctx);
}

/* Note who the array of a P's heap leads to. */
static struct gr_error *add_slots(struct gr_timer_cuts *timers, uint64_t p)
{
	struct gr_runtime *rt = timers->run->heap->rt;
	const struct gr_graph *g = timers->run->answers->graph->graph;
	struct gr_go_slice heap;
	struct gr_error *err = gr_runtime_read_slice(
		rt, p + rt->layout.p.timer_heap.off, UINT64_MAX, &heap);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT) || err)
		return err;
	gr_vertex array = gr_objects_find(g->objects, heap.addr);
	if (array == GR_VERTEX_NONE)
		return NULL;
	for (uint32_t e = g->first[array]; !err && e < g->first[array + 1];
	     e++) {
		err = gr_runtime_append(rt, gr_cut_vector, &timers->slots,
					(struct gr_cut){ g->to[e], array });
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_timer_cuts_init(struct gr_waste_run *run,
				    struct gr_timer_cuts *ret)
{
	const struct gr_sched *sched = &run->answers->stop->sched;
	struct gr_runtime *rt = run->heap->rt;

	*ret = (struct gr_timer_cuts){ .run = run };
	struct gr_error *err = find_roots(ret);
	for (size_t i = 0; !err && i < sched->nps; i++)
		if (rt->layout.p.timer_heap.bytes)
			err = add_slots(ret, sched->ps[i]);
	return err ? err :
		     gr_sort(ret->slots.data, ret->slots.size,
			     sizeof(*ret->slots.data), by_vertex, rt->poll,
			     rt->poll_ctx);
}

/* Cut all that one root of the timer leads to. */
static struct gr_error *cut_root(struct gr_timer_cuts *timers, gr_vertex root,
				 struct gr_cut_sets *sets, uint32_t set)
{
	const struct gr_graph *g = timers->run->answers->graph->graph;
	struct gr_error *err = NULL;

	for (uint32_t e = g->first[root]; !err && e < g->first[root + 1]; e++)
		err = gr_cut_sets_add(timers->run, sets, set,
				      (struct gr_cut){ g->to[e], root });
	return err;
}

struct gr_error *gr_timer_cuts_add(struct gr_timer_cuts *timers, gr_obj timer,
				   struct gr_cut_sets *sets, uint32_t set)
{
	const struct gr_objects *objects =
		timers->run->answers->graph->graph->objects;
	gr_vertex v = gr_object_vertex(objects, timer);
	struct gr_error *err = NULL;

	if (v == GR_VERTEX_NONE)
		return NULL;
	uint64_t start = gr_objects_addr(objects, v);
	uint64_t end = start + gr_objects_bytes(objects, v);
	size_t i = gr_count_before(timers->roots.size, k,
				   timers->roots.data[k].addr < start);
	for (;
	     !err && i < timers->roots.size && timers->roots.data[i].addr < end;
	     i++)
		err = cut_root(timers, timers->roots.data[i].vertex, sets, set);
	i = gr_count_before(timers->slots.size, k,
			    timers->slots.data[k].vertex < v);
	for (; !err && i < timers->slots.size &&
	       timers->slots.data[i].vertex == v;
	     i++)
		err = gr_cut_sets_add(timers->run, sets, set,
				      timers->slots.data[i]);
	return err;
}
