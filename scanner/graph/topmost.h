/* SPDX-License-Identifier: Apache-2.0 */
/** topmost: retained bytes of kinds of objects, in one pass. */
#ifndef GR_GRAPH_TOPMOST_H
#define GR_GRAPH_TOPMOST_H

#include "graph/graph.h"

/**
 * Sum up, for each kind, what those objects retain that no other object of the
 * same kind dominates: a lower bound of what all of them keep alive together
 * (sets.h has the exact figure). Needs GR_PART_CHILDREN.
 *
 * @param kinds Of each object: a number below @p nkinds.
 * @param[out] retained By kind, zeroed before.
 */
struct gr_error *gr_graph_topmost(const struct gr_graph *graph,
				  const uint32_t *kinds, uint32_t nkinds,
				  const struct gr_poll *poll,
				  struct gr_sizes *retained) GR_MUST_CHECK;

#endif /* GR_GRAPH_TOPMOST_H */
