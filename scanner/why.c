// SPDX-License-Identifier: Apache-2.0
/*
 * Who holds an address: the same walk as a scan's, with parents kept, until
 * the object is counted; then the chain from it back to its root.
 */
#include "scan.h"

#include "goruntime/pclntab.h"

#include <inttypes.h>

enum { MAX_HOPS = 1 << 24 };

void gr_why_destroy(struct gr_why *why)
{
	if (!why)
		return;
	free(why->hops);
	free(why);
}
GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)

static const char *variable_at(const struct gr_module *m, uint64_t addr)
{
	size_t count, ntypes;

	if (!m->dwarf)
		return NULL;
	const struct gr_dwarf_variable *v =
		gr_dwarf_variables(m->dwarf, &count);
	const struct gr_dwarf_type *types = gr_dwarf_types(m->dwarf, &ntypes);
	for (size_t i = 0; i < count; i++)
		if (addr - m->bias >= v[i].addr && v[i].type < ntypes &&
		    addr - m->bias - v[i].addr < types[v[i].type].size_bytes)
			return v[i].name;
	return NULL;
}

/* Data, bss, text and read-only data of a module. */
static const char *describe_module(struct gr_scan *scan,
				   const struct gr_module *m, uint64_t addr)
{
	const struct {
		const char *name;
		uint64_t start, end;
	} parts[] = {
		{ "data", m->data, m->edata },
		{ "bss", m->bss, m->ebss },
		{ "noptrdata", m->noptrdata, m->enoptrdata },
		{ "noptrbss", m->noptrbss, m->enoptrbss },
		{ "type data", m->types, m->etypes },
	};
	struct gr_func func;

	if (gr_func_find(&scan->rt, addr, &func))
		return gr_arena_internf(&scan->arena, "text: %s+0x%" PRIx64,
					func.name, addr - func.entry);
	for (size_t i = 0; i < GR_ARRAY_SIZE(parts); i++) {
		if (addr < parts[i].start || addr >= parts[i].end)
			continue;
		const char *name = variable_at(m, addr);
		return gr_arena_internf(&scan->arena, "%s%s%s", parts[i].name,
					name ? ": variable " : "",
					name ? name : "");
	}
	return NULL;
}

static const char *describe_stack(struct gr_scan *scan, uint64_t addr)
{
	for (size_t i = 0; i < scan->rt.ngoroutines; i++) {
		const struct gr_goroutine *g = &scan->rt.goroutines[i];
		if (addr < g->stack_lo || addr >= g->stack_hi)
			continue;
		if (g->is_g0)
			return "system stack of a thread";
		for (size_t j = 0; j < g->nframes; j++)
			if (addr >= g->frames[j].sp && addr < g->frames[j].fp)
				return gr_arena_internf(
					&scan->arena,
					"stack of goroutine %" PRIu64
					", frame of %s",
					g->goid, g->frames[j].func.name);
		return gr_arena_internf(&scan->arena,
					"stack of goroutine %" PRIu64, g->goid);
	}
	return NULL;
}

/* Signal handlers run on a stack of their own: m.gsignal's. */
static bool is_on_signal_stack(struct gr_scan *scan, uint64_t addr)
{
	const struct gr_layout *layout = &scan->rt.layout;
	uint64_t g, lo, hi;

	for (size_t i = 0; i < scan->rt.nms; i++) {
		struct gr_error *err = gr_image_read_u64(
			scan->image, scan->rt.ms[i] + layout->m.gsignal.off,
			&g);
		if (!err)
			err = gr_image_read_u64(
				scan->image, g + layout->g.stack_lo.off, &lo);
		if (!err)
			err = gr_image_read_u64(
				scan->image, g + layout->g.stack_hi.off, &hi);
		if (!err && addr >= lo && addr < hi)
			return true;
		gr_error_destroy(err);
	}
	return false;
}

/* What an address is that is no object. */
static const char *describe(struct gr_scan *scan, uint64_t addr)
{
	const struct gr_span *span = gr_heap_span_at(scan->rt.heap, addr);
	const char *text = NULL;
	struct gr_mapping_info mapping;

	if (span && addr < span->limit_addr)
		return "free slot of the heap";
	if (span)
		return "unused end of a heap span";
	text = describe_stack(scan, addr);
	if (!text && is_on_signal_stack(scan, addr))
		text = "signal stack of a thread";
	for (size_t i = 0; !text && i < scan->rt.nmodules; i++)
		text = describe_module(scan, &scan->rt.modules[i], addr);
	if (text)
		return text;
	if (!gr_image_mapping(scan->image, addr, &mapping))
		return "unmapped";
	if (mapping.path)
		return gr_arena_internf(&scan->arena, "mapped from %s",
					mapping.path);
	if (gr_heap_arena_at(scan->rt.heap, addr))
		return "free memory of the Go heap";
	return "memory outside the Go heap";
}

const char *gr_scan_header_type(struct gr_scan *scan,
				const struct gr_span *span, uint32_t index)
{
	uint64_t addr = span->large_type;
	struct gr_error *err = NULL;
	gr_type_id type = GR_TYPE_NONE;

	if (span->header_bytes && span->host)
		addr = gr_load_u64(span->host + index * span->elem_bytes);
	if (addr)
		err = gr_types_from_runtime(&scan->rt, addr, &type);
	gr_error_destroy(err);
	return err || type == GR_TYPE_NONE ?
		       "" :
		       gr_types_get(scan->rt.types, type)->name;
}

static const char *type_name(struct gr_scan *scan, gr_type_id id)
{
	return id == GR_TYPE_NONE ? "" : gr_types_get(scan->rt.types, id)->name;
}

/* Names of the nodes below @p above down to @p node, joined. */
static const char *path_between(struct gr_scan *scan,
				const struct gr_tree *tree, uint32_t above,
				uint32_t node)
{
	const char *text = "";

	for (; node != above && node != GR_NODE_NONE;
	     node = tree->nodes.data[node].parent) {
		text = gr_arena_internf(&scan->arena, "%s%s%s",
					tree->nodes.data[node].name,
					*text ? " / " : "", text);
		if (!text)
			return "";
	}
	return text;
}

/* The node that an object is billed to: of a closure, the one above the
 * function's name, below which its unexplained words go. */
static uint32_t billed_node(struct gr_scan *scan, const struct gr_walk *w,
			    gr_obj obj)
{
	uint32_t node = w->node_of[obj];
	gr_type_id type = w->type_of[obj];

	if (type == GR_TYPE_NONE ||
	    gr_types_get(scan->rt.types, type)->role != GR_ROLE_CLOSURE ||
	    strcmp(w->tree.nodes.data[node].name, type_name(scan, type)))
		return node;
	uint32_t parent = w->tree.nodes.data[node].parent;
	return parent == GR_NODE_NONE ? node : parent;
}

/* The root's own hop: a variable's name, type and address, if it is one. */
static struct gr_error *root_hop(struct gr_scan *scan, const char *name,
				 struct gr_hop *ret)
{
	struct gr_place place;
	struct gr_error *err = gr_scan_resolve(scan, name, &place);

	ret->name = name;
	ret->type = "";
	ret->addr = 0;
	if (gr_error_catch(&err, GR_ERROR_NOT_FOUND) ||
	    gr_error_catch(&err, GR_ERROR_ARGUMENT) || err)
		return err;
	ret->type = type_name(scan, place.type);
	ret->addr = place.addr;
	return NULL;
}

/* The object that holds @obj, or none where its chain begins. One with a
 * finalizer is gone through uncounted: nothing is known of it. */
static gr_obj object_above(struct gr_scan *scan, const struct gr_walk *w,
			   gr_obj obj)
{
	gr_obj from = w->parents[obj].from;

	if (from == GR_OBJ_NONE || !gr_heap_is_counted(scan->rt.heap, from))
		return GR_OBJ_NONE;
	return from;
}

/*
 * One hop an object, root first. The root has a hop of its own where the
 * first object lies below one of its fields or elements.
 */
static struct gr_error *make_hops(struct gr_scan *scan, struct gr_walk *w,
				  gr_obj obj, struct gr_why *why)
{
	uint32_t root = w->tree.nodes.data[w->node_of[obj]].root;
	uint32_t root_node = w->tree.roots.data[root].node;
	size_t n = 1;

	for (gr_obj o = obj; o != GR_OBJ_NONE && n < MAX_HOPS;
	     o = object_above(scan, w, o))
		n++;
	why->hops = calloc(n + 1, sizeof(*why->hops));
	if (!why->hops)
		return &gr_enomem;
	why->nhops = n;
	for (gr_obj o = obj; n > 0; o = w->parents[o].from) {
		struct gr_hop *hop = &why->hops[--n];
		gr_obj from = object_above(scan, w, o);
		bool is_top = from == GR_OBJ_NONE;
		uint32_t node = billed_node(scan, w, o);
		uint32_t above = is_top ? root_node :
					  billed_node(scan, w, from);

		hop->addr = gr_heap_object_addr(scan->rt.heap, o);
		hop->type = type_name(scan, w->type_of[o]);
		hop->name = is_top && node == root_node ?
				    why->root_name :
				    path_between(scan, &w->tree, above, node);
		// Of a pointer to a pointer both are billed to one node.
		if (!*hop->name)
			hop->name = w->tree.nodes.data[node].name;
		if (!is_top)
			continue;
		// What lies before is not part of the chain.
		if (node != root_node && n)
			hop = &why->hops[--n];
		memmove(why->hops, hop, (why->nhops - n) * sizeof(*hop));
		why->nhops -= n;
		return node == root_node ?
			       NULL :
			       root_hop(scan, why->root_name, why->hops);
	}
	return NULL;
}

/* The goroutine whose stack the chain begins on; 0: no stack root. */
static uint64_t goroutine_of(struct gr_scan *scan, const struct gr_walk *w,
			     gr_obj obj)
{
	for (size_t n = 0; n < MAX_HOPS; n++) {
		uint32_t goroutine = w->parents[obj].goroutine;
		gr_obj from = object_above(scan, w, obj);
		if (from == GR_OBJ_NONE)
			return goroutine < scan->rt.ngoroutines ?
				       scan->rt.goroutines[goroutine].goid :
				       0;
		obj = from;
	}
	return 0;
}

static struct gr_error *find_chain(struct gr_scan *scan,
				   const struct gr_walk_options *options,
				   gr_obj obj, struct gr_why *why)
{
	_cleanup_(gr_cleanup_walk) struct gr_walk *w = NULL;
	struct gr_ledger ledger = { 0 };
	struct gr_gaps before = scan->gaps;
	struct gr_error *err =
		gr_scan_run_walk(scan, options, obj, &ledger, &w);

	why->gaps = scan->gaps;
	gr_gaps_end_walk(&scan->gaps, &before);
	if (err || !w->is_found)
		return err;
	const struct gr_root_total *root =
		&w->tree.roots.data[w->tree.nodes.data[w->node_of[obj]].root];
	why->is_reachable = true;
	why->root_name = root->name;
	why->root_kind = root->kind;
	why->goroutine_id = goroutine_of(scan, w, obj);
	why->type = type_name(scan, w->type_of[obj]);
	return make_hops(scan, w, obj, why);
}

static struct gr_error *answer(struct gr_scan *scan,
			       const struct gr_walk_options *options,
			       uint64_t addr, struct gr_why **ret)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = calloc(1, sizeof(*why));
	const struct gr_span *span;
	struct gr_error *err;

	if (!why)
		return &gr_enomem;
	gr_obj obj = gr_heap_object_at(scan->rt.heap, addr, &span);
	why->addr = addr;
	why->type = "";
	why->root_name = why->description = "";
	why->gaps = scan->gaps;
	if (obj == GR_OBJ_NONE || !gr_heap_is_allocated(scan->rt.heap, obj)) {
		why->description = describe(scan, addr);
		if (!why->description)
			return &gr_enomem;
		*ret = steal_ptr(why);
		return NULL;
	}
	why->is_object = true;
	why->base_addr = gr_heap_object_addr(scan->rt.heap, obj);
	why->bytes = span->elem_bytes;
	why->offset = addr >= why->base_addr ? addr - why->base_addr : 0;
	err = find_chain(scan, options, obj, why);
	if (err)
		return err;
	if (!*why->type)
		why->type =
			gr_scan_header_type(scan, span, obj - span->first_obj);
	*ret = steal_ptr(why);
	return NULL;
}

struct gr_error *gr_scan_why(struct gr_scan *scan,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard);

	if (!err)
		err = answer(scan, options, addr, &why);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(why);
	return err;
}
