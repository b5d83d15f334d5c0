// SPDX-License-Identifier: Apache-2.0
#include "retention/weak.h"

#include "scan/answers.h"

/* A root that does not keep what it leads to: it waits for its end, or the
 * runtime drops it when nothing else leads there. */
static bool is_weak_root(const struct gr_answers *answers, gr_vertex v)
{
	static const char unique[] = "unique.";
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_root_vertex *vertex =
		&hg->roots.data[v - gr_graph_first_root(hg->graph)];

	if (vertex->source != GR_FROM_LIST)
		return false;
	const struct gr_root *root =
		&answers->stop->roots.list.data[vertex->index];
	if (root->kind == GR_ROOT_GLOBAL)
		return !strncmp(root->name, unique, sizeof(unique) - 1);
	return root->kind == GR_ROOT_FINALIZER ||
	       root->kind == GR_ROOT_CLEANUP || root->object_addr;
}

static bool is_weak(void *ctx, gr_vertex from, gr_vertex to)
{
	const struct gr_weak *weak = ctx;
	const struct gr_graph *g = weak->answers->graph->graph;

	if (to >= g->nobjects)
		return false;
	if (gr_graph_kind(g, from) == GR_VERTEX_ROOT &&
	    is_weak_root(weak->answers, from))
		return true;
	uint32_t label = g->objects->type[to];
	return label != GR_TYPE_NONE && weak->pool_local != GR_TYPE_NONE &&
	       (label & ~(uint32_t)GR_LABEL_FLAGS) == weak->pool_local;
}

struct gr_edge_filter gr_weak_filter(struct gr_answers *answers,
				     struct gr_weak *weak)
{
	weak->answers = answers;
	weak->pool_local = gr_types_known(answers->stop->program->types,
					  GR_NAME_POOL_LOCAL);
	return (struct gr_edge_filter){ is_weak, weak };
}
