/* SPDX-License-Identifier: Apache-2.0 */
/** common_holder: what all paths to a vertex have in common. */
#ifndef GR_COMMON_HOLDER_H
#define GR_COMMON_HOLDER_H

#include "graph/paths.h"
#include "retention/holders.h"

struct gr_answers;
struct gr_sched;

/**
 * Find the holder of object @p v, which is reached. The graph has dominators
 * and reverse edges.
 *
 * @param roots The roots that reach it, for several: the first of them are
 *	enough.
 */
struct gr_error *gr_holder_find(struct gr_answers *answers, gr_vertex v,
				const struct gr_root_paths *roots,
				struct gr_holder *ret) GR_MUST_CHECK;

/** Does one vertex hold @p v alone? */
bool gr_holder_is_one(const struct gr_answers *answers, gr_vertex v);

/** The goroutine of an id; all zero and "" if there is none. */
struct gr_goroutine_brief gr_goroutine_brief(struct gr_sched *sched,
					     uint64_t id);

#endif /* GR_COMMON_HOLDER_H */
