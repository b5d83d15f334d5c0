/* SPDX-License-Identifier: Apache-2.0 */
/**
 * type_holds: which types hold pointers, and what it may cost to find out. Used
 * by the compiler of plans alone.
 */
#ifndef GR_TYPE_HOLDS_H
#define GR_TYPE_HOLDS_H

#include "mark/type_plan.h"

/** The visits of types and fields that all plans together may
 * still make: a number for each type and field, plus a constant. */
uint64_t gr_type_plans_visits_left(const struct gr_type_plans *plans);

/** Account for visits; false: poll has refused, then or before. */
bool gr_type_plans_step(struct gr_type_plans *plans, uint64_t nvisits);

/** Make room for that many types; false: no memory. */
bool gr_type_holds_grow(struct gr_type_plans *plans, size_t count);

/**
 * May a value of the type hold pointers? It may if there are no
 * visits left. Each type is looked into once.
 */
bool gr_type_may_hold(struct gr_type_plans *plans, gr_type_id id,
		      unsigned int depth);

#endif /* GR_TYPE_HOLDS_H */
