/* SPDX-License-Identifier: Apache-2.0 */
/**
 * node: nodes and roots of the reference tree, as results have them. Plain
 * types.
 */
#ifndef GR_NODE_H
#define GR_NODE_H

#include "base/base.h"
#include "goruntime/roots/root_kinds.h"

#define GR_UNLIMITED UINT32_MAX

/** Objects and the bytes of their slots. */
struct gr_total {
	uint64_t objects;
	uint64_t bytes;
};

#define GR_NODE_NONE UINT32_MAX

/**
 * A node of the reference tree, with the objects that were counted on its path.
 * A parent's number is smaller than the numbers of its children.
 */
struct gr_node {
	const char *name;
	uint32_t parent;  /**< GR_NODE_NONE: a root. */
	uint32_t root;	  /**< Index into the roots. */
	uint64_t objects; /**< Counted here, without children. */
	uint64_t bytes;
};

/** The source line of a node that is a call; file is NULL if it is none. */
struct gr_node_line {
	const char *file;
	uint32_t line;
};

/** A root with all that is billed to it. */
struct gr_root_total {
	const char *name;
	enum gr_root_kind kind;
	const char *type; /**< The variable's, or NULL. */
	/** State of the goroutine of a stack root ("waiting"), else NULL. */
	const char *goroutine_state;
	/** For stack roots with gr_walk_options.per_goroutine; else 0. */
	uint64_t goroutine_id;
	const char *file; /**< Source file of the variable, or NULL. */
	uint32_t line;
	uint32_t node; /**< The root's node. */
	struct gr_total total;
};

#endif /* GR_NODE_H */
