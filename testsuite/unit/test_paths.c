// SPDX-License-Identifier: Apache-2.0
// Folding held against its definition: the smallest leaf into its parent, one
// after the other, on pseudo-random trees with many equal sizes.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "proto/paths.h"

enum { NNODES = 120, NAMES = 7, TREES = 40 };

static const char *const names[NAMES] = { "a", "b", "c", "d", "e", "f", "g" };
static struct gr_node nodes[NNODES];
static struct gr_root_total roots[NNODES];
static size_t nroots;
static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

// A tree whose nodes have @objects at most; half of them have none.
static void grow_tree(uint32_t objects, uint32_t bytes)
{
	nroots = 0;
	for (uint32_t i = 0; i < NNODES; i++) {
		bool is_root = !i || !below(12);

		nodes[i] = (struct gr_node){
			.name = names[below(NAMES)],
			.parent = is_root ? GR_NODE_NONE : below(i),
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
	struct gr_error *err =
		gr_paths_init(paths, nodes, NNODES, roots, nroots);

	if (err)
		fail_msg("%s", err->message);
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

static void check_fold(uint64_t max_samples)
{
	struct gr_paths paths, folded;
	bool is_gone[NNODES + 1] = { false };
	struct gr_path want[NNODES + 1];

	make_paths(&paths);
	make_paths(&folded);
	size_t n = paths.npaths + 1;
	memcpy(want, paths.paths, paths.npaths * sizeof(*want));
	want[n - 1] = (struct gr_path){ .parent = GR_PATH_NONE };
	while (count_samples(want, n) > max_samples)
		fold_one(want, n, is_gone);
	assert_null(gr_paths_fold(&folded, max_samples));
	assert_int_equal(folded.samples, count_samples(want, n));
	for (size_t i = 0; i < n; i++) {
		bool is_there = i < folded.npaths;
		const struct gr_path *have = &folded.paths[i];

		assert_int_equal(is_there ? have->objects : 0, want[i].objects);
		assert_int_equal(is_there ? have->bytes : 0, want[i].bytes);
	}
	gr_paths_deinit(&paths);
	gr_paths_deinit(&folded);
}

static void check_trees(uint32_t objects, uint32_t bytes)
{
	for (int i = 0; i < TREES; i++) {
		grow_tree(objects, bytes);
		for (uint64_t max = 1; max < NNODES / 2; max += 1 + max / 8)
			check_fold(max);
	}
}

static void test_equal_sizes(void **state)
{
	(void)state;
	check_trees(1, 2);
}

static void test_few_sizes(void **state)
{
	(void)state;
	check_trees(3, 4);
}

static void test_many_sizes(void **state)
{
	(void)state;
	check_trees(1000, 1 << 20);
}

// More than the number that orders paths has room for.
static void test_many_objects(void **state)
{
	(void)state;
	grow_tree(3, 4);
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_sizes),
		cmocka_unit_test(test_few_sizes),
		cmocka_unit_test(test_many_sizes),
		cmocka_unit_test(test_many_objects),
	};

	return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
