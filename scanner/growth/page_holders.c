// SPDX-License-Identifier: Apache-2.0
#include "growth/page_holders.h"

#include "base/sort.h"
#include "graph/poll.h"
#include "naming/vertex.h"

/** The kinds of keys of names. */
enum { KEY_VERTEX = 1, KEY_START };

void gr_page_holders_deinit(struct gr_page_holders *holders)
{
	free(holders->root_of);
	gr_stack_owners_deinit(&holders->stacks);
	gr_holder_names_deinit(&holders->names);
	gr_keys_deinit(&holders->by_key);
}

/* Find the root of each vertex: the order has a parent before its children. */
static struct gr_error *find_roots(struct gr_page_holders *holders)
{
	const struct gr_graph *g = holders->answers->graph->graph;
	struct gr_runtime *rt = &holders->answers->stop->program->rt;
	uint64_t bytes = (uint64_t)g->nvertices * sizeof(*holders->root_of);
	struct gr_error *err = gr_image_want(rt->image, bytes);

	if (err)
		return err;
	holders->root_of = malloc(bytes);
	if (!holders->root_of)
		return &gr_enomem;
	memset(holders->root_of, 0xff, bytes);
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i];

		holders->root_of[v] = v >= gr_graph_first_root(g) ?
					      v :
					      holders->root_of[g->parent[v]];
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct gr_stack_owner *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct gr_error *find_stacks(struct gr_page_holders *holders)
{
	const struct gr_sched *sched = &holders->answers->stop->sched;
	struct gr_stack_owners *list = &holders->stacks;

	for (size_t i = 0; i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		struct gr_stack_owner owner = { g->stack_lo, g->stack_hi,
						(uint32_t)i };

		if (owner.start < owner.end &&
		    !gr_stack_owners_append(list, owner))
			return &gr_enomem;
	}
	return gr_sort(list->data, list->size, sizeof(*list->data), by_start,
		       sched->rt->poll, sched->rt->poll_ctx);
}

struct gr_error *gr_page_holders_init(struct gr_page_holders *holders,
				      struct gr_answers *answers)
{
	holders->answers = answers;
	struct gr_error *err = find_roots(holders);

	return err ? err : find_stacks(holders);
}

/* Find a name that was entered, or enter NULL for one. */
static struct gr_error *enter(struct gr_page_holders *holders, uint64_t key,
			      uint32_t kind, uint32_t *ret)
{
	*ret = gr_keys_find(&holders->by_key, key, kind);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = (uint32_t)holders->names.size;
	return gr_keys_add(&holders->by_key, key, kind, *ret) &&
			       gr_holder_names_append(&holders->names, NULL) ?
		       NULL :
		       &gr_enomem;
}

/* The name of all goroutines that begin where one does. */
static struct gr_error *name_goroutine(struct gr_page_holders *holders,
				       uint32_t index, uint32_t *ret)
{
	struct gr_sched *sched = &holders->answers->stop->sched;
	const struct gr_goroutine *g = &sched->goroutines[index];
	struct gr_error *err =
		enter(holders, g->is_g0 ? 0 : g->startpc, KEY_START, ret);

	if (err || holders->names.data[*ret])
		return err;
	holders->names.data[*ret] = gr_goroutines_name(sched, index);
	return holders->names.data[*ret] ? NULL : &gr_enomem;
}

struct gr_error *gr_page_holder_of(struct gr_page_holders *holders, gr_vertex v,
				   uint32_t *ret)
{
	const struct gr_heap_graph *hg = holders->answers->graph;
	const struct gr_graph *g = hg->graph;
	gr_vertex root = holders->root_of[v];
	struct gr_vertex_info info;

	*ret = UINT32_MAX;
	if (root == GR_VERTEX_NONE || root == gr_graph_top(g))
		return NULL;
	gr_vertex group = root < gr_graph_first_group(g) ? g->parent[root] :
							   root;
	gr_vertex first_static = gr_goroutine_vertex(hg, hg->ngoroutines);
	if (group >= gr_graph_first_group(g) && group < first_static)
		return name_goroutine(holders, group - gr_graph_first_group(g),
				      ret);
	// A variable with static memory is a group.
	if (group < gr_group_vertex(hg, 0))
		root = group;
	struct gr_error *err = enter(holders, root, KEY_VERTEX, ret);
	if (err || holders->names.data[*ret])
		return err;
	err = gr_vertex_describe(holders->answers, root, &info);
	if (!err)
		holders->names.data[*ret] = info.name;
	return err;
}

struct gr_error *gr_page_holder_of_stack(struct gr_page_holders *holders,
					 uint64_t addr, uint64_t end,
					 uint64_t *stop, uint32_t *ret)
{
	const struct gr_stack_owners *list = &holders->stacks;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	*stop = end;
	*ret = UINT32_MAX;
	if (n == list->size)
		return NULL;
	const struct gr_stack_owner *owner = &list->data[n];
	bool is_inside = owner->start <= addr;
	uint64_t edge = is_inside ? owner->end : owner->start;

	if (edge < end)
		*stop = edge;
	return is_inside ? name_goroutine(holders, owner->goroutine, ret) :
			   NULL;
}
