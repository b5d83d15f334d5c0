/* SPDX-License-Identifier: Apache-2.0 */
/** dominator_tree: the rows of gr_scan_dominators(). */
#ifndef GR_DOMINATOR_TREE_H
#define GR_DOMINATOR_TREE_H

#include "graph/graph.h"
#include "retention/dominators.h"

struct gr_answers;

/** Describe one vertex as a row. */
struct gr_error *gr_dominator_describe(struct gr_answers *answers,
				       gr_vertex vertex,
				       struct gr_dominator *ret) GR_MUST_CHECK;

/**
 * Make the rows below @p vertices, none of which dominates another one.
 * GR_PART_CHILDREN has been made.
 *
 * @param[in,out] ret nothing but rows and nrows change.
 */
struct gr_error *gr_dominator_tree(struct gr_answers *answers,
				   const struct gr_dominators_options *options,
				   const gr_vertex *vertices,
				   uint32_t nvertices,
				   struct gr_dominators *ret) GR_MUST_CHECK;

#endif /* GR_DOMINATOR_TREE_H */
