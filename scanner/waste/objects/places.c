// SPDX-License-Identifier: Apache-2.0
/*
 * A place is the path of names over which the walk first reached an object: up
 * to a struct, or to a root. Slices, maps and other containers have no names of
 * their own, and neither has a single value, such as the slice that a `*[]byte`
 * leads to: the path goes on with the field that holds them.
 */
#include "waste/objects/places.h"

#include "base/hash.h"
#include "base/text.h"
#include "naming/memory_name.h"
#include "retention/type_text.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"

enum {
	MAX_HOPS = 16,	/* containers in containers */
	MAX_NAMES = 64, /* fields in one hop */
	FIELD_BYTES = 1024,
};

static const struct gr_tree *tree_of(const struct gr_waste_run *run)
{
	return &run->answers->kept_walk->m.tree;
}

/* Has memory with this label no name of its own? */
static bool is_nameless(const struct gr_waste_run *run, uint32_t label)
{
	gr_type_id id = label & ~(uint32_t)GR_LABEL_FLAGS;

	if (label == GR_TYPE_NONE)
		return false;
	if (label & GR_LABEL_DATA)
		return true;
	switch (gr_types_get(run->types, id)->kind) {
	case GR_KIND_ARRAY:
	case GR_KIND_INTERFACE:
	case GR_KIND_PTR:
	case GR_KIND_SLICE:
	case GR_KIND_STRING:
		return true;
	default:
		return false;
	}
}

/* The object above whose field holds the place; GR_OBJ_NONE: a root does, or
 * the path ends at the object itself. */
static gr_obj above(const struct gr_waste_run *run, gr_obj obj)
{
	return gr_parents_above(run->parents, tree_of(run), obj);
}

uint64_t gr_waste_place(struct gr_waste_run *run, gr_obj obj)
{
	uint64_t key = gr_parents_node(run->parents, obj);

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		gr_obj from = gr_parents_from(run->parents, obj);

		if (from == GR_OBJ_NONE || from >= run->heap->nobjs ||
		    !is_nameless(run, gr_parents_label(run->parents, from)))
			break;
		key = gr_hash_number(key) + gr_parents_node(run->parents, from);
		obj = from;
	}
	return key;
}

/* Write a name of the tree as a part of a field: `names. ([]string)` is
 * `.names`, and all elements are one. A key is `$mapkey`, as in the name of a
 * word (naming/word_name.h). */
static void put_name(struct gr_text *text, const char *name)
{
	const char *end = strstr(name, ". (");
	size_t n = end ? (size_t)(end - name) : strlen(name);

	if (*name == '[' || !strncmp(name, "$mapval", n))
		gr_text_put(text, "[]");
	else if (end)
		gr_text_put(text, "%s%.*s", *name == '$' ? "" : ".", (int)n,
			    name);
}

/* Write the names from the top of a node down to it. */
static void put_path(const struct gr_tree *tree, uint32_t node,
		     struct gr_text *text)
{
	const char *names[MAX_NAMES];
	size_t n = 0;

	for (; tree->nodes.data[node].parent != GR_NODE_NONE && n < MAX_NAMES;
	     node = tree->nodes.data[node].parent)
		names[n++] = tree->nodes.data[node].name;
	while (n)
		put_name(text, names[--n]);
}

/* Name what the path begins with: a struct or a root. */
static const char *name_top(const struct gr_waste_run *run, gr_obj obj,
			    gr_obj from)
{
	const struct gr_tree *tree = tree_of(run);
	struct gr_program *program = run->answers->stop->program;
	const char *name;

	if (from != GR_OBJ_NONE) {
		name = gr_memory_name(program,
				      gr_parents_label(run->parents, from));
		return *name ? name : GR_TYPE_UNKNOWN;
	}
	uint32_t top = gr_parents_top(tree, gr_parents_node(run->parents, obj));
	return tree->roots.data[tree->nodes.data[top].root].name;
}

struct gr_error *gr_waste_place_name(struct gr_waste_run *run, gr_obj obj,
				     const char **type, const char **field)
{
	struct gr_arena *arena = &run->answers->stop->program->arena;
	char room[FIELD_BYTES];
	struct gr_text text = gr_text_begin(room, sizeof(room));
	gr_obj hops[MAX_HOPS + 1], from = GR_OBJ_NONE;
	int n = 0;

	hops[n++] = obj;
	while (n <= MAX_HOPS) {
		from = above(run, hops[n - 1]);
		if (from == GR_OBJ_NONE ||
		    !is_nameless(run, gr_parents_label(run->parents, from)))
			break;
		hops[n++] = from;
	}
	obj = hops[n - 1];
	if (n > MAX_HOPS)
		from = above(run, obj);
	while (n)
		put_path(tree_of(run), gr_parents_node(run->parents, hops[--n]),
			 &text);
	*type = name_top(run, obj, from);
	*type = gr_arena_intern(arena, *type, strlen(*type));
	*field = gr_arena_intern(arena, room, strlen(room));
	return *type && *field ? NULL : &gr_enomem;
}
