// SPDX-License-Identifier: Apache-2.0
#include "cmemory/neighbours.h"

#include "base/cleanup.h"
#include "graph/poll.h"
#include "heapgraph/limited_keys.h"
#include "scan/answers.h"

enum {
	/* A block is beside another one up to here. */
	MAX_STEPS = 4,
	MAX_DISTANCE = 4096,
};

void gr_neighbours_deinit(struct gr_neighbours *n)
{
	gr_array_free(n->holder_of);
	gr_keys_deinit(&n->keys);
	gr_neighbour_counts_deinit(&n->counts);
}

/* All objects of a type are one holder: the first one that is met. */
static struct gr_error *holder(const struct gr_graph *g, struct gr_keys *types,
			       gr_vertex v, gr_vertex *ret)
{
	*ret = v;
	if (v >= g->nobjects)
		return NULL;
	uint32_t type = g->objects->type[v];
	uint32_t first = gr_keys_find(types, type, 0);

	if (first == UINT32_MAX)
		return gr_keys_add(types, type, 0, v) ? NULL : &gr_enomem;
	*ret = first;
	return NULL;
}

struct gr_error *gr_neighbours_init(struct gr_neighbours *n,
				    struct gr_answers *answers)
{
	const struct gr_graph *g = answers->graph->graph;
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	_cleanup_(gr_keys_deinit) struct gr_keys types = { 0 };
	struct gr_ticker ticker = { .poll = &poll };
	gr_vertex first = gr_objects_second(g->objects);
	struct gr_error *err = NULL;

	n->rt = &answers->stop->program->rt;
	n->g = g;
	n->blocks = &answers->graph->native->blocks.list;
	n->holder_of = gr_array_alloc(g->budget, n->blocks->size + 1,
				      sizeof(*n->holder_of));
	if (!n->holder_of)
		return gr_budget_error(g->budget);
	for (size_t i = 0; i < n->blocks->size; i++)
		n->holder_of[i] = GR_VERTEX_NONE;
	/* Parents come before their children. */
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i], parent = g->parent[v];

		if (!gr_vertex_is_block(g, v))
			continue;
		if (gr_vertex_is_block(g, parent))
			n->holder_of[v - first] = n->holder_of[parent - first];
		else
			err = holder(g, &types, parent,
				     &n->holder_of[v - first]);
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

/* The holder of the nearest held block in one direction. */
static gr_vertex look(const struct gr_neighbours *n, uint32_t block, int step)
{
	const struct gr_block *from = &n->blocks->data[block];
	uint64_t at = block;

	for (int i = 0; i < MAX_STEPS; i++) {
		at += step;
		if (at >= n->blocks->size)
			return GR_VERTEX_NONE;
		const struct gr_block *other = &n->blocks->data[at];
		uint64_t distance = step > 0 ? other->addr - from->addr :
					       from->addr - other->addr;
		uint64_t between =
			gr_block_bytes(step > 0 ? from : other) + MAX_DISTANCE;

		if (other->arena != from->arena || distance > between)
			return GR_VERTEX_NONE;
		if (n->holder_of[at] != GR_VERTEX_NONE)
			return n->holder_of[at];
	}
	return GR_VERTEX_NONE;
}

static struct gr_error *add(struct gr_neighbours *n, uint32_t group,
			    gr_vertex holder)
{
	uint32_t i = gr_keys_find(&n->keys, holder, group);

	if (i == UINT32_MAX) {
		struct gr_neighbour_count count = { .group = group,
						    .holder = holder };
		struct gr_error *err;

		i = n->counts.size;
		err = gr_runtime_append(n->rt, gr_neighbour_counts, &n->counts,
					count);
		if (!err)
			err = gr_limited_keys_add(n->rt, &n->keys, holder,
						  group, i);
		if (err)
			return err;
	}
	n->counts.data[i].blocks++;
	return NULL;
}

struct gr_error *gr_neighbours_count(struct gr_neighbours *n, uint32_t block,
				     uint32_t group)
{
	gr_vertex before = look(n, block, -1), after = look(n, block, 1);
	struct gr_error *err = NULL;

	if (before != GR_VERTEX_NONE)
		err = add(n, group, before);
	if (!err && after != GR_VERTEX_NONE && after != before)
		err = add(n, group, after);
	return err;
}
