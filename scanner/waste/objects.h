/* SPDX-License-Identifier: Apache-2.0 */
/** objects: the objects that were reached, one by one. */
#ifndef GR_WASTE_OBJECTS_H
#define GR_WASTE_OBJECTS_H

#include "waste/check.h"

typedef struct gr_error *gr_waste_visit(struct gr_waste_run *run,
					const struct gr_waste_object *object,
					void *ctx);

/** Call @p visit for each object of a kind that some check applies to, in the
 * order of addresses. All kinds are known. */
struct gr_error *gr_waste_each(struct gr_waste_run *run, gr_waste_visit *visit,
			       void *ctx) GR_MUST_CHECK;

/** Find out the kinds of all objects that are reached. */
struct gr_error *gr_waste_find_kinds(struct gr_waste_run *run) GR_MUST_CHECK;

#endif /* GR_WASTE_OBJECTS_H */
