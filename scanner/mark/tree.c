// SPDX-License-Identifier: Apache-2.0
#include "mark/tree.h"

#include "base/cleanup.h"
#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

/* The identity of a root: pointers to interned strings, kind and goroutine. */
struct root_key {
	const char *name, *state;
	uint64_t kind, goroutine_id;
};

struct gr_root_entry {
	UT_hash_handle hh;
	struct root_key key;
	uint32_t node;
};

struct gr_error *gr_tree_init(struct gr_tree *tree, uint32_t max_depth,
			      uint32_t max_nodes)
{
	memset(tree, 0, sizeof(*tree));
	tree->max_depth = max_depth ? max_depth : 1;
	tree->max_nodes = max_nodes ? max_nodes : 1;
	// Table 0 means "none"; no key equals this one.
	if (!gr_u32_vector_append(&tree->tables, UINT32_MAX))
		return &gr_enomem;
	return NULL;
}

void gr_tree_deinit(struct gr_tree *tree)
{
	struct gr_root_entry *entry, *next;

	HASH_ITER(hh, tree->root_index, entry, next) {
		HASH_DEL(tree->root_index, entry);
		free(entry);
	}
	gr_node_vector_deinit(&tree->nodes);
	gr_node_inner_vector_deinit(&tree->inner);
	gr_u32_vector_deinit(&tree->tables);
	gr_root_vector_deinit(&tree->roots);
}

/* Append a node and return its number. Without memory, return 0, which is an
 * existing node. */
static uint32_t add_node(struct gr_tree *tree, const char *name,
			 uint32_t parent, uint32_t root, uint32_t depth)
{
	struct gr_node node = { .name = name, .parent = parent, .root = root };
	struct gr_node_inner inner = { .depth = depth };

	GR_ASSERT(parent == GR_NODE_NONE ||
		  (parent < tree->nodes.size &&
		   tree->nodes.data[parent].root == root));
	if (!name || !gr_node_vector_append(&tree->nodes, node)) {
		tree->is_out_of_memory = true;
		return 0;
	}
	if (!gr_node_inner_vector_append(&tree->inner, inner)) {
		tree->nodes.size--;
		tree->is_out_of_memory = true;
		return 0;
	}
	return tree->nodes.size - 1;
}

uint32_t gr_tree_root(struct gr_tree *tree, const struct gr_root_total *root)
{
	struct gr_root_entry *entry;
	struct root_key key = { root->name, root->goroutine_state, root->kind,
				root->goroutine_id };

	HASH_FIND(hh, tree->root_index, &key, sizeof(key), entry);
	if (entry)
		return entry->node;
	entry = calloc(1, sizeof(*entry));
	if (!entry || !gr_root_vector_append(&tree->roots, *root)) {
		free(entry);
		tree->is_out_of_memory = true;
		return 0;
	}
	entry->key = key;
	entry->node = add_node(tree, root->name, GR_NODE_NONE,
			       tree->roots.size - 1, 1);
	tree->roots.data[tree->roots.size - 1].node = entry->node;
	uint32_t node = entry->node;
	HASH_ADD(hh, tree->root_index, key, sizeof(key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		tree->is_out_of_memory = true;
	}
	return node;
}

uint32_t gr_tree_anchor(struct gr_tree *tree)
{
	return add_node(tree, "", GR_NODE_NONE, UINT32_MAX, 1);
}

uint32_t gr_tree_table(struct gr_tree *tree, uint32_t node, uint32_t key,
		       uint32_t nchildren)
{
	uint32_t table = tree->inner.data[node].first_table;

	for (; table; table = tree->tables.data[table + 1])
		if (tree->tables.data[table] == key)
			return table;
	if (GR_UNLIKELY(gr_tree_is_fold(tree, node)))
		return 0;
	size_t need = tree->tables.size + 2 + nchildren;
	if (need > UINT32_MAX || !gr_u32_vector_reserve(&tree->tables, need)) {
		tree->is_out_of_memory = true;
		return 0;
	}
	table = tree->tables.size;
	tree->tables.data[table] = key;
	tree->tables.data[table + 1] = tree->inner.data[node].first_table;
	memset(&tree->tables.data[table + 2], 0, nchildren * sizeof(uint32_t));
	tree->tables.size = need;
	tree->inner.data[node].first_table = table;
	return table;
}

/*
 * The fold of a node; it is made if it is new. Its table comes after the node's
 * first table, because the first one is found fastest.
 */
static __attribute__((noinline)) uint32_t fold_of(struct gr_tree *tree,
						  uint32_t node)
{
	uint32_t first = tree->inner.data[node].first_table;
	uint32_t *next = first ? &tree->tables.data[first + 1] : NULL;

	if (next && *next && tree->tables.data[*next] == GR_KEY_FOLD)
		return tree->tables.data[*next + 2] - 1;
	uint32_t table = gr_tree_table(tree, node, GR_KEY_FOLD, 1);
	if (!table)
		return node;
	if (!tree->tables.data[table + 2]) {
		uint32_t fold = add_node(tree, tree->nodes.data[node].name,
					 node, tree->nodes.data[node].root,
					 GR_DEPTH_FOLD);
		if (tree->is_out_of_memory)
			return node;
		tree->tables.data[table + 2] = fold + 1;
		tree->nfolds++;
	}
	if (first && tree->inner.data[node].first_table == table) {
		uint32_t *tables = tree->tables.data;
		tables[table + 1] = tables[first + 1];
		tables[first + 1] = table;
		tree->inner.data[node].first_table = first;
	}
	return tree->tables.data[table + 2] - 1;
}

uint32_t gr_tree_child_create(struct gr_tree *tree, uint32_t node,
			      uint32_t table, uint32_t i, const char *name)
{
	uint32_t child;

	if (!table || tree->is_out_of_memory)
		return node;
	if (GR_LIKELY(tree->inner.data[node].depth < tree->max_depth &&
		      tree->nodes.size - tree->nfolds < tree->max_nodes))
		child = add_node(tree, name, node, tree->nodes.data[node].root,
				 tree->inner.data[node].depth + 1);
	else
		child = fold_of(tree, node);
	if (tree->is_out_of_memory)
		return node;
	tree->tables.data[table + 2 + i] = child + 1;
	return child;
}

/* Count folds on their nodes; @p number becomes the new number of each node. */
static void take_folds_out(struct gr_tree *tree, uint32_t *number)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < tree->nodes.size; i++) {
		struct gr_node node = tree->nodes.data[i];

		if (node.parent != GR_NODE_NONE)
			node.parent = number[node.parent];
		if (gr_tree_is_fold(tree, i)) {
			struct gr_node *above = &tree->nodes.data[node.parent];
			above->objects += node.objects;
			above->bytes += node.bytes;
			tree->folded.objects += node.objects;
			tree->folded.bytes += node.bytes;
			continue;
		}
		number[i] = kept;
		tree->nodes.data[kept++] = node;
	}
	GR_ASSERT(kept + tree->nfolds == tree->nodes.size);
	tree->nodes.size = kept;
	for (size_t i = 0; i < tree->roots.size; i++)
		tree->roots.data[i].node = number[tree->roots.data[i].node];
}

struct gr_error *gr_tree_finish(struct gr_tree *tree)
{
	if (tree->nfolds) {
		_cleanup_free_ uint32_t *number =
			malloc(tree->nodes.size * sizeof(*number));
		if (!number)
			return &gr_enomem;
		take_folds_out(tree, number);
	}
	tree->nfolds = 0;
	gr_node_inner_vector_deinit(&tree->inner);
	gr_u32_vector_deinit(&tree->tables);
	return NULL;
}
