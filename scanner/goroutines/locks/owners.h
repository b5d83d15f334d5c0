/* SPDX-License-Identifier: Apache-2.0 */
/** owners: who may own the things that goroutines wait for. */
#ifndef GR_OWNERS_H
#define GR_OWNERS_H

#include "goroutines/wait_table.h"

struct gr_stop;

struct gr_reach_sets;

/**
 * Find who may own each of the table's primitives. Linear in the words of all
 * stacks, but for a search among the primitives.
 *
 * @param reach NULL: only stacks tell.
 */
struct gr_error *
gr_owners_find(struct gr_stop *stop, struct gr_wait_table *table,
	       const struct gr_reach_sets *reach) GR_MUST_CHECK;

#endif /* GR_OWNERS_H */
