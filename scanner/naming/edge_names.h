/* SPDX-License-Identifier: Apache-2.0 */
/** edge_names: the names of many edges of the graph at once. */
#ifndef GR_EDGE_NAMES_H
#define GR_EDGE_NAMES_H

#include "naming/link.h"

/** An edge, and the name of its first link. */
struct gr_edge_name {
	gr_vertex from, to; /**< An object or a root; an object. */
	const char *name;   /**< NULL at first; "" if the word is not known. */
};
GR_VECTOR(gr_edge_names, struct gr_edge_name);

/**
 * Sort edges, and name them. Each object or root is read once, however many
 * edges lead from it. The nearest paths have been made.
 */
struct gr_error *gr_edge_names_find(struct gr_answers *answers,
				    struct gr_edge_names *links) GR_MUST_CHECK;

/** The name of an edge that was named, else "". */
const char *gr_edge_names_get(const struct gr_edge_names *links, gr_vertex from,
			      gr_vertex to);

#endif /* GR_EDGE_NAMES_H */
