// SPDX-License-Identifier: Apache-2.0
#include "values/value_place.h"

#include "naming/memory_name.h"
#include "naming/vertex.h"
#include "naming/word_name.h"
#include "retention/object_value.h"
#include "scan/enter.h"

static const char *form_name(enum gr_value_form form)
{
	static const char *const names[] = {
#define X(id, name) [GR_FORM_##id] = name,
		GR_VALUE_FORMS(X)
#undef X
	};

	return names[form];
}

/* A place before it is described: form as a number. */
struct place {
	enum gr_value_form form;
	struct gr_value_place is;
};

// ------------------------------------------------------------------- objects

static struct gr_error *find_header(struct gr_stop *stop, gr_obj obj,
				    struct place *place)
{
	bool is_chan =
		gr_types_get(stop->program->types, place->is.type)->kind ==
		GR_KIND_CHAN;
	bool is_header = false;
	struct gr_error *err =
		is_chan ? gr_channel_is_header(stop->program, place->is.type,
					       place->is.addr, &is_header) :
			  gr_word_starts_map(stop->heap, obj, place->is.type,
					     &is_header);

	place->form = is_header ? GR_FORM_HEADER : GR_FORM_PIECE;
	return err;
}

/* Memory of @p bytes bytes that belongs to a value of the type, or consists of
 * such values (naming/memory_name.c has their names). */
static struct gr_error *find_data(struct gr_stop *stop, gr_obj obj,
				  uint64_t bytes, struct place *place)
{
	const struct gr_type *type =
		gr_types_get(stop->program->types, place->is.type);

	place->form = GR_FORM_PIECE;
	switch (type->kind) {
	case GR_KIND_STRING:
		place->form = GR_FORM_TEXT;
		place->is.length = bytes;
		return NULL;
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
		return find_header(stop, obj, place);
	case GR_KIND_FUNC:
		return NULL;
	case GR_KIND_SLICE:
		place->is.type = type->elem;
		break;
	default:
		if (type->role == GR_ROLE_HASH_TRIE)
			return NULL;
	}
	if (place->is.type == GR_TYPE_NONE) {
		place->form = GR_FORM_UNKNOWN;
		return NULL;
	}
	uint64_t elem =
		gr_types_get(stop->program->types, place->is.type)->size_bytes;
	place->form = GR_FORM_ARRAY;
	place->is.length = elem ? bytes / elem : 0;
	return NULL;
}

static struct gr_error *find_object(struct gr_stop *stop, gr_obj obj,
				    uint32_t label, struct place *place)
{
	const struct gr_span *span = gr_heap_span_of(stop->heap, obj);
	struct gr_error *err = NULL;

	place->is.addr = gr_heap_object_addr(stop->heap, obj);
	if (label == GR_TYPE_NONE)
		err = gr_memory_header_label(stop->program, span,
					     obj - span->first_obj, &label);
	if (err || label == GR_TYPE_NONE)
		return err;
	place->form = GR_FORM_VALUE;
	place->is.type = label & ~(uint32_t)GR_LABEL_FLAGS;
	if (!(label & GR_LABEL_DATA))
		return NULL;
	return find_data(stop, obj, span->elem_bytes - span->header_bytes,
			 place);
}

// --------------------------------------------------------------------- roots

/* The object whose contents a root holds. */
static struct gr_error *find_contents(struct gr_answers *answers, uint64_t addr,
				      struct place *place)
{
	const struct gr_objects *objects = answers->graph->graph->objects;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(answers->stop->heap, addr, &span);
	gr_vertex v = obj == GR_OBJ_NONE ? GR_VERTEX_NONE :
					   gr_object_vertex(objects, obj);

	if (obj == GR_OBJ_NONE)
		return NULL;
	return find_object(
		answers->stop, obj,
		v == GR_VERTEX_NONE ? GR_TYPE_NONE : objects->type[v], place);
}

static struct gr_error *find_listed(struct gr_answers *answers,
				    const struct gr_root *root,
				    struct place *place)
{
	struct gr_error *err = NULL;

	place->is.type = root->type;
	if (root->type == GR_TYPE_NONE && root->type_addr)
		err = gr_types_from_runtime(answers->stop->program->types,
					    root->type_addr, &place->is.type);
	if (err)
		return err;
	if (root->form == GR_ROOT_CONTENTS && place->is.type == GR_TYPE_NONE)
		return find_contents(answers, root->addr, place);
	place->form = place->is.type == GR_TYPE_NONE ? GR_FORM_UNKNOWN :
		      root->form == GR_ROOT_VALUE    ? GR_FORM_TARGET :
						       GR_FORM_VALUE;
	place->is.addr = root->bytes_at ? 0 : root->addr;
	place->is.bytes = root->bytes_at;
	place->is.nbytes = root->bytes_at ? root->bytes : 0;
	return NULL;
}

static struct gr_error *find_root(struct gr_answers *answers, gr_vertex v,
				  struct place *place)
{
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_root *list = answers->stop->roots.list.data;
	uint32_t first_static = hg->ngoroutines;
	uint32_t group;

	if (gr_graph_kind(hg->graph, v) == GR_VERTEX_ROOT) {
		const struct gr_root_vertex *root =
			&hg->roots.data[v - gr_graph_first_root(hg->graph)];

		if (root->source == GR_FROM_LIST)
			return find_listed(answers, &list[root->index], place);
		// A word that no variable covers.
		place->is.addr = root->source == GR_FROM_AREA ? root->addr : 0;
		return NULL;
	}
	group = v - gr_graph_first_group(hg->graph) - first_static;
	if (v >= gr_graph_first_group(hg->graph) + first_static &&
	    group < hg->statics.size)
		return find_listed(answers, &list[hg->statics.data[group]],
				   place);
	return gr_error_format(GR_ERROR_ARGUMENT,
			       "vertex %u is neither an object nor a root", v);
}

static struct gr_error *find_place(struct gr_answers *answers, uint32_t vertex,
				   struct place *place)
{
	struct gr_error *err =
		answers->graph ?
			NULL :
			gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (!err)
		err = gr_vertex_check(answers, vertex);
	if (err)
		return err;
	const struct gr_graph *graph = answers->graph->graph;
	if (gr_graph_kind(graph, vertex) != GR_VERTEX_OBJECT)
		return find_root(answers, vertex, place);
	if (gr_vertex_is_block(graph, vertex))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "a block of C has no value of Go");
	return find_object(answers->stop,
			   gr_objects_slot(graph->objects, vertex),
			   graph->objects->type[vertex], place);
}

struct gr_error *gr_scan_value_place(struct gr_scan *scan, uint32_t vertex,
				     struct gr_value_place *ret)
{
	struct gr_answers *answers;
	struct place place = { .is = { .type = GR_TYPE_NONE } };
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = find_place(answers, vertex, &place);
	*ret = place.is;
	ret->form = form_name(place.form);
	return gr_sigbus_guard_end(&guard, err);
}
