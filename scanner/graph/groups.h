/* SPDX-License-Identifier: Apache-2.0 */
/** groups: vertices that are counted by key. */
#ifndef GR_GRAPH_GROUPS_H
#define GR_GRAPH_GROUPS_H

#include "base/vector.h"
#include "graph/children.h"
#include "graph/keys.h"

GR_VECTOR(gr_group_vector, struct gr_child_group);

/** Groups in the making. Zero-initialised is empty. */
struct gr_groups {
	struct gr_group_vector groups;
	struct gr_keys keys; /**< Indices of groups by key. */
};

void gr_groups_deinit(struct gr_groups *groups);

/**
 * Count @p v in the group of @p key.
 *
 * @param retained What it counts for.
 * @return The number of the group, in the order in which they were made;
 *	UINT32_MAX if no memory is left.
 */
uint32_t gr_groups_enter(struct gr_groups *groups, const struct gr_graph *graph,
			 uint64_t key, gr_vertex v,
			 struct gr_sizes retained) GR_MUST_CHECK;

/** gr_groups_enter() for callers that need no number. @return false if no
 * memory is left. */
static inline bool GR_MUST_CHECK gr_groups_add(struct gr_groups *groups,
					       const struct gr_graph *graph,
					       uint64_t key, gr_vertex v,
					       struct gr_sizes retained)
{
	return gr_groups_enter(groups, graph, key, v, retained) != UINT32_MAX;
}

/** Sort the groups and take them out: most retained bytes first. There are no
 * members; `first` is the number of the group as gr_groups_enter() has it. */
void gr_groups_finish(struct gr_groups *groups, struct gr_child_groups *ret);

#endif /* GR_GRAPH_GROUPS_H */
