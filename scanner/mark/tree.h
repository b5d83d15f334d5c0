/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tree: the reference tree: nodes, and the tables that find a node's child.
 *
 * A node's children are found by (key, step): the key is the plan or the
 * container that names them, the step is one of its names. The depth and the
 * number of nodes are limited. Past a limit, all new children of a node, and
 * everything below them, share one more node without names, the fold. In the
 * end, folds are counted on their nodes, so nothing is ever counted on the
 * child of another node.
 */
#ifndef GR_TREE_H
#define GR_TREE_H

#include "base/arena.h"
#include "base/vector.h"
#include "mark/node.h"

/** The part of a node that only the walk needs. */
struct gr_node_inner {
	uint32_t first_table; /**< Index in `tables`, 0: none. */
	uint32_t depth;	      /**< GR_DEPTH_FOLD for a fold. */
};

#define GR_DEPTH_FOLD UINT32_MAX

/** The key of a table whose only child is the node's fold. */
#define GR_KEY_FOLD (UINT32_MAX - 1)

GR_VECTOR(gr_node_vector, struct gr_node);
GR_VECTOR(gr_node_inner_vector, struct gr_node_inner);
GR_VECTOR(gr_u32_vector, uint32_t);
GR_VECTOR(gr_root_vector, struct gr_root_total);

struct gr_root_entry;

struct gr_tree {
	struct gr_node_vector nodes;
	struct gr_node_inner_vector inner;
	/** Child tables: key, next table, children's numbers + 1. */
	struct gr_u32_vector tables;
	struct gr_root_vector roots;
	struct gr_root_entry *root_index;
	uint32_t max_depth, max_nodes; /**< Limits of nodes except folds. */
	uint32_t nfolds;
	struct gr_total folded; /**< Total of the folds, once finished. */
	bool is_out_of_memory;	/**< Sticky; the walk checks it. */
};

struct gr_error *gr_tree_init(struct gr_tree *tree, uint32_t max_depth,
			      uint32_t max_nodes) GR_MUST_CHECK;
void gr_tree_deinit(struct gr_tree *tree);

/**
 * Count the objects of folds on their nodes, and remove the folds. The numbers
 * of nodes change. Only nodes, roots and totals of the tree remain.
 */
struct gr_error *gr_tree_finish(struct gr_tree *tree) GR_MUST_CHECK;

/**
 * The root node of that name, kind, goroutine state and id; it is made if it is
 * new. The name and the state must be interned: they are compared as pointers.
 */
uint32_t gr_tree_root(struct gr_tree *tree, const struct gr_root_total *root);

/** Make a node without a name and without a root, at which names can begin. */
uint32_t gr_tree_anchor(struct gr_tree *tree);

/**
 * The child table of @p node for @p key with @p nchildren entries.
 *
 * @return 0 if the node can have no children, because it is a fold or because
 * there is no memory.
 */
uint32_t gr_tree_table(struct gr_tree *tree, uint32_t node, uint32_t key,
		       uint32_t nchildren);

/** The same table if it is the node's first one, as most are; else 0. */
static inline uint32_t gr_tree_find_table(const struct gr_tree *tree,
					  uint32_t node, uint32_t key)
{
	uint32_t table = tree->inner.data[node].first_table;

	return tree->tables.data[table] == key ? table : 0;
}

static inline bool gr_tree_is_fold(const struct gr_tree *tree, uint32_t node)
{
	return tree->inner.data[node].depth == GR_DEPTH_FOLD;
}

/** Make child @p i of a table below @p node. Callers use gr_tree_child(). */
uint32_t gr_tree_child_create(struct gr_tree *tree, uint32_t node,
			      uint32_t table, uint32_t i, const char *name);

/** Child @p i of @p node in @p table; it is made with @p name if it is new. */
static inline uint32_t gr_tree_child(struct gr_tree *tree, uint32_t node,
				     uint32_t table, uint32_t i,
				     const char *name)
{
	if (GR_UNLIKELY(!table))
		return node;
	uint32_t child = tree->tables.data[table + 2 + i];
	return GR_LIKELY(child) ?
		       child - 1 :
		       gr_tree_child_create(tree, node, table, i, name);
}

static inline void gr_tree_bill(struct gr_tree *tree, uint32_t node,
				uint64_t bytes)
{
	tree->nodes.data[node].objects++;
	tree->nodes.data[node].bytes += bytes;
}

#endif /* GR_TREE_H */
