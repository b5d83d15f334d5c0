/* SPDX-License-Identifier: Apache-2.0 */
/** graph: the object graph of a stop, made when a question first needs it. */
#ifndef GR_SCAN_GRAPH_H
#define GR_SCAN_GRAPH_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/gaps.h"
#include "mark/weight.h"

struct gr_answers;
struct gr_scan;

/**
 * The time that making the graph of a stop took: building pointer masks,
 * sweeping edges, nearest parents, reverse edges, dominators. The walk before
 * is not in it.
 */
#define GR_GRAPH_PHASES(X) X(masks) X(edges) X(nearest) X(reverse) X(dominators)

struct gr_graph_phases {
#define X(phase) uint64_t phase##_us;
	GR_GRAPH_PHASES(X)
#undef X
};

/** The times of the graph that there is; zeros if there is none. */
const struct gr_graph_phases *gr_scan_graph_phases(const struct gr_scan *scan);

/** The gaps of the target, and of the walk of the graph if there is one. */
const struct gr_gaps *gr_scan_gaps(const struct gr_scan *scan);

/**
 * Make the parts (bits of gr_graph_part) of the object graph that are not there
 * yet. The graph stays until the scan is destroyed or until memory is short.
 */
struct gr_error *gr_answers_need_graph(struct gr_answers *answers,
				       unsigned int parts) GR_MUST_CHECK;
/** Set what sizes count, in the graph that there is and in the next one. */
struct gr_error *gr_answers_weigh(struct gr_answers *answers,
				  enum gr_weight weight) GR_MUST_CHECK;
void gr_answers_drop_graph(struct gr_answers *answers);
/** Drop the graph if a walk has no memory otherwise. */
void gr_answers_make_room(struct gr_answers *answers);

#endif /* GR_SCAN_GRAPH_H */
