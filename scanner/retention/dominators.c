// SPDX-License-Identifier: Apache-2.0
/* The dominator tree, for people. */
#include "retention/dominators.h"

#include "goruntime/types/c_types.h"
#include "graph/sets.h"
#include "naming/memory_name.h"
#include "naming/vertex.h"
#include "retention/dominator_tree.h"
#include "scan/enter.h"

void gr_dominators_destroy(struct gr_dominators *dominators)
{
	if (!dominators)
		return;
	free(dominators->rows);
	free(dominators->asked);
	free(dominators);
}
GR_DEFINE_CLEANUP(dominators, struct gr_dominators, gr_dominators_destroy)

/* Is the place a whole variable that debug information tells? */
static bool is_whole(const struct gr_runtime *rt, const struct gr_place *place,
		     const struct gr_type *type)
{
	for (size_t i = 0; i < rt->nmodules; i++) {
		const struct gr_module *m = &rt->modules[i];
		const struct gr_c_file file = { m->dwarf, i };
		const struct gr_dwarf_variable *variable =
			m->dwarf ? gr_c_file_variable(&file,
						      place->addr - m->bias) :
				   NULL;
		size_t unused;

		if (variable && variable->addr == place->addr - m->bias &&
		    gr_dwarf_types(m->dwarf, &unused)[variable->type]
				    .size_bytes == type->size_bytes)
			return true;
	}
	return false;
}

/* Is the place several values inside of a variable? Then no vertex is just what
 * they refer to. */
static bool is_part(const struct gr_stop *stop, const struct gr_place *place)
{
	if (place->type == GR_TYPE_NONE)
		return false;
	const struct gr_type *type =
		gr_types_get(stop->program->types, place->type);
	if (type->kind != GR_KIND_STRUCT && type->kind != GR_KIND_ARRAY)
		return false;
	for (size_t i = 0; i < stop->roots.list.size; i++) {
		const struct gr_root *root = &stop->roots.list.data[i];
		if (root->addr == place->addr && root->type == place->type)
			return false;
	}
	return !is_whole(&stop->program->rt, place, type);
}

/* A variable that keeps nothing alive is no vertex. A block of C that nothing
 * holds is one, but no part of the tree. */
static struct gr_error *describe_place(struct gr_answers *answers,
				       const struct gr_place *place,
				       gr_vertex vertex,
				       struct gr_dominator *ret)
{
	const struct gr_graph *g = answers->graph->graph;

	if (vertex != GR_VERTEX_NONE && gr_graph_is_reached(g, vertex))
		return gr_dominator_describe(answers, vertex, ret);
	if (vertex != GR_VERTEX_NONE)
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "%s is in a block of C that is not "
				       "reached: nothing that could be read "
				       "holds it",
				       place->name);
	if (place->is_variable && is_part(answers->stop, place))
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "%s has several fields or elements: ask "
				       "about one of them, or about the whole "
				       "variable",
				       place->name);
	if (!place->is_variable)
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "%s is not a reached object of the heap",
				       place->name);
	*ret = (struct gr_dominator){
		.name = place->name,
		.kind = gr_root_kind_name(GR_ROOT_GLOBAL),
		.type = gr_memory_name(answers->stop->program, place->type),
		.addr = place->addr,
		.vertices = 1,
	};
	return NULL;
}

/* Is a vertex below another one of the set? */
static struct gr_error *is_below(const struct gr_graph *g, const uint64_t *set,
				 gr_vertex v, struct gr_ticker *ticker,
				 bool *ret)
{
	struct gr_error *err = NULL;

	*ret = false;
	while (!err && !*ret && v != gr_graph_top(g)) {
		v = g->idom[v];
		*ret = gr_bitmap_test(set, v);
		err = gr_tick(ticker);
	}
	return err;
}

/* Keep the vertices that no other one of them dominates, each once. */
static struct gr_error *keep_outermost(const struct gr_graph *g,
				       const struct gr_poll *poll,
				       gr_vertex *vertices, uint32_t *count)
{
	_cleanup_free_ uint64_t *set = gr_bitmap_alloc(g->nvertices);
	_cleanup_free_ uint64_t *seen = gr_bitmap_alloc(g->nvertices);
	struct gr_ticker ticker = { .poll = poll };
	struct gr_error *err = NULL;
	uint32_t kept = 0;

	if (!set || !seen)
		return &gr_enomem;
	for (uint32_t i = 0; i < *count; i++)
		gr_bitmap_set(set, vertices[i]);
	for (uint32_t i = 0; !err && i < *count; i++) {
		bool below;
		if (!gr_bitmap_set_new(seen, vertices[i]))
			continue;
		err = is_below(g, set, vertices[i], &ticker, &below);
		if (!err && !below)
			vertices[kept++] = vertices[i];
	}
	*count = kept;
	return err;
}

/* Find the vertices of the places, and describe each. */
static struct gr_error *find_asked(struct gr_answers *answers,
				   const struct gr_dominators_options *options,
				   gr_vertex *vertices, uint32_t *count,
				   struct gr_dominators *ret)
{
	struct gr_error *err = NULL;

	ret->asked = calloc(options->nplaces, sizeof(*ret->asked));
	if (!ret->asked)
		return &gr_enomem;
	for (size_t i = 0; !err && i < options->nplaces; i++) {
		const struct gr_place *place = &options->places[i];
		gr_vertex vertex;

		gr_vertex_find(answers, place, &vertex);
		err = describe_place(answers, place, vertex,
				     &ret->asked[ret->nasked++]);
		if (!err && vertex != GR_VERTEX_NONE)
			vertices[(*count)++] = vertex;
	}
	return err;
}

/* The tree below places. */
static struct gr_error *
answer_places(struct gr_answers *answers,
	      const struct gr_dominators_options *options,
	      struct gr_dominators *ret)
{
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_graph *g = answers->graph->graph;
	_cleanup_free_ gr_vertex *vertices =
		calloc(options->nplaces, sizeof(*vertices));
	struct gr_kept kept = { 0 };
	uint32_t count = 0;
	struct gr_error *err;

	if (!vertices)
		return &gr_enomem;
	err = find_asked(answers, options, vertices, &count, ret);
	if (!err)
		err = keep_outermost(g, &poll, vertices, &count);
	if (!err)
		err = gr_graph_keeps(g, vertices, count, &poll, NULL, &kept);
	ret->together = (struct gr_total){ kept.objects, kept.bytes };
	ret->together_c_bytes = kept.second_bytes;
	return err ? err :
		     gr_dominator_tree(answers, options, vertices, count, ret);
}

struct gr_error *gr_dominators_find(struct gr_answers *answers,
				    const struct gr_dominators_options *options,
				    struct gr_dominators **ret)
{
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *dominators =
		calloc(1, sizeof(*dominators));
	struct gr_error *err;

	if (!dominators)
		return &gr_enomem;
	err = gr_answers_need_graph(answers,
				    GR_PART_DOMINATORS | GR_PART_CHILDREN);
	if (err)
		return err;
	const struct gr_graph *g = answers->graph->graph;
	const gr_vertex top = gr_graph_top(g);
	dominators->reached_bytes = g->retained[top];
	dominators->reached_c_bytes = gr_graph_retained_second(g, top);
	dominators->gaps = answers->graph_gaps;
	err = options->nplaces ?
		      answer_places(answers, options, dominators) :
		      gr_dominator_tree(answers, options, &top, 1, dominators);
	if (!err)
		*ret = steal_ptr(dominators);
	return err;
}

struct gr_error *gr_scan_dominators(struct gr_scan *scan,
				    const struct gr_dominators_options *options,
				    struct gr_dominators **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_dominators) struct gr_dominators *dominators =
		NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err =
		gr_scan_enter_weighing(scan, options->weight, &guard, &answers);

	if (!err)
		err = gr_dominators_find(answers, options, &dominators);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(dominators);
	return err;
}
