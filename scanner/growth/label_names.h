/* SPDX-License-Identifier: Apache-2.0 */
/** label_names: the names of types by label (mark/parents.h), each made once. */
#ifndef GR_LABEL_NAMES_H
#define GR_LABEL_NAMES_H

#include "base/error.h"
#include "base/vector.h"
#include "graph/keys.h"

struct gr_program;

GR_VECTOR(gr_label_name_vector, const char *);

/** Zero-initialised, there are none. */
struct gr_label_names {
	struct gr_keys by_label;
	struct gr_label_name_vector names;
};

void gr_label_names_deinit(struct gr_label_names *names);

/** The name of a type; it belongs to the scan. NULL: it is not known. */
struct gr_error *gr_label_name(struct gr_label_names *names,
			       struct gr_program *program, uint32_t label,
			       const char **ret) GR_MUST_CHECK;

#endif /* GR_LABEL_NAMES_H */
