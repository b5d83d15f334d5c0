// SPDX-License-Identifier: Apache-2.0
#include "naming/vertex.h"

#include "naming/memory_name.h"
#include "scan/answers.h"
#include "scan/native.h"

#include <inttypes.h>

static const char *class_name(enum gr_vertex_class class)
{
	static const char *const names[] = {
#define X(id, name) [GR_CLASS_##id] = name,
		GR_VERTEX_KINDS(X)
#undef X
	};

	return names[class];
}

static void describe_object(struct gr_answers *answers,
			    struct gr_vertex_info *info)
{
	const struct gr_objects *objects = answers->graph->graph->objects;
	const struct gr_slot_run *run = gr_objects_run(objects, info->vertex);

	info->class = GR_CLASS_OBJECT;
	info->addr = gr_objects_addr(objects, info->vertex);
	info->bytes = run->elem_bytes - run->head_bytes;
	info->type = gr_memory_name(answers->stop->program,
				    objects->type[info->vertex]);
	info->is_c = gr_vertex_is_block(answers->graph->graph, info->vertex);
	info->is_leaked =
		info->is_c && answers->graph->graph->parent &&
		!gr_graph_is_reached(answers->graph->graph, info->vertex);
	info->name = *info->type ? info->type :
		     info->is_c	 ? GR_BLOCK_NAME :
				   "object of unknown type";
}

static void set_goroutine(const struct gr_sched *sched, uint32_t index,
			  struct gr_vertex_info *info)
{
	if (index < sched->ngoroutines)
		info->goroutine_id = sched->goroutines[index].goid;
}

static void describe_listed(struct gr_stop *stop, const struct gr_root *root,
			    struct gr_vertex_info *info)
{
	info->kind = gr_root_kind_name(root->kind);
	info->name = root->name;
	if (root->form == GR_ROOT_REGION)
		info->addr = root->addr;
	if (root->form == GR_ROOT_REGION && root->type != GR_TYPE_NONE)
		info->type = gr_memory_name(stop->program, root->type);
	set_goroutine(&stop->sched, root->goroutine, info);
}

/* Describe data, stacks and other memory of C. A variable has a type if debug
 * information tells it. */
static struct gr_error *describe_c(struct gr_answers *answers,
				   const struct gr_root_vertex *vertex,
				   struct gr_vertex_info *info)
{
	const struct gr_c_root *root =
		&answers->graph->c_roots.data[vertex->index];
	struct gr_c_typed variable;

	info->is_c = true;
	info->kind = gr_c_root_kind_name(root->kind);
	info->name = vertex->name;
	info->addr = vertex->addr;
	if (!vertex->bytes)
		return NULL;
	struct gr_error *err =
		gr_stop_c_variable(answers->stop, vertex->addr, &variable);
	if (!err && variable.addr == vertex->addr)
		info->type =
			gr_memory_name(answers->stop->program, variable.type);
	return err;
}

/* Describe a word of an area. */
static struct gr_error *describe_word(struct gr_stop *stop,
				      const struct gr_root_vertex *vertex,
				      struct gr_vertex_info *info)
{
	struct gr_root word;
	struct gr_error *err = gr_roots_name_word(
		&stop->sched, &stop->roots, vertex->index, vertex->addr, &word);

	if (err)
		return err;
	info->kind = gr_root_kind_name(word.kind);
	info->name = vertex->name ? vertex->name : word.name;
	info->addr = vertex->addr;
	set_goroutine(&stop->sched, word.goroutine, info);
	return NULL;
}

static struct gr_error *describe_root(struct gr_answers *answers,
				      struct gr_vertex_info *info)
{
	struct gr_stop *stop = answers->stop;
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_root_vertex *vertex =
		&hg->roots.data[info->vertex - gr_graph_first_root(hg->graph)];

	info->class = GR_CLASS_ROOT;
	switch ((enum gr_root_source)vertex->source) {
	case GR_FROM_LIST:
		describe_listed(stop, &stop->roots.list.data[vertex->index],
				info);
		break;
	case GR_FROM_AREA:
		return describe_word(stop, vertex, info);
	case GR_FROM_SCHEDULER:
		info->kind = gr_root_kind_name(GR_ROOT_RUNTIME);
		info->name = "runtime.g and sudogs";
		set_goroutine(&stop->sched, vertex->index, info);
		break;
	case GR_FROM_C:
		return describe_c(answers, vertex, info);
	case GR_FROM_C_REGISTERS:
		info->is_c = true;
		info->kind = gr_root_kind_name(GR_ROOT_REGISTER);
		info->name = vertex->name;
	}
	return NULL;
}

const char *gr_goroutines_name(struct gr_sched *sched, uint32_t index)
{
	const struct gr_goroutine *g = &sched->goroutines[index];
	struct gr_func start;

	if (g->is_g0)
		return "system stacks of threads";
	if (!gr_func_find(sched->rt, g->startpc, &start))
		return "goroutines";
	return gr_arena_internf(sched->rt->arena, "goroutines (%s)",
				start.name);
}

static struct gr_error *describe_goroutine(struct gr_sched *sched,
					   uint32_t index,
					   struct gr_vertex_info *info)
{
	const struct gr_goroutine *g = &sched->goroutines[index];
	struct gr_func start;

	info->class = GR_CLASS_GOROUTINE;
	info->goroutine_id = g->goid;
	if (g->is_g0)
		info->name = "system stack of a thread";
	else if (gr_func_find(sched->rt, g->startpc, &start))
		info->name = gr_arena_internf(sched->rt->arena,
					      "goroutine %" PRIu64 " (%s)",
					      g->goid, start.name);
	else
		info->name = gr_arena_internf(sched->rt->arena,
					      "goroutine %" PRIu64, g->goid);
	return info->name ? NULL : &gr_enomem;
}

static struct gr_error *describe_group(struct gr_answers *answers,
				       struct gr_vertex_info *info)
{
	struct gr_stop *stop = answers->stop;
	const struct gr_heap_graph *hg = answers->graph;
	uint32_t i = info->vertex - gr_graph_first_group(hg->graph);

	if (i < hg->ngoroutines)
		return describe_goroutine(&stop->sched, i, info);
	i -= hg->ngoroutines;
	info->class = GR_CLASS_GROUP;
	if (i < hg->statics.size) {
		// A variable with all its static memory.
		info->class = GR_CLASS_ROOT;
		describe_listed(stop,
				&stop->roots.list.data[hg->statics.data[i]],
				info);
	} else {
		info->name = gr_root_group_name(i - hg->statics.size);
	}
	return NULL;
}

struct gr_error *gr_vertex_check(const struct gr_answers *answers,
				 uint32_t vertex)
{
	return vertex < answers->graph->graph->nvertices ?
		       NULL :
		       gr_error_format(GR_ERROR_ARGUMENT, "no vertex %u",
				       vertex);
}

struct gr_error *gr_vertex_describe(struct gr_answers *answers, uint32_t vertex,
				    struct gr_vertex_info *ret)
{
	const struct gr_graph *graph = answers->graph->graph;
	struct gr_error *err = NULL;

	GR_ASSERT(vertex < graph->nvertices);
	*ret = (struct gr_vertex_info){
		.vertex = vertex,
		.name = "",
		.type = "",
		.retained_bytes = graph->retained ? graph->retained[vertex] : 0,
		.retained_c_bytes = gr_graph_retained_second(graph, vertex),
	};
	switch (gr_graph_kind(graph, vertex)) {
	case GR_VERTEX_OBJECT:
		describe_object(answers, ret);
		break;
	case GR_VERTEX_ROOT:
		err = describe_root(answers, ret);
		break;
	case GR_VERTEX_GROUP:
		err = describe_group(answers, ret);
		break;
	case GR_VERTEX_TOP:
		ret->class = GR_CLASS_TOP;
		ret->name = "the program";
		break;
	}
	if (!ret->kind)
		ret->kind = class_name(ret->class);
	return err;
}

static bool is_region_at(const struct gr_root *root,
			 const struct gr_place *place)
{
	if (root->form != GR_ROOT_REGION || root->bytes_at)
		return false;
	return place->is_variable ?
		       root->addr == place->addr && root->type == place->type :
		       place->addr - root->addr < root->bytes;
}

/* A variable of C is the whole place, or has it. */
static bool is_c_root_at(const struct gr_stop *stop,
			 const struct gr_root_vertex *vertex,
			 const struct gr_place *place)
{
	const struct gr_types *types = stop->program->types;
	uint64_t off = place->addr - vertex->addr;

	if (!place->is_variable)
		return vertex->bytes ? off < vertex->bytes : !off;
	// A script may give any number for a type.
	return vertex->bytes && !off && place->type < gr_types_count(types) &&
	       gr_types_get(types, place->type)->size_bytes == vertex->bytes;
}

static bool is_root_at(const struct gr_stop *stop,
		       const struct gr_root_vertex *vertex,
		       const struct gr_place *place)
{
	switch ((enum gr_root_source)vertex->source) {
	case GR_FROM_LIST:
		return is_region_at(&stop->roots.list.data[vertex->index],
				    place);
	case GR_FROM_C:
		return is_c_root_at(stop, vertex, place);
	case GR_FROM_AREA:
		return !place->is_variable && vertex->addr == place->addr;
	case GR_FROM_SCHEDULER:
	case GR_FROM_C_REGISTERS:
		break;
	}
	return false;
}

/* The root of the variable or of the word at @p place, or the static group of
 * that; GR_VERTEX_NONE: there is none, or it leads to no object. */
static gr_vertex root_vertex(const struct gr_answers *answers,
			     const struct gr_place *place)
{
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_root *list = answers->stop->roots.list.data;

	for (size_t i = 0; i < hg->statics.size; i++)
		if (is_region_at(&list[hg->statics.data[i]], place))
			return gr_goroutine_vertex(hg, hg->ngoroutines) + i;
	for (size_t i = 0; i < hg->roots.size; i++)
		if (is_root_at(answers->stop, &hg->roots.data[i], place))
			return gr_graph_first_root(hg->graph) + i;
	return GR_VERTEX_NONE;
}

void gr_vertex_find(struct gr_answers *answers, const struct gr_place *place,
		    uint32_t *ret)
{
	const struct gr_objects *objects = answers->graph->graph->objects;

	*ret = GR_VERTEX_NONE;
	if (place->is_variable)
		*ret = root_vertex(answers, place);
	if (*ret == GR_VERTEX_NONE && place->value)
		*ret = gr_objects_find(objects, place->value);
	if (*ret == GR_VERTEX_NONE)
		*ret = gr_objects_find(objects, place->addr);
	if (*ret == GR_VERTEX_NONE && !place->is_variable)
		*ret = root_vertex(answers, place);
}
