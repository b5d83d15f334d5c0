/* SPDX-License-Identifier: Apache-2.0 */
/** type_filter: objects whose type has a name, in any form that is printed. */
#ifndef GR_TYPE_FILTER_H
#define GR_TYPE_FILTER_H

#include "graph/graph.h"
#include "graph/keys.h"

struct gr_answers;
struct gr_program;

/**
 * A name of a type: as answers print it (`main.T`, `[]main.T`, `string`, `C
 * block`), or of an array with so many values (`[48]main.T`).
 */
struct gr_type_filter {
	const char *name;
	/** Arrays that are known by a pointer to an element are objects of the
	 * element's type, too, as in the types of a walk. */
	bool takes_arrays;
	struct gr_keys known; /**< By bytes and label: index 0 or 1. */
};

/** Is object @p v one of these? Each pair of a label and a size is compared
 * once. The graph has been made. */
struct gr_error *gr_type_filter_check(struct gr_answers *answers,
				      struct gr_type_filter *filter,
				      gr_vertex v, bool *ret) GR_MUST_CHECK;
/** GR_ERROR_NOT_FOUND if no object has a type of that name because there is no
 * such type. It names the near ones. */
struct gr_error *gr_type_filter_no_object(struct gr_program *program,
					  const char *name) GR_MUST_CHECK;
void gr_type_filter_deinit(struct gr_type_filter *filter);

#endif /* GR_TYPE_FILTER_H */
