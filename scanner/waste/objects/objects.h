/* SPDX-License-Identifier: Apache-2.0 */
/** objects: the objects that were reached, one by one. */
#ifndef GR_WASTE_OBJECTS_H
#define GR_WASTE_OBJECTS_H

#include "waste/objects/check.h"

typedef struct gr_error *gr_waste_visit(struct gr_waste_run *run,
					const struct gr_waste_object *object,
					void *ctx);

/** Call @p visit for each object that one of @p checks applies to (bits of
 * gr_waste_check), in the order of addresses. All kinds are known. */
struct gr_error *gr_waste_each(struct gr_waste_run *run, uint32_t checks,
			       gr_waste_visit *visit, void *ctx) GR_MUST_CHECK;

/** Fill gr_waste_run.span_of: note the first span with objects of each part of
 * the numbers. */
struct gr_error *gr_waste_find_spans(struct gr_waste_run *run) GR_MUST_CHECK;

#endif /* GR_WASTE_OBJECTS_H */
