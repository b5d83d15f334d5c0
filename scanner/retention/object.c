// SPDX-License-Identifier: Apache-2.0
/* One object: its slot, its type, what it keeps alive, who refers to it. */
#include "retention/object.h"

#include "naming/locate.h"
#include "naming/memory_name.h"
#include "retention/references.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"
#include "scan/native.h"

GR_VECTOR(gr_special_vector, struct gr_special);

static const char *type_source_name(enum gr_type_source source)
{
	static const char *const names[] = {
#define X(id, name) [GR_TYPE_FROM_##id] = name,
		GR_TYPE_SOURCES(X)
#undef X
	};

	return names[source];
}

void gr_object_info_destroy(struct gr_object_info *info)
{
	if (!info)
		return;
	free(info->specials);
	gr_references_deinit(&info->references);
	gr_references_deinit(&info->referrers);
	free(info);
}
GR_DEFINE_CLEANUP(object_info, struct gr_object_info, gr_object_info_destroy)

static void describe_slot(const struct gr_span *span, uint32_t index,
			  struct gr_object_info *info)
{
	info->slot_addr = gr_span_slot_addr(span, index);
	info->slot_bytes = span->elem_bytes;
	info->slot_index = index;
	info->nslots = span->nelems;
	info->span_start = span->base_addr;
	info->span_end = span->limit_addr;
	info->spanclass = span->spanclass;
	info->header_bytes = span->header_bytes;
	info->is_unswept = span->is_unswept;
	info->is_fresh = span->fresh == index;
}

/* The type that the walk found, and how. An object's own header says the same,
 * if there is one. */
static void describe_type(struct gr_answers *answers, gr_obj obj,
			  struct gr_object_info *info)
{
	// Garbage has no label.
	uint32_t label = gr_parents_label(answers->kept_walk->m.parents, obj);
	enum gr_type_source source = GR_TYPE_FROM_POINTER;

	if (label == GR_TYPE_NONE) {
		info->type_source =
			type_source_name(*info->type ? GR_TYPE_FROM_HEADER :
						       GR_TYPE_FROM_UNKNOWN);
		return;
	}
	const char *name = gr_memory_name(answers->stop->program, label);
	const struct gr_type *type =
		gr_types_get(answers->stop->program->types,
			     label & ~(uint32_t)GR_LABEL_FLAGS);
	if (*info->type && !strcmp(name, info->type))
		source = GR_TYPE_FROM_HEADER;
	else if (label & GR_LABEL_BEGIN)
		source = GR_TYPE_FROM_BEGIN;
	else if (label & GR_LABEL_DATA)
		source = GR_TYPE_FROM_CONTAINER;
	else
		info->type_bytes = type->size_bytes;
	if (source == GR_TYPE_FROM_HEADER && !(label & GR_LABEL_FLAGS))
		info->type_bytes = type->size_bytes;
	info->type = name;
	info->type_source = type_source_name(source);
}

/* The name of the function of a funcval; "" if it cannot be read. */
static const char *function_name(struct gr_runtime *rt, uint64_t funcval)
{
	struct gr_func func;
	uint64_t pc;
	struct gr_error *err = gr_image_read_u64(rt->image, funcval, &pc);

	if (err) {
		gr_error_destroy(err);
		return "";
	}
	return gr_func_find(rt, pc, &func) ? func.name : "";
}

/* The specials are roots, each with a function or a handle. */
static struct gr_error *find_specials(struct gr_stop *stop, uint64_t base_addr,
				      struct gr_object_info *info)
{
	_cleanup_(gr_special_vector_deinit) struct gr_special_vector found = {
		0
	};

	for (size_t i = 0; i < stop->roots.list.size; i++) {
		const struct gr_root *root = &stop->roots.list.data[i];
		struct gr_special special = { "weak pointer", "" };
		if (root->object_addr != base_addr)
			continue;
		if (root->is_func)
			special = (struct gr_special){
				gr_root_kind_name(root->kind),
				function_name(&stop->program->rt, root->addr),
			};
		else if (root->kind != GR_ROOT_RUNTIME)
			continue; // its argument, or its contents
		if (!gr_special_vector_append(&found, special))
			return &gr_enomem;
	}
	info->nspecials = found.size;
	info->specials = steal_ptr(found.data);
	return NULL;
}

/* Does a block lead to this one? A pointer of its own does not count. */
static bool has_referrer(const struct gr_graph *g, gr_vertex v)
{
	uint32_t first = g->rfirst[v], end = g->rfirst[v + 1];

	// The sources rise.
	return first < end && (g->from[first] != v || g->from[end - 1] != v);
}

/* Fill in what only the graph knows. @p obj is GR_OBJ_NONE for a block of C. */
static struct gr_error *describe_vertex(struct gr_answers *answers, gr_obj obj,
					const struct gr_object_options *options,
					struct gr_object_info *info)
{
	struct gr_error *err = gr_answers_need_graph(
		answers, GR_PART_REVERSE | GR_PART_DOMINATORS);

	if (err)
		return err;
	const struct gr_graph *g = answers->graph->graph;
	gr_vertex v = obj == GR_OBJ_NONE ?
			      gr_objects_find(g->objects, info->base_addr) :
			      gr_object_vertex(g->objects, obj);
	if (v == GR_VERTEX_NONE)
		return NULL;
	info->is_reachable = gr_graph_is_reached(g, v);
	info->retained_bytes = g->retained[v];
	info->retained_c_bytes = gr_graph_retained_second(g, v);
	info->has_leaked_referrers = !info->is_reachable && has_referrer(g, v);
	if (info->is_reachable)
		err = gr_vertex_describe(answers, g->idom[v], &info->dominator);
	if (!err)
		err = gr_references_read(answers, v, options->max_references,
					 options->group_references,
					 &info->references);
	if (!err)
		err = gr_referrers_read(answers, v, options->max_referrers,
					options->group_referrers,
					&info->referrers);
	return err;
}

static struct gr_error *describe(struct gr_answers *answers, uint64_t addr,
				 const struct gr_object_options *options,
				 struct gr_object_info *info)
{
	const struct gr_span *span = NULL;
	gr_obj obj = gr_heap_object_at(answers->stop->heap, addr, &span);
	struct gr_error *err =
		gr_kept_walk_need(answers, GR_ATTRIBUTION_NEAREST);

	if (err)
		return err;
	info->gaps = answers->kept_walk->gaps;
	describe_slot(span, obj - span->first_obj, info);
	describe_type(answers, obj, info);
	err = find_specials(answers->stop, info->base_addr, info);
	return err ? err : describe_vertex(answers, obj, options, info);
}

/* Describe the block of C at @p addr, if there is one. */
static struct gr_error *describe_block(struct gr_answers *answers,
				       uint64_t addr,
				       const struct gr_object_options *options,
				       struct gr_object_info *info)
{
	struct gr_native *native = NULL;
	struct gr_error *err = gr_stop_native(answers->stop, &native);
	uint32_t block = err || !native ? GR_BLOCK_NONE :
					  gr_blocks_find(&native->blocks, addr);

	if (err || block == GR_BLOCK_NONE)
		return err;
	const struct gr_block *b = &native->blocks.list.data[block];
	info->is_object = info->is_c = true;
	info->base_addr = b->addr;
	info->bytes = gr_block_bytes(b);
	info->offset = addr - b->addr;
	err = describe_vertex(answers, GR_OBJ_NONE, options, info);
	info->gaps = answers->graph_gaps;
	if (err)
		return err;
	if (!info->is_reachable)
		info->missing_bytes = native->missing_bytes;
	const struct gr_objects *objects = answers->graph->graph->objects;
	uint32_t label = objects->type[gr_block_vertex(objects, block)];
	if (label != GR_TYPE_NONE)
		info->type_source = type_source_name(GR_TYPE_FROM_POINTER);
	info->type = gr_memory_name(answers->stop->program, label);
	return NULL;
}

static struct gr_error *answer(struct gr_answers *answers, uint64_t addr,
			       const struct gr_object_options *options,
			       struct gr_object_info **ret)
{
	_cleanup_(gr_cleanup_object_info) struct gr_object_info *info =
		calloc(1, sizeof(*info));
	struct gr_located at;
	struct gr_error *err;

	if (!info)
		return &gr_enomem;
	err = gr_stop_locate(answers->stop, addr, &at);
	if (err)
		return err;
	info->addr = addr;
	info->type = info->type_source = "";
	info->dominator.kind = info->dominator.name = info->dominator.type = "";
	info->description = at.text;
	info->gaps = answers->stop->gaps;
	if (at.kind == GR_LOCATED_OBJECT) {
		info->is_object = true;
		info->base_addr = at.base_addr;
		info->bytes = at.bytes;
		info->offset = addr >= at.base_addr ? addr - at.base_addr : 0;
		info->type = at.type;
		err = describe(answers, addr, options, info);
	} else {
		err = gr_stop_locate_c(answers->stop, &at, &info->description);
		if (!err)
			err = describe_block(answers, addr, options, info);
	}
	if (!err)
		*ret = steal_ptr(info);
	return err;
}

struct gr_error *gr_scan_object(struct gr_scan *scan, uint64_t addr,
				const struct gr_object_options *options,
				struct gr_object_info **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_object_info) struct gr_object_info *info = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, addr, options, &info);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(info);
	return err;
}
