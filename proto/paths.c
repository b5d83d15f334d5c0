// SPDX-License-Identifier: Apache-2.0
#include "proto/paths.h"

#include "base/cleanup.h"
#include "proto/table.h"

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

enum {
	RESERVE = 1024, // nodes; room in the tables is made for so many
	AHEAD = 16,	// nodes, whose entry in the table is fetched
};

// What is needed while the tree is merged.
struct merge {
	struct gr_paths *paths;
	const struct gr_node *nodes;
	size_t nnodes;
	const struct gr_root_total *roots;
	size_t nroots;
	struct gr_table place_of_pointer; // nodes' names are mostly interned
	struct gr_table place_of_name;
	struct gr_table label_of_root;
	struct gr_table path_of_child;
	// Of each node first its place (of an inner node) or root (of a root
	// node), then, once it is merged, its path.
	uint32_t *known;
};

static void merge_deinit(struct merge *m)
{
	gr_table_deinit(&m->place_of_pointer);
	gr_table_deinit(&m->place_of_name);
	gr_table_deinit(&m->label_of_root);
	gr_table_deinit(&m->path_of_child);
	free(m->known);
}

// The number of a name (and place of a root) among the places.
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

// The place of an inner node: by the pointer of its name, else by the name.
static uint32_t find_inner_place(struct merge *m, uint32_t node)
{
	const char *name = m->nodes[node].name;
	uint32_t hash = (uint32_t)gr_hash_mix(0, (uintptr_t)name);
	struct gr_path_place place = { .name = name };
	size_t pos = hash;
	uint32_t found;

	while ((found = gr_table_next(&m->place_of_pointer, hash, &pos)) !=
	       GR_TABLE_NONE) {
		if (m->nodes[found].name == name)
			return m->known[found];
	}
	gr_table_add(&m->place_of_pointer, hash, node);
	return find_place(m, &place);
}

// The number of a root's labels: there may be as many as goroutines.
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

// The path of a parent's child; made when it is new.
static uint32_t find_path(struct merge *m, uint32_t parent, uint32_t place,
			  uint32_t label)
{
	struct gr_paths *paths = m->paths;
	uint32_t hash = hash_path(parent, place, label);
	size_t pos = hash;
	uint32_t found;

	while ((found = gr_table_next(&m->path_of_child, hash, &pos)) !=
	       GR_TABLE_NONE) {
		const struct gr_path *have = &paths->paths[found];

		if (have->parent == parent && have->place == place &&
		    have->label == label)
			return found;
	}
	found = (uint32_t)paths->npaths++;
	paths->paths[found] = (struct gr_path){
		.parent = parent,
		.place = place,
		.label = label,
		.depth = parent == GR_PATH_NONE ?
				 1 :
				 paths->paths[parent].depth + 1,
	};
	gr_table_add(&m->path_of_child, hash, found);
	return found;
}

static struct gr_error *merge_init(struct merge *m)
{
	struct gr_paths *paths = m->paths;
	size_t n = m->nnodes + m->nroots + 2;

	// One path, place and label more: folded roots.
	paths->paths = calloc(n, sizeof(*paths->paths));
	paths->places = calloc(n, sizeof(*paths->places));
	paths->labels = calloc(m->nroots + 2, sizeof(*paths->labels));
	m->known = malloc(n * sizeof(*m->known));
	if (!paths->paths || !paths->places || !paths->labels || !m->known ||
	    !gr_table_reserve(&m->path_of_child, m->nnodes))
		return &gr_enomem;
	return NULL;
}

// Room for what the next nodes may add to the small tables.
static bool merge_reserve(struct merge *m)
{
	return gr_table_reserve(&m->place_of_pointer, RESERVE) &&
	       gr_table_reserve(&m->place_of_name, RESERVE) &&
	       gr_table_reserve(&m->label_of_root, RESERVE);
}

static bool is_inner(const struct merge *m, uint32_t node)
{
	return m->nodes[node].parent < node;
}

// What each inner node is called, and which root each root node belongs to.
static struct gr_error *find_places(struct merge *m)
{
	memset(m->known, 0xff, m->nnodes * sizeof(*m->known));
	for (size_t i = 0; i < m->nroots; i++) {
		if (m->roots[i].node < m->nnodes)
			m->known[m->roots[i].node] = (uint32_t)i;
	}
	for (uint32_t i = 0; i < m->nnodes; i++) {
		if (i % RESERVE == 0 && !merge_reserve(m))
			return &gr_enomem;
		if (is_inner(m, i))
			m->known[i] = find_inner_place(m, i);
	}
	return NULL;
}

// The path of a root node.
static uint32_t merge_root(struct merge *m, uint32_t node)
{
	struct gr_path_place place = { .name = m->nodes[node].name };
	struct gr_path_label label = { .root_kind = NULL };

	if (m->known[node] < m->nroots) {
		const struct gr_root_total *root = &m->roots[m->known[node]];

		place.file = root->file;
		place.line = root->file ? root->line : 0;
		label.root_kind = gr_root_kind_name(root->kind);
		label.goroutine_state = root->goroutine_state;
		label.goroutine_id = root->goroutine_id;
	}
	return find_path(m, GR_PATH_NONE, find_place(m, &place),
			 find_label(m, &label));
}

// The path of one node. Those before it have theirs.
static uint32_t merge_node(struct merge *m, uint32_t node)
{
	struct gr_paths *paths = m->paths;

	if (!is_inner(m, node))
		return merge_root(m, node);
	uint32_t above = m->known[m->nodes[node].parent];
	if (paths->paths[above].depth >= GR_PATH_MAX_DEPTH) {
		paths->shortened++;
		return above;
	}
	return find_path(m, above, m->known[node], paths->paths[above].label);
}

// Fetch what find_path() will look at, if the parent of @node is merged.
static void prefetch_path(const struct merge *m, uint32_t node, uint32_t merged)
{
	uint32_t parent = m->nodes[node].parent;

	if (parent >= merged)
		return;
	uint32_t above = m->known[parent];
	gr_table_prefetch(&m->path_of_child,
			  hash_path(above, m->known[node],
				    m->paths->paths[above].label));
}

static struct gr_error *merge_all(struct merge *m)
{
	struct gr_paths *paths = m->paths;
	struct gr_error *err = merge_init(m);

	if (!err)
		err = find_places(m);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->nnodes; i++) {
		if (i % RESERVE == 0 && !merge_reserve(m))
			return &gr_enomem;
		if (i + AHEAD < m->nnodes)
			prefetch_path(m, i + AHEAD, i);
		m->known[i] = merge_node(m, i);
		paths->paths[m->known[i]].objects += m->nodes[i].objects;
		paths->paths[m->known[i]].bytes += m->nodes[i].bytes;
	}
	for (size_t i = 0; i < paths->npaths; i++)
		paths->samples += paths->paths[i].objects != 0;
	return NULL;
}

struct gr_error *gr_paths_init(struct gr_paths *paths,
			       const struct gr_node *nodes, size_t nnodes,
			       const struct gr_root_total *roots, size_t nroots)
{
	struct merge m = { .paths = paths,
			   .nodes = nodes,
			   .nnodes = nnodes,
			   .roots = roots,
			   .nroots = nroots };

	memset(paths, 0, sizeof(*paths));
	if (nnodes >= GR_PATH_NONE - 2)
		return gr_error_format(GR_ERROR_LIMIT,
				       "the tree has too many nodes");
	struct gr_error *err = merge_all(&m);
	merge_deinit(&m);
	if (err)
		gr_paths_deinit(paths);
	return err;
}

void gr_paths_deinit(struct gr_paths *paths)
{
	free(paths->paths);
	free(paths->places);
	free(paths->labels);
	memset(paths, 0, sizeof(*paths));
}
