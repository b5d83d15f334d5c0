// SPDX-License-Identifier: Apache-2.0
/*
 * The chain that holds an address. A walk like that of a scan records parents;
 * the chain then goes from the object back to its root. The first question
 * makes the walk, and later ones use it again.
 */
#include "walks/why.h"

#include "expr/place.h"
#include "naming/locate.h"
#include "naming/memory_name.h"
#include "scan/enter.h"
#include "scan/kept_walk.h"

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

static gr_obj object_above(const struct gr_kept_walk *chains, gr_obj obj)
{
	return gr_parents_above(chains->m.parents, &chains->m.tree, obj);
}

/* The object that a chain begins with. */
static gr_obj first_object(const struct gr_kept_walk *chains, gr_obj obj)
{
	for (gr_obj o = obj; o != GR_OBJ_NONE; o = object_above(chains, o))
		obj = o;
	return obj;
}

/* The names down to @p node, from below the root or the object above. */
static const char *path_to(struct gr_runtime *rt, const struct gr_tree *tree,
			   uint32_t node)
{
	const char *text = "";

	for (; tree->nodes.data[node].parent != GR_NODE_NONE;
	     node = tree->nodes.data[node].parent) {
		text = gr_arena_internf(rt->arena, "%s%s%s",
					tree->nodes.data[node].name,
					*text ? " / " : "", text);
		if (!text)
			return "";
	}
	return text;
}

/* Make the root's own hop: name, type and address if it is a variable. */
static struct gr_error *root_hop(struct gr_stop *stop, const struct gr_why *why,
				 struct gr_hop *ret)
{
	const char *name = why->root_name;
	struct gr_place place;

	*ret = (struct gr_hop){ .name = name, .type = "" };
	if (why->goroutine_id)
		name = gr_arena_internf(&stop->program->arena, "%s@%" PRIu64,
					name, why->goroutine_id);
	if (!name)
		return &gr_enomem;
	struct gr_error *err = gr_place_resolve(stop, name, &place);
	if (gr_error_catch(&err, GR_ERROR_NOT_FOUND) ||
	    gr_error_catch(&err, GR_ERROR_ARGUMENT) || err ||
	    (!place.is_variable && why->goroutine_id))
		return err;
	ret->type = gr_memory_name(stop->program, place.type);
	ret->is_container = gr_memory_is_container(stop->program, place.type);
	ret->addr = place.addr;
	return NULL;
}

static void object_hop(struct gr_answers *answers, gr_obj obj,
		       struct gr_hop *ret)
{
	struct gr_stop *stop = answers->stop;
	const struct gr_parents *parents = answers->kept_walk->m.parents;
	uint32_t label = gr_parents_label(parents, obj);

	ret->addr = gr_heap_object_addr(stop->heap, obj);
	ret->type = gr_memory_name(stop->program, label);
	ret->is_container = gr_memory_is_container(stop->program, label);
	ret->name = path_to(&stop->program->rt, &answers->kept_walk->m.tree,
			    gr_parents_node(parents, obj));
}

/* The name for a hop without one: both objects of a pointer to a pointer are
 * billed to one node. */
static const char *last_name(struct gr_runtime *rt, const char *name)
{
	const char *last = name;

	for (const char *p = name; (p = strstr(p, " / ")); p += 3)
		last = p + 3;
	return last == name ? name :
			      gr_arena_intern(rt->arena, last, strlen(last));
}

/*
 * Make one hop for each object, root first. The root has its own hop if the
 * first object lies below one of its fields or elements.
 */
static struct gr_error *make_hops(struct gr_answers *answers, gr_obj obj,
				  struct gr_why *why)
{
	const struct gr_kept_walk *chains = answers->kept_walk;
	struct gr_error *err = NULL;
	size_t n = 0;

	for (gr_obj o = obj; o != GR_OBJ_NONE && n < MAX_HOPS;
	     o = object_above(chains, o))
		n++;
	why->hops = calloc(n + 1, sizeof(*why->hops));
	if (!why->hops)
		return &gr_enomem;
	why->nhops = n + 1;
	for (gr_obj o = obj; n; n--, o = object_above(chains, o))
		object_hop(answers, o, &why->hops[n]);
	if (*why->hops[1].name) {
		err = root_hop(answers->stop, why, &why->hops[0]);
	} else {
		why->nhops--;
		memmove(why->hops, why->hops + 1,
			why->nhops * sizeof(*why->hops));
		why->hops[0].name = why->root_name;
	}
	for (size_t i = 1; i < why->nhops; i++) {
		struct gr_hop *hop = &why->hops[i];
		if (!*hop->name)
			hop->name = last_name(&answers->stop->program->rt,
					      hop[-1].name);
		if (!hop->name)
			return &gr_enomem;
	}
	return err;
}

static struct gr_error *find_chain(struct gr_answers *answers,
				   const struct gr_walk_options *options,
				   uint64_t addr, struct gr_why *why)
{
	struct gr_stop *stop = answers->stop;
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(stop->heap, addr, &span);
	struct gr_error *err = gr_kept_walk_need(answers, options->attribution);

	if (err)
		return err;
	const struct gr_kept_walk *chains = answers->kept_walk;
	why->gaps = chains->gaps;
	if (!gr_parents_has(chains->m.parents, obj))
		return NULL;
	gr_obj first = first_object(chains, obj);
	uint32_t top = gr_parents_top(
		&chains->m.tree, gr_parents_node(chains->m.parents, first));
	const struct gr_root_total *root =
		&chains->m.tree.roots.data[chains->m.tree.nodes.data[top].root];
	uint32_t goroutine = gr_parents_goroutine(chains->m.parents, first);
	why->is_reachable = true;
	why->root_name = root->name;
	why->root_kind = root->kind;
	if (goroutine < stop->sched.ngoroutines)
		why->goroutine_id = stop->sched.goroutines[goroutine].goid;
	err = make_hops(answers, obj, why);
	// A type from the walk replaces the one from the header.
	if (!err && *why->hops[why->nhops - 1].type)
		why->type = why->hops[why->nhops - 1].type;
	return err;
}

struct gr_error *gr_why_find(struct gr_answers *answers,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = calloc(1, sizeof(*why));
	struct gr_located at;
	struct gr_error *err;

	if (!why)
		return &gr_enomem;
	err = gr_stop_locate(answers->stop, addr, &at);
	if (err)
		return err;
	why->addr = addr;
	why->type = at.type;
	why->root_name = "";
	why->description = at.text;
	why->gaps = answers->stop->gaps;
	if (at.kind == GR_LOCATED_OBJECT) {
		why->is_object = true;
		why->base_addr = at.base_addr;
		why->bytes = at.bytes;
		why->offset = addr >= at.base_addr ? addr - at.base_addr : 0;
		err = find_chain(answers, options, addr, why);
	} else {
		why->type = "";
		err = gr_stop_locate_c(answers->stop, &at, &why->description);
	}
	if (!err)
		*ret = steal_ptr(why);
	return err;
}

struct gr_error *gr_scan_why(struct gr_scan *scan,
			     const struct gr_walk_options *options,
			     uint64_t addr, struct gr_why **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = gr_why_find(answers, options, addr, &why);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(why);
	return err;
}
