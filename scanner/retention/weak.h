/* SPDX-License-Identifier: Apache-2.0 */
/** weak: the edges of the graph that do not keep an object for long. */
#ifndef GR_WEAK_H
#define GR_WEAK_H

#include "goruntime/types/types.h"
#include "graph/paths.h"

struct gr_answers;

/** The context of the filter; belongs to the caller. */
struct gr_weak {
	struct gr_answers *answers;
	gr_type_id pool_local; /**< sync.poolLocal, or GR_TYPE_NONE. */
};

/**
 * A filter that leaves out the edges of finalizers, cleanups and handles of
 * weak pointers, of the tables of package unique, and the edges to what
 * sync.Pools cache. @p weak outlives the filter. The graph has been made.
 */
struct gr_edge_filter gr_weak_filter(struct gr_answers *answers,
				     struct gr_weak *weak);

#endif /* GR_WEAK_H */
