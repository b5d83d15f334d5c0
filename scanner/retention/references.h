/* SPDX-License-Identifier: Apache-2.0 */
/** references: the references from and to one object, for people. */
#ifndef GR_REFERENCES_H
#define GR_REFERENCES_H

#include "naming/link.h"
#include "retention/object.h"

struct gr_answers;

/**
 * Read the references of object @p v, which is reached. The graph has its
 * reverse edges.
 *
 * @param max References to list.
 * @param group If there are more: read all, and put them into groups.
 */
struct gr_error *gr_references_read(struct gr_answers *answers, gr_vertex v,
				    size_t max, bool group,
				    struct gr_references *ret) GR_MUST_CHECK;

/** The same for the references to object @p v. */
struct gr_error *gr_referrers_read(struct gr_answers *answers, gr_vertex v,
				   size_t max, bool group,
				   struct gr_references *ret) GR_MUST_CHECK;

void gr_references_deinit(struct gr_references *references);

/**
 * The whole name of a link: of a root, its variable comes first. The name
 * belongs to the scan.
 *
 * @param holder As for gr_link_name().
 */
struct gr_error *gr_reference_name(struct gr_answers *answers,
				   const struct gr_link *link,
				   const struct gr_vertex_info *from,
				   gr_vertex holder,
				   const char **ret) GR_MUST_CHECK;

#endif /* GR_REFERENCES_H */
