// SPDX-License-Identifier: Apache-2.0
#include "retention/owner_types.h"

#include "base/text.h"
#include "goruntime/layout/names.h"
#include "mark/parents.h"
#include "scan/answers.h"

void gr_owner_types_deinit(struct gr_owner_types *types)
{
	free(steal_ptr(types->class_of));
}

/* A channel's own header is not the runtime's: its elements are the program's.
 */
static bool is_of_runtime(const char *name)
{
	return gr_name_is_in_runtime(name) &&
	       strcmp(name, "runtime.hchan") != 0;
}

static bool is_timer(const char *name)
{
	return gr_name_has(name, GR_NAME_TIME_TIMER) ||
	       gr_name_has(name, GR_NAME_TIME_TICKER) ||
	       gr_name_has(name, GR_NAME_CHANNEL_TIMER);
}

static bool is_general(const struct gr_type *type)
{
	return gr_has_prefix(type->name, "sync.") ||
	       gr_has_prefix(type->name, "sync/") ||
	       gr_has_prefix(type->name, "internal/") ||
	       gr_has_prefix(type->name, "context.");
}

static enum gr_owner_class class_of_type(const struct gr_type *type)
{
	if (is_timer(type->name))
		return GR_OWNER_TIMER;
	if (is_of_runtime(type->name))
		return GR_OWNER_RUNTIME;
	if (type->role == GR_ROLE_CLOSURE)
		return GR_OWNER_CONTAINER;
	if (is_general(type))
		return GR_OWNER_GENERAL;
	return type->kind == GR_KIND_STRUCT && strchr(type->name, '.') &&
			       !gr_has_prefix(type->name, "struct") ?
		       GR_OWNER_NAMED :
		       GR_OWNER_UNKNOWN;
}

struct gr_error *gr_owner_types_make(struct gr_answers *answers,
				     struct gr_owner_types *ret)
{
	struct gr_stop *stop = answers->stop;
	size_t n = gr_types_count(stop->program->types);
	struct gr_error *err = NULL;

	ret->answers = answers;
	ret->class_of = calloc(n + 1, sizeof(*ret->class_of));
	if (!ret->class_of)
		return &gr_enomem;
	ret->ntypes = n;
	for (size_t i = 0; !err && i < n; i++) {
		ret->class_of[i] =
			class_of_type(gr_types_get(stop->program->types, i));
		err = gr_runtime_step(&stop->program->rt, 1);
	}
	return err;
}

enum gr_owner_class gr_owner_class_of_type(const struct gr_owner_types *types,
					   gr_type_id id)
{
	if (id < types->ntypes)
		return types->class_of[id];
	return id == GR_TYPE_NONE ?
		       GR_OWNER_UNKNOWN :
		       class_of_type(gr_types_get(
			       types->answers->stop->program->types, id));
}

static enum gr_owner_class class_of_object(const struct gr_owner_types *types,
					   gr_vertex v)
{
	uint32_t label = types->answers->graph->graph->objects->type[v];

	if (label == GR_TYPE_NONE)
		return GR_OWNER_UNKNOWN;
	if (label & GR_LABEL_DATA)
		return GR_OWNER_CONTAINER;
	bool is_begin = label & GR_LABEL_BEGIN;
	label &= ~(uint32_t)GR_LABEL_FLAGS;
	enum gr_owner_class class = gr_owner_class_of_type(types, label);
	return is_begin && class != GR_OWNER_RUNTIME ? GR_OWNER_UNKNOWN : class;
}

enum gr_owner_class gr_owner_class_of(const struct gr_owner_types *types,
				      gr_vertex v)
{
	const struct gr_heap_graph *hg = types->answers->graph;
	gr_vertex first = gr_graph_first_root(hg->graph);

	if (v < first)
		return class_of_object(types, v);
	if (v >= gr_graph_first_group(hg->graph))
		return GR_OWNER_UNKNOWN;
	const struct gr_root_vertex *root = &hg->roots.data[v - first];
	bool is_variable = root->holder == GR_GROUP_VARIABLES ||
			   root->holder >= GR_NROOT_GROUPS + hg->ngoroutines;
	if (is_variable && root->tier == GR_TIER_USER)
		return GR_OWNER_VARIABLE;
	return root->holder == GR_GROUP_RUNTIME ? GR_OWNER_UNKNOWN :
						  GR_OWNER_ROOT;
}

/* Does the label of an object say that it is a channel? */
static bool is_channel(const struct gr_answers *answers, gr_vertex v)
{
	uint32_t label = answers->graph->graph->objects->type[v];

	return label != GR_TYPE_NONE &&
	       gr_types_get(answers->stop->program->types,
			    label & ~(uint32_t)GR_LABEL_FLAGS)
			       ->kind == GR_KIND_CHAN;
}

bool gr_owner_is_blind(const struct gr_owner_types *types, gr_vertex from,
		       gr_vertex to)
{
	gr_vertex first = gr_graph_first_root(types->answers->graph->graph);

	if (to >= first)
		return false;
	if (class_of_object(types, to) == GR_OWNER_RUNTIME)
		return true;
	if (from >= first)
		return false;
	enum gr_owner_class class = class_of_object(types, from);
	return class == GR_OWNER_RUNTIME ||
	       (class == GR_OWNER_TIMER && !is_channel(types->answers, to));
}

static bool leads_to_no_variable(void *ctx, gr_vertex from, gr_vertex to)
{
	const struct gr_owner_types *types = ctx;
	const struct gr_graph *g = types->answers->graph->graph;

	if (to < gr_graph_first_root(g))
		return gr_owner_is_blind(types, from, to);
	return to < gr_graph_first_group(g) &&
	       gr_owner_class_of(types, to) != GR_OWNER_VARIABLE;
}

struct gr_edge_filter gr_owner_variables_filter(struct gr_owner_types *types)
{
	return (struct gr_edge_filter){ leads_to_no_variable, types };
}
