// SPDX-License-Identifier: Apache-2.0
/*
 * library-tax: what only the objects and variables of a known library hold.
 * Memory behind an object of another library of the table is counted there, and
 * memory that several of them share is counted nowhere.
 */
#include "base/cleanup.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"
#include "waste/checks/checks.h"
#include "waste/checks/cut_sets.h"
#include "waste/checks/forest.h"
#include "waste/checks/known_libraries.h"

enum { MAX_LIBRARIES = GR_FOREST_CLASSES - 1 };

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	uint8_t *of_type; /* number of its library + 1, or 0 */
	size_t ntypes;
	uint8_t *of_root;
	bool may_hold; /* a type or a root of a library exists */
	uint64_t below[GR_FOREST_CLASSES];
	uint64_t example[MAX_LIBRARIES];
	struct gr_cut_sets sets;
};

static void finder_deinit(struct finder *f)
{
	free(f->of_type);
	free(f->of_root);
	gr_cut_sets_deinit(&f->sets);
}

static struct gr_error *class_types(struct finder *f)
{
	const struct gr_types *types = f->run->types;
	struct gr_error *err = NULL;

	f->ntypes = gr_types_count(types);
	f->of_type = calloc(f->ntypes + 1, 1);
	if (!f->of_type)
		return &gr_enomem;
	for (size_t i = 0; !err && i < f->ntypes; i++) {
		const struct gr_type *type = gr_types_get(types, i);
		size_t library = type->kind == GR_KIND_STRUCT ?
					 gr_library_of_type(type->name) :
					 SIZE_MAX;

		if (library != SIZE_MAX)
			f->of_type[i] = library + 1;
		f->may_hold |= library != SIZE_MAX;
		err = gr_runtime_step_name(f->rt, type->name);
	}
	return err;
}

static struct gr_error *class_roots(struct finder *f)
{
	const struct gr_root_vector *roots =
		&f->run->answers->kept_walk->m.tree.roots;
	struct gr_error *err = NULL;

	f->of_root = calloc(roots->size + 1, 1);
	if (!f->of_root)
		return &gr_enomem;
	for (size_t i = 0; !err && i < roots->size; i++) {
		const struct gr_root_total *root = &roots->data[i];
		size_t library = root->kind == GR_ROOT_GLOBAL ?
					 gr_library_of_variable(root->name) :
					 SIZE_MAX;

		if (library != SIZE_MAX)
			f->of_root[i] = library + 1;
		f->may_hold |= library != SIZE_MAX;
		err = gr_runtime_step_name(f->rt, root->name);
	}
	return err;
}

/* Is an object of a library, or does one of its variables lead to it? */
static bool is_member(const struct finder *f, const struct gr_node *nodes,
		      const struct gr_way *way)
{
	uint32_t root;

	if (way->label < f->ntypes && f->of_type[way->label])
		return true;
	root = nodes[way->node].root;
	return root != UINT32_MAX && f->of_root[root];
}

/* Is there any such object? Most programs without have no more to do. */
static struct gr_error *find_member(struct finder *f, bool *ret)
{
	const struct gr_way_vector *ways = &f->run->parents->ways;
	const struct gr_node *nodes =
		f->run->answers->kept_walk->m.tree.nodes.data;
	struct gr_error *err = NULL;

	*ret = false;
	// The first way is that of objects that are not reached.
	for (size_t i = 1; !err && !*ret && i < ways->size; i++) {
		*ret = is_member(f, nodes, &ways->data[i]);
		err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

/* The library that may hold enough; SIZE_MAX: none. */
static size_t candidate(const struct finder *f, uint8_t class)
{
	return class && f->below[class] &&
			       f->below[class] >= gr_waste_min_bytes(f->run) ?
		       class - 1u :
		       SIZE_MAX;
}

static bool has_candidate(const struct finder *f)
{
	for (size_t i = 0; i < gr_nknown_libraries; i++)
		if (candidate(f, i + 1) != SIZE_MAX)
			return true;
	return false;
}

static struct gr_error *cut(struct finder *f, size_t library, gr_vertex v,
			    uint64_t addr)
{
	const struct gr_cut cut = { v, GR_VERTEX_NONE };

	if (!f->example[library] || addr < f->example[library])
		f->example[library] = addr;
	return gr_cut_sets_add(f->run, &f->sets, library, cut);
}

static struct gr_error *cut_object(struct finder *f, size_t library,
				   const struct gr_span *span, gr_obj obj)
{
	gr_vertex v =
		gr_object_vertex(f->run->answers->graph->graph->objects, obj);

	if (v == GR_VERTEX_NONE)
		return NULL;
	return cut(f, library, v,
		   gr_span_slot_addr(span, obj - span->first_obj) +
			   span->header_bytes);
}

static struct gr_error *cut_objects(struct finder *f)
{
	const struct gr_heap *heap = f->run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		gr_obj end = span->first_obj + span->nelems;

		for (gr_obj obj = span->first_obj; !err && obj < end; obj++) {
			uint32_t label = gr_parents_label(f->run->parents, obj);
			if (label >= f->ntypes)
				continue;
			uint8_t class = f->of_type[label];
			if (GR_UNLIKELY(class &&
					candidate(f, class) != SIZE_MAX))
				err = cut_object(f, class - 1, span, obj);
		}
		if (!err)
			err = gr_runtime_step(f->rt, span->nelems / 8 + 1);
	}
	return err;
}

/* The name of the package variable that a root of the graph belongs to; NULL:
 * it is of another kind. */
static const char *variable_of(const struct gr_heap_graph *hg,
			       const struct gr_root_list *list,
			       const struct gr_root_vertex *vertex)
{
	uint32_t variable = gr_static_variable(hg, vertex);

	if (variable == UINT32_MAX && vertex->source == GR_FROM_LIST)
		variable = vertex->index;
	if (variable == UINT32_MAX)
		return vertex->source == GR_FROM_AREA ? vertex->name : NULL;
	return list->data[variable].kind == GR_ROOT_GLOBAL ?
		       list->data[variable].name :
		       NULL;
}

static struct gr_error *cut_variables(struct finder *f)
{
	const struct gr_heap_graph *hg = f->run->answers->graph;
	const struct gr_root_list *list = &f->run->answers->stop->roots.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < hg->roots.size; i++) {
		const struct gr_root_vertex *vertex = &hg->roots.data[i];
		const char *name = variable_of(hg, list, vertex);
		size_t library = name ? gr_library_of_variable(name) : SIZE_MAX;

		err = gr_runtime_step_name(f->rt, name ?: "");
		if (!err && library != SIZE_MAX &&
		    candidate(f, library + 1) != SIZE_MAX)
			err = cut(f, library,
				  gr_graph_first_root(hg->graph) + i,
				  vertex->source == GR_FROM_LIST ?
					  list->data[vertex->index].addr :
					  vertex->addr);
	}
	return err;
}

static struct gr_error *add_rows(struct finder *f)
{
	struct gr_kept kept[MAX_LIBRARIES] = { 0 };
	struct gr_error *err =
		gr_cut_sets_weigh(f->run, &f->sets, gr_nknown_libraries, kept);

	for (size_t i = 0; !err && i < gr_nknown_libraries; i++) {
		const struct gr_finding row = {
			.check = GR_WASTE_LIBRARY_TAX,
			.key = i,
			.bytes = kept[i].bytes,
			.count = kept[i].objects,
			.example = f->example[i],
			.type = gr_known_libraries[i].name,
			.field = "",
			.advice = gr_known_libraries[i].advice,
		};

		if (row.bytes && row.bytes >= gr_waste_min_bytes(f->run))
			err = gr_cut_sets_finish(f->run, &f->sets, i, row);
	}
	return err;
}

static struct gr_error *find(struct gr_waste_run *run)
{
	_cleanup_(finder_deinit) struct finder f = { .run = run,
						     .rt = run->heap->rt };

	assert(gr_nknown_libraries <= MAX_LIBRARIES);
	assert(run->answers->kept_walk);
	struct gr_error *err = class_types(&f);
	if (!err)
		err = class_roots(&f);
	if (!err && f.may_hold)
		err = find_member(&f, &f.may_hold);
	if (err || !f.may_hold)
		return err;
	const struct gr_forest_spec spec = { f.of_root, f.of_type, f.ntypes };
	err = gr_forest_sum(run, &spec, f.below);
	if (err || !has_candidate(&f))
		return err;
	err = gr_answers_need_graph(run->answers, 0);
	if (!err)
		err = cut_objects(&f);
	if (!err)
		err = cut_variables(&f);
	return err ? err : add_rows(&f);
}

const struct gr_check gr_check_library_tax = {
	.id = GR_WASTE_LIBRARY_TAX,
	.advice = "Create fewer of the objects that this library keeps.",
	.find = find,
};
