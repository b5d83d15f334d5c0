/* SPDX-License-Identifier: Apache-2.0 */
/** asked_types: the types that a question is about, by the names of the rows of
 * a histogram. */
#ifndef GR_ASKED_TYPES_H
#define GR_ASKED_TYPES_H

#include "graph/keys.h"
#include "heapgraph/heapgraph.h"

struct gr_answers;

/** Zero-initialised, nothing is asked for. */
struct gr_asked_types {
	struct gr_answers *answers;
	uint32_t count;
	struct gr_keys by_name;	 /**< By the address of an interned name. */
	struct gr_keys by_label; /**< The labels that were looked at so far. */
};

/** Ask for @p count types. If two have one name, the first one counts. */
struct gr_error *gr_asked_types_init(struct gr_asked_types *types,
				     struct gr_answers *answers,
				     const char *const *names,
				     uint32_t count) GR_MUST_CHECK;
void gr_asked_types_deinit(struct gr_asked_types *types);

/** The index of the type of the object @p v; UINT32_MAX: nobody asked for it. */
struct gr_error *gr_asked_type_of(struct gr_asked_types *types, gr_vertex v,
				  uint32_t *ret) GR_MUST_CHECK;

#endif /* GR_ASKED_TYPES_H */
