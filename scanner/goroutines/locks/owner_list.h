/* SPDX-License-Identifier: Apache-2.0 */
/** owner_list: the owners of what goroutines wait for, in order. */
#ifndef GR_OWNER_LIST_H
#define GR_OWNER_LIST_H

#include "goroutines/wait_table.h"

struct gr_runtime;

/** Enter an owner in its place; a goroutine is entered once. The goroutines come
 * one after the other. If memory is short, a list of all owners lacks it. */
void gr_owner_add(struct gr_wait_table *table, struct gr_primitive *p,
		  const struct gr_owner *owner);

/** When all are there: only one goroutine has a lock that is not shared. If that
 * is proven of one, the others are not likely. Sorts all that are kept. */
struct gr_error *gr_owners_settle(struct gr_runtime *rt,
				  struct gr_wait_table *table) GR_MUST_CHECK;

/** The likeliest owner after @p i others, of those that are kept; NULL: there
 * is none. */
const struct gr_owner *gr_owner_of(const struct gr_wait_table *table,
				   const struct gr_primitive *p, size_t i);

/** Can several goroutines have it at a time? */
bool gr_primitive_is_shared(const struct gr_primitive *p);

#endif /* GR_OWNER_LIST_H */
