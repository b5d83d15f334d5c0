// SPDX-License-Identifier: Apache-2.0
#include "proto/paths.h"

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/vector.h"
#include "proto/table.h"

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

enum {
	RESERVE = 1024, // nodes; the tables are grown for so many at a time
	// Children of a path that are searched one by one. If there are more,
	// all are in a table.
	MAX_LISTED = 8,
};

// A name of nodes, and its place.
struct known_name {
	const char *name;
	uint32_t place;
};

GR_VECTOR(known_name_vector, struct known_name);

// State of a merge of the tree.
struct merge {
	struct gr_paths *paths;
	const struct gr_paths_input *in;
	struct known_name_vector names;
	struct gr_table name_of_pointer; // most names of nodes are interned
	struct gr_table place_of_name;
	struct gr_table label_of_root;
	struct gr_table path_of_child; // roots, and children of wide paths
	// One entry for each node. A root node that is not yet merged has the
	// index of the root.
	uint32_t *path_of_node;
};

static void merge_deinit(struct merge *m)
{
	known_name_vector_deinit(&m->names);
	gr_table_deinit(&m->name_of_pointer);
	gr_table_deinit(&m->place_of_name);
	gr_table_deinit(&m->label_of_root);
	gr_table_deinit(&m->path_of_child);
	free(m->path_of_node);
}

// Return the name of a place: in a stack, `;' separates names. NULL: no memory is
// left.
static const char *place_name(struct merge *m, const char *name)
{
	char *copy, *at;

	if (m->in->form != GR_PATHS_STACKS || !strchr(name, ';'))
		return name;
	copy = strdup(name);
	if (!copy)
		return NULL;
	for (at = copy; (at = strchr(at, ';'));)
		*at = ':';
	const char *ret = gr_arena_intern(&m->paths->names, copy, strlen(copy));
	free(copy);
	return ret;
}

// Return the number of a place: a name and, for a root, a source line.
static uint32_t find_place(struct merge *m, const struct gr_path_place *want)
{
	struct gr_paths *paths = m->paths;
	uint32_t hash =
		(uint32_t)gr_hash_mix(gr_hash_string(want->name),
				      gr_hash_string(want->file) + want->line);
	size_t pos = hash;
	uint32_t found;

	while ((found = gr_table_next(&m->place_of_name, hash, &pos)) !=
	       GR_TABLE_NONE) {
		const struct gr_path_place *have = &paths->places[found];

		if (have->line == want->line &&
		    same_string(have->name, want->name) &&
		    same_string(have->file, want->file))
			return found;
	}
	found = (uint32_t)paths->nplaces++;
	paths->places[found] = *want;
	gr_table_add(&m->place_of_name, hash, found);
	return found;
}

// Return the place of an inner node. The search is by the pointer to its name
// first, then by the name. GR_PATH_NONE: no memory is left.
static uint32_t find_inner_place(struct merge *m, const char *name)
{
	uint32_t hash = (uint32_t)gr_hash_mix(0, (uintptr_t)name);
	size_t pos = hash;
	uint32_t found;

	while ((found = gr_table_next(&m->name_of_pointer, hash, &pos)) !=
	       GR_TABLE_NONE) {
		if (m->names.data[found].name == name)
			return m->names.data[found].place;
	}
	const struct gr_path_place place = { .name = place_name(m, name) };
	if (!place.name)
		return GR_PATH_NONE;
	found = find_place(m, &place);
	gr_table_add(&m->name_of_pointer, hash, (uint32_t)m->names.size);
	if (!known_name_vector_append(&m->names,
				      (struct known_name){ name, found }))
		return GR_PATH_NONE;
	return found;
}

// Return the place of a node below a root.
static uint32_t find_node_place(struct merge *m, uint32_t node)
{
	const char *name = m->in->nodes[node].name;

	if (m->in->form == GR_PATHS_STACKS || !m->in->lines ||
	    !m->in->lines[node].file)
		return find_inner_place(m, name);
	const struct gr_path_place place = { name, m->in->lines[node].file,
					     m->in->lines[node].line };
	return find_place(m, &place);
}

// Return the number of a root's labels. There may be as many as goroutines.
static uint32_t find_label(struct merge *m, const struct gr_path_label *want)
{
	struct gr_paths *paths = m->paths;
	uint32_t hash = (uint32_t)gr_hash_mix(
		gr_hash_mix(gr_hash_string(want->root_kind),
			    gr_hash_string(want->goroutine_state)),
		want->goroutine_id);
	size_t pos = hash;
	uint32_t found;

	while ((found = gr_table_next(&m->label_of_root, hash, &pos)) !=
	       GR_TABLE_NONE) {
		const struct gr_path_label *have = &paths->labels[found];

		if (have->goroutine_id == want->goroutine_id &&
		    same_string(have->root_kind, want->root_kind) &&
		    same_string(have->goroutine_state, want->goroutine_state))
			return found;
	}
	found = (uint32_t)paths->nlabels++;
	paths->labels[found] = *want;
	gr_table_add(&m->label_of_root, hash, found);
	return found;
}

static uint32_t hash_path(uint32_t parent, uint32_t place, uint32_t label)
{
	return (uint32_t)gr_hash_mix(gr_hash_mix(gr_hash_mix(0, parent), place),
				     label);
}

// Return a path in the table, or GR_PATH_NONE.
static uint32_t look_up(const struct merge *m, uint32_t parent, uint32_t place,
			uint32_t label)
{
	uint32_t hash = hash_path(parent, place, label), found;
	size_t pos = hash;

	while ((found = gr_table_next(&m->path_of_child, hash, &pos)) !=
	       GR_TABLE_NONE) {
		const struct gr_path *have = &m->paths->paths[found];

		if (have->parent == parent && have->place == place &&
		    have->label == label)
			return found;
	}
	return GR_PATH_NONE;
}

static bool enter(struct merge *m, uint32_t path)
{
	const struct gr_path *p = &m->paths->paths[path];

	if (!gr_table_reserve(&m->path_of_child, 1))
		return false;
	gr_table_add(&m->path_of_child,
		     hash_path(p->parent, p->place, p->label), path);
	return true;
}

// Add a path without children.
static uint32_t add_path(struct merge *m, uint32_t parent, uint32_t place,
			 uint32_t label, unsigned int depth)
{
	struct gr_path *path = &m->paths->paths[m->paths->npaths];

	// All else is 0 as allocated.
	path->parent = parent;
	path->place = place;
	path->label = label;
	path->depth = (uint16_t)depth;
	path->child = GR_PATH_NONE;
	path->sibling = GR_PATH_NONE;
	return (uint32_t)m->paths->npaths++;
}

// Return the path of a root; create it if it is new. GR_PATH_NONE: no memory
// is left.
static uint32_t find_root(struct merge *m, uint32_t place, uint32_t label)
{
	uint32_t found = look_up(m, GR_PATH_NONE, place, label);

	if (found != GR_PATH_NONE)
		return found;
	found = add_path(m, GR_PATH_NONE, place, label, 1);
	return enter(m, found) ? found : GR_PATH_NONE;
}

// Enter a new child of a path into the table if it has many; with the first
// one too many, enter all.
static bool enter_child(struct merge *m, struct gr_path *above, uint32_t child)
{
	if (above->listed > MAX_LISTED)
		return enter(m, child);
	if (++above->listed <= MAX_LISTED)
		return true;
	for (; child != GR_PATH_NONE; child = m->paths->paths[child].sibling) {
		if (!enter(m, child))
			return false;
	}
	return true;
}

// Return the path of a parent's child; create it if it is new. GR_PATH_NONE:
// no memory is left.
static uint32_t find_child(struct merge *m, uint32_t parent, uint32_t place)
{
	struct gr_path *paths = m->paths->paths, *above = &paths[parent];
	uint32_t found = above->child;

	if (above->listed > MAX_LISTED)
		found = look_up(m, parent, place, above->label);
	else
		while (found != GR_PATH_NONE && paths[found].place != place)
			found = paths[found].sibling;
	if (found != GR_PATH_NONE)
		return found;
	found = add_path(m, parent, place, above->label, above->depth + 1);
	paths[found].sibling = above->child;
	above->child = found;
	return enter_child(m, above, found) ? found : GR_PATH_NONE;
}

static struct gr_error *merge_init(struct merge *m)
{
	struct gr_paths *paths = m->paths;
	size_t n = m->in->nnodes + m->in->nroots + 2;

	// One more path, place and label are for the folded roots.
	paths->paths = gr_huge_calloc(n, sizeof(*paths->paths));
	paths->places = calloc(n, sizeof(*paths->places));
	paths->labels = calloc(m->in->nroots + 2, sizeof(*paths->labels));
	m->path_of_node = gr_huge_calloc(n, sizeof(*m->path_of_node));
	if (!paths->paths || !paths->places || !paths->labels ||
	    !m->path_of_node || !gr_table_reserve(&m->path_of_child, 1))
		return &gr_enomem;
	for (size_t i = 0; i < m->in->nroots; i++) {
		if (m->in->roots[i].node < m->in->nnodes)
			m->path_of_node[m->in->roots[i].node] = (uint32_t)i;
	}
	return NULL;
}

// Make room for the entries that the next nodes may add to the small tables.
static bool merge_reserve(struct merge *m)
{
	return gr_table_reserve(&m->name_of_pointer, RESERVE) &&
	       gr_table_reserve(&m->place_of_name, RESERVE) &&
	       gr_table_reserve(&m->label_of_root, RESERVE);
}

// Take from a root what keeps its paths apart.
static void describe_root(const struct merge *m,
			  const struct gr_root_total *root,
			  struct gr_path_place *place,
			  struct gr_path_label *label)
{
	if (m->in->form == GR_PATHS_STACKS)
		return;
	place->file = root->file;
	place->line = root->file ? root->line : 0;
	label->goroutine_id = root->goroutine_id;
	if (m->in->form == GR_PATHS_BY_GOROUTINE)
		return;
	label->root_kind = gr_root_kind_name(root->kind);
	label->goroutine_state = root->goroutine_state;
}

// Return the path of a root node. GR_PATH_NONE: no memory is left.
static uint32_t merge_root(struct merge *m, uint32_t node)
{
	struct gr_path_place place = { .name = place_name(
					       m, m->in->nodes[node].name) };
	struct gr_path_label label = { .root_kind = NULL };
	uint32_t index = m->path_of_node[node];

	if (!place.name)
		return GR_PATH_NONE;
	if (index < m->in->nroots && m->in->roots[index].node == node)
		describe_root(m, &m->in->roots[index], &place, &label);
	return find_root(m, find_place(m, &place), find_label(m, &label));
}

// Return the path of one node. All nodes before it are merged. GR_PATH_NONE:
// no memory is left.
static uint32_t merge_node(struct merge *m, uint32_t node)
{
	struct gr_paths *paths = m->paths;
	uint32_t parent = m->in->nodes[node].parent;

	if (parent >= node)
		return merge_root(m, node);
	uint32_t above = m->path_of_node[parent];
	uint32_t place = find_node_place(m, node);
	if (place == GR_PATH_NONE)
		return GR_PATH_NONE;
	if (paths->paths[above].depth >= GR_PATH_MAX_DEPTH) {
		paths->shortened++;
		return above;
	}
	return find_child(m, above, place);
}

static struct gr_error *merge_all(struct merge *m)
{
	struct gr_paths *paths = m->paths;
	struct gr_error *err = merge_init(m);

	if (err)
		return err;
	for (uint32_t i = 0; i < m->in->nnodes; i++) {
		if (i % RESERVE == 0 && !merge_reserve(m))
			return &gr_enomem;
		uint32_t number = merge_node(m, i);
		if (number == GR_PATH_NONE)
			return &gr_enomem;
		struct gr_path *path = &paths->paths[number];
		m->path_of_node[i] = number;
		paths->samples += !path->objects && m->in->nodes[i].objects;
		path->objects += m->in->nodes[i].objects;
		path->bytes += m->in->nodes[i].bytes;
	}
	return NULL;
}

struct gr_error *gr_paths_init(struct gr_paths *paths,
			       const struct gr_paths_input *input)
{
	struct merge m = { .paths = paths, .in = input };

	memset(paths, 0, sizeof(*paths));
	if (input->nnodes >= GR_PATH_NONE - 2)
		return gr_error_format(GR_ERROR_LIMIT,
				       "the tree has too many nodes");
	struct gr_error *err = merge_all(&m);
	merge_deinit(&m);
	if (err)
		gr_paths_deinit(paths);
	return err;
}

uint32_t gr_paths_link(struct gr_paths *paths)
{
	uint32_t first_root = GR_PATH_NONE;

	for (size_t i = 0; i < paths->npaths; i++)
		paths->paths[i].child = GR_PATH_NONE;
	for (uint32_t i = (uint32_t)paths->npaths; i-- > 0;) {
		struct gr_path *path = &paths->paths[i];
		uint32_t *first = path->parent == GR_PATH_NONE ?
					  &first_root :
					  &paths->paths[path->parent].child;

		path->sibling = *first;
		*first = i;
	}
	return first_root;
}

uint32_t gr_paths_next(const struct gr_paths *paths, uint32_t path)
{
	if (paths->paths[path].child != GR_PATH_NONE)
		return paths->paths[path].child;
	while (path != GR_PATH_NONE &&
	       paths->paths[path].sibling == GR_PATH_NONE)
		path = paths->paths[path].parent;
	return path == GR_PATH_NONE ? path : paths->paths[path].sibling;
}

void gr_paths_deinit(struct gr_paths *paths)
{
	free(paths->paths);
	free(paths->places);
	free(paths->labels);
	gr_arena_deinit(&paths->names);
	memset(paths, 0, sizeof(*paths));
}
