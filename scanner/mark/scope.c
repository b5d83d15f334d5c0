// SPDX-License-Identifier: Apache-2.0
/* Names below a value. Names and nodes are made when something is billed to
 * them. */
#include "mark/walk.h"

static const char *element_name(struct gr_walk *w, gr_type_id elem, uint32_t i)
{
	const char *type = gr_types_get(w->types, elem)->name;

	return gr_arena_internf(w->rt->arena,
				i < GR_NELEMENT_NAMES - 1 ? "[%u]. (%s)" :
							    "[%u+]. (%s)",
				i, type);
}

/* The name `$mapkey. (K)` or `$mapval. (V)` of a map or trie. */
static const char *container_name(struct gr_walk *w, gr_type_id id, uint32_t i)
{
	const struct gr_type *map = gr_types_get(w->types, id);
	gr_type_id part = i ? map->elem : map->key;
	const char *type =
		part == GR_TYPE_NONE ? "?" : gr_types_get(w->types, part)->name;

	return gr_arena_internf(w->rt->arena, "%s. (%s)",
				i ? "$mapval" : "$mapkey", type);
}

static const char *step_name(struct gr_walk *w, const struct gr_scope *scope,
			     uint32_t step)
{
	if (scope->key & GR_KEY_ELEMENTS)
		return element_name(w, scope->key & ~GR_KEY_ELEMENTS, step);
	if (scope->key == GR_KEY_SUB_OBJECTS)
		return gr_arena_internf(w->rt->arena, "$sub_objects$");
	if (scope->key & GR_KEY_CONTAINER)
		return container_name(w, scope->key & ~GR_KEY_CONTAINER, step);
	return scope->plan->steps[step].name;
}

static uint32_t scope_nchildren(const struct gr_scope *scope)
{
	if (scope->key & GR_KEY_ELEMENTS)
		return GR_NELEMENT_NAMES;
	if (scope->key == GR_KEY_SUB_OBJECTS)
		return 1;
	if (scope->key & GR_KEY_CONTAINER)
		return 2;
	return scope->plan->nsteps;
}

static const char *type_of_variable(const struct gr_walk *w,
				    const struct gr_root *root)
{
	return root->form == GR_ROOT_REGION && root->type != GR_TYPE_NONE ?
		       gr_types_get(w->types, root->type)->name :
		       NULL;
}

/* The tree's node of a root; it is made if it is new. */
static uint32_t root_node(struct gr_walk *w, const struct gr_root *root)
{
	struct gr_root_total total = {
		.name = root->name,
		.kind = root->kind,
		.type = type_of_variable(w, root),
		.goroutine_state = root->goroutine_state,
		.file = root->file,
		.line = root->line,
	};

	if (w->per_goroutine && root->goroutine < w->sched->ngoroutines)
		total.goroutine_id = w->sched->goroutines[root->goroutine].goid;
	return gr_tree_root(&w->m.tree, &total);
}

uint32_t gr_walk_scope_node(struct gr_walk *w, struct gr_scope *scope)
{
	if (scope->node == GR_NODE_NONE)
		scope->node = scope->up ? gr_walk_step_node(w, scope->up,
							    scope->up_step) :
					  root_node(w, scope->root);
	return scope->node;
}

/* Recursion: a node is made once; 40 levels of a plan. */
uint32_t gr_walk_find_step_node(struct gr_walk *w, struct gr_scope *scope,
				uint32_t step)
{
	uint32_t node = gr_walk_scope_node(w, scope);

	if (step == GR_STEP_SELF)
		return node;
	if (!scope->table)
		scope->table = gr_tree_table(&w->m.tree, node, scope->key,
					     scope_nchildren(scope));
	if (!scope->table)
		return node;
	uint32_t child = w->m.tree.tables.data[scope->table + 2 + step];
	if (GR_LIKELY(child))
		return child - 1;
	if (scope->plan && scope->plan->steps[step].parent != GR_STEP_SELF)
		node = gr_walk_step_node(w, scope,
					 scope->plan->steps[step].parent);
	return gr_tree_child(&w->m.tree, node, scope->table, step,
			     step_name(w, scope, step));
}
