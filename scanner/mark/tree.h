/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tree: the reference tree: nodes, and the tables that find a node's child.
 *
 * A node's children are found by (key, step): key says which program (or
 * which container) names them, step which of its names. Depth and number of
 * nodes are limited: past a limit the child is the node itself, so counts fold
 * into it.
 */
#ifndef GR_TREE_H
#define GR_TREE_H

#include "base/arena.h"
#include "base/vector.h"
#include "scanner.h"

/** What only the walk needs of a node. */
struct gr_node_inner {
	uint32_t first_table; /**< Index in `tables`, 0: none. */
	uint32_t depth;
};

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
	uint32_t max_depth, max_nodes;
	bool is_out_of_memory; /**< Sticky; the walk looks at it. */
};

struct gr_error *gr_tree_init(struct gr_tree *tree, uint32_t max_depth,
			      uint32_t max_nodes) GR_MUST_CHECK;
void gr_tree_deinit(struct gr_tree *tree);

/**
 * The root node of that name, kind, goroutine state and id, made if new. @p name
 * and @p state must be interned: they are compared as pointers.
 */
uint32_t gr_tree_root(struct gr_tree *tree, const struct gr_root_total *root);

/** The child table of @p node for @p key with @p nchildren entries. */
uint32_t gr_tree_table(struct gr_tree *tree, uint32_t node, uint32_t key,
		       uint32_t nchildren);

/** That table if it is the first of the node, as most are; else 0. */
static inline uint32_t gr_tree_find_table(const struct gr_tree *tree,
					  uint32_t node, uint32_t key)
{
	uint32_t table = tree->inner.data[node].first_table;

	return tree->tables.data[table] == key ? table : 0;
}

/** Make child @p i of a table below @p node; gr_tree_child() is the way in. */
uint32_t gr_tree_child_create(struct gr_tree *tree, uint32_t node,
			      uint32_t table, uint32_t i, const char *name);

/** Child @p i of @p node in @p table, made with @p name if new. */
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
