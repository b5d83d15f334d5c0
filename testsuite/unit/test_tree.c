// SPDX-License-Identifier: Apache-2.0
/* tree: roots that are one, children by name, limits of depth and number. */
#include "mark/tree.h"

#include "suite.h"

enum { KEY = 7, NCHILDREN = 4 };

static const char node_name[] = "f. (*main.T)";

static struct gr_tree *tree_create(uint32_t max_depth, uint32_t max_nodes)
{
	struct gr_tree *tree = suite_alloc(sizeof(*tree));

	assert_null(gr_tree_init(tree, max_depth, max_nodes));
	return tree;
}

static void tree_destroy(struct gr_tree *tree)
{
	assert_false(tree->is_out_of_memory);
	gr_tree_deinit(tree);
	free(tree);
}

static uint32_t add_root(struct gr_tree *tree, const char *name,
			 enum gr_root_kind kind, const char *state)
{
	const struct gr_root_total root = {
		.name = name,
		.kind = kind,
		.goroutine_state = state,
	};

	return gr_tree_root(tree, &root);
}

static uint32_t child(struct gr_tree *tree, uint32_t node, uint32_t key,
		      uint32_t i)
{
	uint32_t table = gr_tree_table(tree, node, key, NCHILDREN);

	return gr_tree_child(tree, node, table, i, node_name);
}

/* Parents come before their children, and lead to the same root. */
static void assert_sound(const struct gr_tree *tree)
{
	for (uint32_t i = 0; i < tree->nodes.size; i++) {
		const struct gr_node *node = &tree->nodes.data[i];

		assert_non_null(node->name);
		assert_true(node->root < tree->roots.size);
		if (node->parent == GR_NODE_NONE) {
			assert_int_equal(tree->roots.data[node->root].node, i);
			continue;
		}
		assert_true(node->parent < i);
		assert_int_equal(tree->nodes.data[node->parent].root,
				 node->root);
	}
}

// ------------------------------------------------------------------- roots

TEST(roots_merge)
{
	struct gr_tree *tree = tree_create(10, 1000);
	static const char name[] = "main.cache", other[] = "main.other";
	static const char waiting[] = "waiting", running[] = "running";
	uint32_t global = add_root(tree, name, GR_ROOT_GLOBAL, NULL);
	uint32_t local = add_root(tree, name, GR_ROOT_LOCAL, NULL);
	uint32_t w = add_root(tree, name, GR_ROOT_STACK, waiting);
	uint32_t r = add_root(tree, name, GR_ROOT_STACK, running);
	uint32_t o = add_root(tree, other, GR_ROOT_GLOBAL, NULL);

	assert_int_equal(tree->roots.size, 5);
	assert_int_equal(tree->nodes.size, 5);
	// The same again: nothing new.
	assert_int_equal(add_root(tree, name, GR_ROOT_GLOBAL, NULL), global);
	assert_int_equal(add_root(tree, name, GR_ROOT_LOCAL, NULL), local);
	assert_int_equal(add_root(tree, name, GR_ROOT_STACK, waiting), w);
	assert_int_equal(add_root(tree, name, GR_ROOT_STACK, running), r);
	assert_int_equal(add_root(tree, other, GR_ROOT_GLOBAL, NULL), o);
	assert_int_equal(tree->roots.size, 5);
	assert_int_equal(tree->roots.data[2].kind, GR_ROOT_STACK);
	assert_ptr_equal(tree->roots.data[2].goroutine_state, waiting);
	assert_sound(tree);
	tree_destroy(tree);
}

/* A root of its own for each goroutine, if the walk gives ids. */
TEST(roots_per_goroutine)
{
	struct gr_tree *tree = tree_create(10, 1000);
	struct gr_root_total root = { .name = "main.run.x",
				      .kind = GR_ROOT_LOCAL };

	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t id = 0; id < 5; id++) {
			root.goroutine_id = id << 32;
			assert_int_equal(gr_tree_root(tree, &root), id);
		}
	assert_int_equal(tree->roots.size, 5);
	assert_sound(tree);
	tree_destroy(tree);
}

/* Where the variable stands is told by the first of its name. */
TEST(first_root_tells_the_line)
{
	struct gr_tree *tree = tree_create(10, 1000);
	static const char name[] = "main.run.x";
	struct gr_root_total root = { .name = name,
				      .kind = GR_ROOT_LOCAL,
				      .file = "main.go",
				      .line = 7 };

	gr_tree_root(tree, &root);
	root.line = 9;
	gr_tree_root(tree, &root);
	assert_int_equal(tree->roots.size, 1);
	assert_int_equal(tree->roots.data[0].line, 7);
	tree_destroy(tree);
}

TEST(many_roots)
{
	enum { MANY = 20000 };
	struct gr_tree *tree = tree_create(10, UINT32_MAX);
	char *names = malloc(MANY);

	assert_non_null(names);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(add_root(tree, names + i,
						  GR_ROOT_LOCAL, NULL),
					 i);
	assert_int_equal(tree->roots.size, MANY);
	tree_destroy(tree);
	free(names);
}

// ---------------------------------------------------------------- children

TEST(children)
{
	struct gr_tree *tree = tree_create(10, 1000);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint32_t first = child(tree, root, KEY, 0);
	uint32_t last = child(tree, root, KEY, NCHILDREN - 1);
	uint32_t other = child(tree, root, KEY + 1, 0);

	assert_true(first != root && last != first && other != first);
	assert_int_equal(child(tree, root, KEY, 0), first);
	assert_int_equal(child(tree, root, KEY, NCHILDREN - 1), last);
	assert_int_equal(child(tree, root, KEY + 1, 0), other);
	assert_int_equal(tree->nodes.size, 4);
	// The same key below another node is another table.
	assert_true(child(tree, first, KEY, 0) != first);
	assert_int_equal(tree->nodes.size, 5);
	assert_ptr_equal(tree->nodes.data[first].name, node_name);
	assert_sound(tree);
	tree_destroy(tree);
}

TEST(no_table)
{
	struct gr_tree *tree = tree_create(10, 1000);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);

	assert_int_equal(gr_tree_child(tree, root, 0, 3, node_name), root);
	assert_int_equal(tree->nodes.size, 1);
	tree_destroy(tree);
}

TEST(table_without_children)
{
	struct gr_tree *tree = tree_create(10, 1000);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint32_t table = gr_tree_table(tree, root, KEY, 0);

	assert_true(table != 0);
	assert_int_equal(gr_tree_table(tree, root, KEY, 0), table);
	assert_true(gr_tree_table(tree, root, KEY + 1, 2) != table);
	tree_destroy(tree);
}

TEST(bill)
{
	struct gr_tree *tree = tree_create(10, 1000);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);

	gr_tree_bill(tree, root, 48);
	gr_tree_bill(tree, root, UINT64_C(1) << 33);
	assert_int_equal(tree->nodes.data[root].objects, 2);
	assert_true(tree->nodes.data[root].bytes == (UINT64_C(1) << 33) + 48);
	tree_destroy(tree);
}

// ------------------------------------------------------------------ limits

/** A chain of `length` children below one root, an object each. */
struct depth_case {
	const char *name;
	uint32_t max_depth, length;
	uint32_t want_nodes;
	uint64_t want_last; /* objects billed to the deepest node */
};

static const struct depth_case depth_cases[] = {
	{ "depth 256, a chain of 100", 256, 99, 100, 1 },
	{ "depth 10, a chain of just 10", 10, 9, 10, 1 },
	{ "depth 10, one more folds", 10, 10, 10, 2 },
	{ "depth 10, a hundred fold", 10, 109, 10, 101 },
	{ "depth 2: one level below the root", 2, 5, 2, 5 },
	{ "depth 1: roots only", 1, 5, 1, 6 },
	{ "depth 0 is taken as 1", 0, 5, 1, 6 },
};

TEST_ROWS(depth, depth_cases, c)
{
	struct gr_tree *tree = tree_create(c->max_depth, 1000000);
	uint32_t node = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);

	gr_tree_bill(tree, node, 8);
	for (uint32_t i = 0; i < c->length; i++) {
		node = child(tree, node, KEY, i % NCHILDREN);
		gr_tree_bill(tree, node, 8);
	}
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, c->want_nodes);
	node = c->want_nodes - 1;
	assert_int_equal(tree->nodes.data[node].objects, c->want_last);
	assert_int_equal(tree->folded.objects, c->want_last - 1);
	assert_int_equal(tree->folded.bytes, (c->want_last - 1) * 8);
	assert_sound(tree);
	tree_destroy(tree);
}

/* Folded nodes stay so, also by their own names. */
TEST(depth_folds_siblings)
{
	struct gr_tree *tree = tree_create(2, 1000);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint32_t below = child(tree, root, KEY, 1);
	uint32_t fold = child(tree, below, KEY, 0);

	for (uint32_t i = 0; i < NCHILDREN; i++) {
		assert_int_equal(child(tree, below, KEY, i), fold);
		assert_int_equal(child(tree, below, KEY + 1, i), fold);
		assert_int_equal(child(tree, fold, KEY, i), fold);
		gr_tree_bill(tree, fold, 8);
	}
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, 2);
	assert_int_equal(tree->nodes.data[below].objects, NCHILDREN);
	tree_destroy(tree);
}

TEST(max_nodes)
{
	enum { MAX = 100 };
	struct gr_tree *tree = tree_create(1000, MAX);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint64_t seed = 110, billed = 0, objects = 0;

	for (int i = 0; i < 20000; i++) {
		uint32_t node = root;

		for (int j = suite_random(&seed) % 20; j > 0; j--)
			node = child(tree, node, KEY + suite_random(&seed) % 3,
				     suite_random(&seed) % NCHILDREN);
		gr_tree_bill(tree, node, 16);
		billed++;
	}
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, MAX);
	for (uint32_t i = 0; i < MAX; i++)
		objects += tree->nodes.data[i].objects;
	assert_int_equal(objects, billed);
	assert_sound(tree);
	tree_destroy(tree);
}

TEST(max_nodes_of_zero)
{
	struct gr_tree *tree = tree_create(1000, 0);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);

	gr_tree_bill(tree, child(tree, root, KEY, 0), 8);
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, 1);
	assert_int_equal(tree->nodes.data[root].objects, 1);
	tree_destroy(tree);
}

/* Every root keeps a node of its own: a ledger names them all. */
TEST(roots_past_max_nodes)
{
	static const char names[10] = "";
	struct gr_tree *tree = tree_create(1000, 3);

	for (uint32_t i = 0; i < sizeof(names); i++)
		assert_int_equal(
			add_root(tree, names + i, GR_ROOT_GLOBAL, NULL), i);
	gr_tree_bill(tree, child(tree, 1, KEY, 0), 8);
	uint32_t late = add_root(tree, "late", GR_ROOT_GLOBAL, NULL);
	gr_tree_bill(tree, late, 16);
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, sizeof(names) + 1);
	assert_int_equal(tree->nodes.data[1].objects, 1);
	assert_int_equal(tree->roots.data[sizeof(names)].node, sizeof(names));
	assert_int_equal(tree->nodes.data[sizeof(names)].bytes, 16);
	assert_sound(tree);
	tree_destroy(tree);
}

/*
 * An object without a node of its own is not counted on a sibling's: if only the
 * left child of a node was made, the right one's left children are the node's.
 */
TEST(max_nodes_of_a_list)
{
	struct gr_tree *tree = tree_create(1000, 2);
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint32_t left = child(tree, root, KEY, 0);
	uint32_t right = child(tree, root, KEY, 1);

	gr_tree_bill(tree, left, 8);
	for (int i = 0; i < 5; i++)
		gr_tree_bill(tree, child(tree, right, KEY, 0), 16);
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, 2);
	assert_int_equal(tree->nodes.data[left].bytes, 8);
	assert_int_equal(tree->nodes.data[root].bytes, 5 * 16);
	assert_int_equal(tree->folded.objects, 5);
	assert_int_equal(tree->folded.bytes, 5 * 16);
	tree_destroy(tree);
}

/** A node of a naive tree: found by all that leads to it. */
struct naive_node {
	uint32_t parent, key, step, depth;
	uint64_t objects;
};

/* Random ways through a small tree, each ending in an object, against a naive
 * one in which a way that has no node stays where it is. */
TEST(folds_against_naive)
{
	enum { MAX = 50, DEPTH = 6 };
	struct gr_tree *tree = tree_create(DEPTH, MAX);
	struct naive_node naive[MAX] = { { .parent = GR_NODE_NONE } };
	uint32_t count = 1, seen = 0;
	uint64_t seed = 130, folded = 0;

	naive[0].depth = 1;
	add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	for (int i = 0; i < 5000; i++) {
		uint32_t node = 0, at = 0;
		bool is_folded = false;

		for (int j = suite_random(&seed) % 10; j > 0; j--) {
			uint32_t key = suite_random(&seed) % 2;
			uint32_t step = suite_random(&seed) % NCHILDREN;

			node = child(tree, node, KEY + key, step);
			if (is_folded)
				continue;
			uint32_t n = 1;
			while (n < count &&
			       (naive[n].parent != at || naive[n].key != key ||
				naive[n].step != step))
				n++;
			if (n == count &&
			    (count == MAX || naive[at].depth == DEPTH)) {
				is_folded = true;
				continue;
			}
			if (n == count)
				naive[count++] = (struct naive_node){
					at, key, step, naive[at].depth + 1, 0
				};
			at = n;
		}
		gr_tree_bill(tree, node, 8);
		naive[at].objects++;
		folded += is_folded;
	}
	assert_null(gr_tree_finish(tree));
	assert_int_equal(tree->nodes.size, count);
	assert_int_equal(tree->folded.objects, folded);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(tree->nodes.data[i].parent, naive[i].parent);
		assert_int_equal(tree->nodes.data[i].objects, naive[i].objects);
		seen += naive[i].objects;
	}
	assert_int_equal(seen, 5000);
	assert_sound(tree);
	tree_destroy(tree);
}

/* Random ways through the tree, against a naive list of edges. */
TEST(random_children)
{
	enum { MAX = 3000, KEYS = 5 };
	struct gr_tree *tree = tree_create(30, MAX);
	// A node has one fold.
	uint32_t(*edges)[KEYS][NCHILDREN] = calloc(2 * MAX, sizeof(*edges));
	uint32_t root = add_root(tree, "main.a", GR_ROOT_GLOBAL, NULL);
	uint64_t seed = 120;

	assert_non_null(edges);
	for (int i = 0; i < 20000; i++) {
		uint32_t node = root;

		for (int j = suite_random(&seed) % 40; j > 0; j--) {
			uint32_t key = suite_random(&seed) % KEYS;
			uint32_t step = suite_random(&seed) % NCHILDREN;
			uint32_t got = child(tree, node, KEY + key, step);
			uint32_t *known = &edges[node][key][step];

			if (*known)
				assert_int_equal(got + 1, *known);
			*known = got + 1;
			node = got;
		}
	}
	assert_null(gr_tree_finish(tree));
	assert_true(tree->nodes.size <= MAX);
	assert_sound(tree);
	free(edges);
	tree_destroy(tree);
}

GR_SUITE("tree")
