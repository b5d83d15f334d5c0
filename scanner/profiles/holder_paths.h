/* SPDX-License-Identifier: Apache-2.0 */
/**
 * holder_paths: the paths of names from the roots to chosen objects, as a scan
 * bills them (mark/parents.h). Equal paths are one node.
 */
#ifndef GR_HOLDER_PATHS_H
#define GR_HOLDER_PATHS_H

#include "graph/keys.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"

/** Invariant: a node's parent has a smaller number. */
struct gr_holder_paths {
	struct gr_answers *answers;
	uint32_t max_depth, max_nodes;
	struct gr_node_vector nodes; /**< Without objects and bytes. */
	struct gr_root_vector roots; /**< Without totals. */
	struct gr_u32_vector depths; /**< By node; 1: a root. */
	struct gr_keys children;     /**< (name, node) -> node */
	struct gr_keys tops;	     /**< (root of the chains, 0) -> node */
	uint32_t *node_of;	     /**< By slot: node + 1; 0: not known. */
	/* The objects above one object, and nodes of the chains' tree. */
	struct gr_u32_vector above, names;
};

/**
 * Prepare paths of at most @p max_depth names in at most @p max_nodes nodes; an
 * object behind the last one has the node above. Makes the chains.
 *
 * @p ret needs gr_holder_paths_deinit() even if this fails.
 */
struct gr_error *gr_holder_paths_init(struct gr_holder_paths *ret,
				      struct gr_answers *answers,
				      uint32_t max_depth,
				      uint32_t max_nodes) GR_MUST_CHECK;
void gr_holder_paths_deinit(struct gr_holder_paths *paths);

/** Is the object in a slot reached? */
static inline bool gr_holder_paths_has(const struct gr_holder_paths *paths,
				       gr_obj obj)
{
	return gr_parents_has(paths->answers->kept_walk->m.parents, obj);
}

/**
 * The node of a reached object. All calls together take a step for each object
 * on their paths, and for each name.
 */
struct gr_error *gr_holder_paths_find(struct gr_holder_paths *paths, gr_obj obj,
				      uint32_t *ret) GR_MUST_CHECK;

/** Add a child to a node for what is not of a path: a call of a stack. There is
 * no limit, and no search for such a child. */
struct gr_error *gr_holder_paths_add(struct gr_holder_paths *paths,
				     uint32_t node, const char *name,
				     uint32_t *ret) GR_MUST_CHECK;

#endif /* GR_HOLDER_PATHS_H */
