// SPDX-License-Identifier: Apache-2.0
/*
 * The holder of an object. Dominators are statements about vertices: without
 * the root, all that it dominates would be freed. That a single pointer holds
 * the object is a statement about edges, and needs more: no other edge leads to
 * what the pointer leads to, but edges from what it holds itself.
 */
#include "retention/common_holder.h"

#include "naming/link.h"
#include "retention/references.h"
#include "scan/answers.h"

enum {
	MAX_REFERRERS = 1000, /* that are looked at for a claim on edges */
	MAX_STEPS = 1 << 20,  /* up the dominator tree, for all of these */
};

static const char *kind_name(enum gr_holder_kind kind)
{
	static const char *const names[] = {
#define X(id, name) [GR_HOLDER_##id] = name,
		GR_HOLDER_KINDS(X)
#undef X
	};

	return names[kind];
}

struct gr_goroutine_brief gr_goroutine_brief(struct gr_sched *sched,
					     uint64_t id)
{
	struct gr_goroutine_brief brief = { 0, "", "", "" };

	for (size_t i = 0; id && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		struct gr_func start;

		if (g->goid != id || g->is_g0)
			continue;
		brief.id = id;
		brief.state = g->state;
		brief.wait_reason = g->wait_reason;
		if (gr_func_find(sched->rt, g->startpc, &start))
			brief.function = start.name;
		break;
	}
	return brief;
}

/* The object next to the top that is on all paths to @p v: itself, at least. */
static gr_vertex outermost_object(const struct gr_graph *g, gr_vertex v)
{
	while (gr_graph_kind(g, g->idom[v]) == GR_VERTEX_OBJECT)
		v = g->idom[v];
	return v;
}

bool gr_holder_is_one(const struct gr_answers *answers, gr_vertex v)
{
	const struct gr_heap_graph *hg = answers->graph;
	gr_vertex above = hg->graph->idom[outermost_object(hg->graph, v)];

	return above < gr_group_vertex(hg, 0);
}

/* Is @p w below @p v in the dominator tree? Unknown counts as no. */
static bool is_below(const struct gr_graph *g, gr_vertex w, gr_vertex v,
		     uint32_t *steps)
{
	while (w != v && gr_graph_kind(g, w) == GR_VERTEX_OBJECT &&
	       ++*steps < MAX_STEPS)
		w = g->idom[w];
	return w == v;
}

/* Is there one edge over which all paths from @p root reach @p v, which the
 * root dominates directly? */
static bool has_one_edge(const struct gr_graph *g, gr_vertex root, gr_vertex v)
{
	uint32_t steps = 0, edges = 0;

	if (g->rfirst[v + 1] - g->rfirst[v] > MAX_REFERRERS)
		return false;
	for (uint32_t e = g->rfirst[v]; e < g->rfirst[v + 1]; e++) {
		gr_vertex from = g->from[e];

		if (gr_graph_is_reached(g, from) &&
		    (from == root || !is_below(g, from, v, &steps)))
			edges++;
	}
	return edges == 1;
}

static void set_freed(struct gr_holder *holder, struct gr_sizes sizes)
{
	holder->freed_bytes = sizes.bytes;
	holder->freed_c_bytes = sizes.second;
}

static struct gr_error *describe_root(struct gr_answers *answers,
				      gr_vertex root, gr_vertex v,
				      struct gr_holder *ret)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = answers
	};
	_cleanup_(gr_link_vector_deinit) struct gr_link_vector links = { 0 };
	const struct gr_graph *g = answers->graph->graph;

	ret->kind = kind_name(GR_HOLDER_ROOT);
	ret->name = ret->vertex.name;
	set_freed(ret, gr_graph_retained(g, root));
	ret->goroutine = gr_goroutine_brief(&answers->stop->sched,
					    ret->vertex.goroutine_id);
	if (!has_one_edge(g, root, v))
		return NULL;
	struct gr_error *err = gr_links_read(&reader, root, v, 1, &links);
	if (err || !links.size || !links.data->addr)
		return err;
	ret->kind = kind_name(GR_HOLDER_REFERENCE);
	set_freed(ret, gr_graph_retained(g, v));
	return gr_reference_name(answers, links.data, &ret->vertex,
				 GR_VERTEX_NONE, &ret->name);
}

struct gr_error *gr_holder_find(struct gr_answers *answers, gr_vertex v,
				const struct gr_root_paths *roots,
				struct gr_holder *ret)
{
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_graph *g = hg->graph;
	gr_vertex object = outermost_object(g, v), above = g->idom[object];
	bool is_several = above >= gr_group_vertex(hg, 0);
	struct gr_error *err = gr_vertex_describe(
		answers, is_several ? object : above, &ret->vertex);

	ret->name = "";
	ret->goroutine = gr_goroutine_brief(&answers->stop->sched, 0);
	ret->has_vertex = !is_several || object != v;
	if (err)
		return err;
	if (gr_graph_kind(g, above) == GR_VERTEX_ROOT)
		return describe_root(answers, above, object, ret);
	ret->freed_bytes = ret->vertex.retained_bytes;
	ret->freed_c_bytes = ret->vertex.retained_c_bytes;
	if (!is_several) {
		ret->kind = kind_name(GR_HOLDER_GOROUTINE);
		ret->name = ret->vertex.name;
		ret->goroutine = gr_goroutine_brief(&answers->stop->sched,
						    ret->vertex.goroutine_id);
		return NULL;
	}
	ret->kind = kind_name(GR_HOLDER_SEVERAL);
	ret->nroots = roots->npaths;
	ret->is_more = !roots->is_complete;
	return NULL;
}
