// SPDX-License-Identifier: Apache-2.0
// Merging and folding held against their definitions: equal names below equal
// paths become one, and the smallest leaf folds into its parent, one after the
// other. Pseudo-random trees, deep and wide ones, with many equal sizes.
#include <stddef.h>
#include <stdint.h>

#include "suite.h"

#include "base/cleanup.h"
#include "proto/paths.h"

enum { NNODES = 120, NAMES = 12, WIDE = 3, TREES = 40 };

// Each name lies at two addresses.
static char names[2 * NAMES][4];
static struct gr_node nodes[NNODES];
static struct gr_root_total roots[NNODES];
static size_t nroots;
static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

// A tree whose nodes have @objects at most; half of them have none. Their
// parents are among the first @nparents nodes.
static void grow_tree(uint32_t objects, uint32_t bytes, uint32_t nparents)
{
	nroots = 0;
	for (uint32_t i = 0; i < NNODES; i++) {
		bool is_root = !i || !below(12);
		uint32_t parent = below(i < nparents ? i + !i : nparents);

		nodes[i] = (struct gr_node){
			.name = names[below(2 * NAMES)],
			.parent = is_root ? GR_NODE_NONE : parent,
			.objects = below(2) * (1 + below(objects)),
		};
		nodes[i].bytes = nodes[i].objects ? 8 * below(bytes) : 0;
		if (is_root)
			roots[nroots++] = (struct gr_root_total){
				.name = nodes[i].name,
				.kind = GR_ROOT_GLOBAL,
				.node = i,
			};
	}
}

static void make_paths(struct gr_paths *paths)
{
	const struct gr_paths_input input = { .nodes = nodes,
					      .nnodes = NNODES,
					      .roots = roots,
					      .nroots = nroots };

	assert_null(gr_paths_init(paths, &input));
}

static uint64_t count_samples(const struct gr_path *paths, size_t n)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < n; i++)
		ret += paths[i].objects != 0;
	return ret;
}

static bool is_smaller(const struct gr_path *a, const struct gr_path *b)
{
	bool a_root = a->parent == GR_PATH_NONE;
	bool b_root = b->parent == GR_PATH_NONE;

	if (a_root != b_root)
		return b_root;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes;
	if (a->objects != b->objects)
		return a->objects < b->objects;
	return a > b;
}

// Fold one leaf of @n paths; the last of them takes the roots.
static void fold_one(struct gr_path *paths, size_t n, bool *is_gone)
{
	bool has_child[NNODES + 1] = { false };
	size_t leaf = n;

	for (size_t i = 0; i < n - 1; i++) {
		if (!is_gone[i] && paths[i].parent != GR_PATH_NONE)
			has_child[paths[i].parent] = true;
	}
	for (size_t i = 0; i < n - 1; i++) {
		if (!is_gone[i] && !has_child[i] &&
		    (leaf == n || is_smaller(&paths[i], &paths[leaf])))
			leaf = i;
	}
	assert_true(leaf < n);
	size_t to = paths[leaf].parent == GR_PATH_NONE ? n - 1 :
							 paths[leaf].parent;
	paths[to].objects += paths[leaf].objects;
	paths[to].bytes += paths[leaf].bytes;
	paths[leaf].objects = 0;
	paths[leaf].bytes = 0;
	is_gone[leaf] = true;
}

// The same names from a path of one list of paths and from one of another up
// to the root.
static bool is_same_path(const struct gr_path *a, const struct gr_path *in_a,
			 const struct gr_path *b, const struct gr_path *in_b)
{
	while (a->place == b->place && a->parent != GR_PATH_NONE &&
	       b->parent != GR_PATH_NONE) {
		a = &in_a[a->parent];
		b = &in_b[b->parent];
	}
	return a->place == b->place && a->parent == b->parent;
}

// The paths with objects, in order, are those of @want.
static void check_samples(const struct gr_paths *have,
			  const struct gr_path *want, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < have->npaths; i++) {
		const struct gr_path *path = &have->paths[i];

		if (!path->objects)
			continue;
		while (at < n && !want[at].objects)
			at++;
		assert_true(at < n);
		assert_true(is_same_path(path, have->paths, &want[at], want));
		assert_int_equal(path->objects, want[at].objects);
		assert_int_equal(path->bytes, want[at].bytes);
		at++;
	}
	assert_int_equal(count_samples(&want[at], n - at), 0);
	assert_int_equal(count_samples(want, n), have->samples);
}

static void check_fold(uint64_t max_samples)
{
	struct gr_paths paths, folded;
	bool is_gone[NNODES + 1] = { false };
	struct gr_path want[NNODES + 1];

	make_paths(&paths);
	make_paths(&folded);
	size_t n = paths.npaths + 1;
	memcpy(want, paths.paths, paths.npaths * sizeof(*want));
	want[n - 1] = (struct gr_path){ .parent = GR_PATH_NONE,
					.place = (uint32_t)paths.nplaces };
	while (count_samples(want, n) > max_samples)
		fold_one(want, n, is_gone);
	assert_null(gr_paths_fold(&folded, max_samples));
	check_samples(&folded, want, n);
	gr_paths_deinit(&paths);
	gr_paths_deinit(&folded);
}

static void check_merge(void)
{
	struct gr_path want[NNODES];
	uint32_t path_of[NNODES], n = 0, at;
	struct gr_paths paths;

	make_paths(&paths);
	for (uint32_t i = 0; i < NNODES; i++) {
		struct gr_path path = { .parent = GR_PATH_NONE };

		if (nodes[i].parent != GR_NODE_NONE)
			path.parent = path_of[nodes[i].parent];
		while (strcmp(paths.places[path.place].name, nodes[i].name))
			path.place++;
		for (at = 0; at < n; at++) {
			if (want[at].parent == path.parent &&
			    want[at].place == path.place)
				break;
		}
		if (at == n)
			want[n++] = path;
		want[at].objects += nodes[i].objects;
		want[at].bytes += nodes[i].bytes;
		path_of[i] = at;
	}
	assert_int_equal(paths.npaths, n);
	check_samples(&paths, want, n);
	gr_paths_deinit(&paths);
}

// Depth first: each path comes once, after its parent and behind its earlier
// siblings, with nothing between it and what lies below it.
static void check_order(void)
{
	bool is_done[NNODES] = { false };
	struct gr_paths paths;
	uint32_t last = GR_PATH_NONE, count = 0;

	make_paths(&paths);
	for (uint32_t i = gr_paths_link(&paths); i != GR_PATH_NONE;
	     i = gr_paths_next(&paths, i)) {
		uint32_t parent = paths.paths[i].parent;

		assert_false(is_done[i]);
		is_done[i] = true;
		count++;
		for (uint32_t j = 0; j < i; j++)
			assert_true(is_done[j] ||
				    paths.paths[j].parent != parent);
		while (last != parent && last != GR_PATH_NONE)
			last = paths.paths[last].parent;
		assert_int_equal(last, parent);
		last = i;
	}
	assert_int_equal(count, paths.npaths);
	gr_paths_deinit(&paths);
}

static void check_trees(uint32_t objects, uint32_t bytes)
{
	for (int i = 0; i < TREES; i++) {
		grow_tree(objects, bytes, i % 2 ? NNODES : WIDE);
		check_merge();
		check_order();
		for (uint64_t max = 1; max < NNODES / 2; max += 1 + max / 8)
			check_fold(max);
	}
}

TEST(equal_sizes)
{
	check_trees(1, 2);
}

TEST(few_sizes)
{
	check_trees(3, 4);
}

TEST(many_sizes)
{
	check_trees(1000, 1 << 20);
}

// More than the number that orders paths has room for.
TEST(many_objects)
{
	grow_tree(3, 4, NNODES);
	for (size_t i = 0; i < NNODES; i++)
		nodes[i].objects <<= 33;
	struct gr_paths paths;
	uint64_t want = 0, have = 0;

	make_paths(&paths);
	for (size_t i = 0; i < NNODES; i++)
		want += nodes[i].objects;
	assert_null(gr_paths_fold(&paths, 5));
	for (size_t i = 0; i < paths.npaths; i++)
		have += paths.paths[i].objects;
	assert_int_equal(have, want);
	assert_int_equal(paths.samples, 5);
	assert_int_equal(count_samples(paths.paths, paths.npaths), 5);
	gr_paths_deinit(&paths);
}

int main(void)
{
	for (unsigned int i = 0; i < 2 * NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "n%u", i % NAMES);
	return suite_run("paths", NULL, NULL);
}
