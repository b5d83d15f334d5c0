/* SPDX-License-Identifier: Apache-2.0 */
/** stacks: numbers for stacks; equal ones have one number. */
#ifndef GR_TRACE_STACKS_H
#define GR_TRACE_STACKS_H

#include "base/base.h"
#include "helpers/trace/unwinder.h"

struct gr_stacks;

/** The usual limit of gr_stacks_new(). */
#define GR_MAX_STACKS 65536u

/** A table of at most @p max_stacks (1 or more); NULL if no memory is left. */
struct gr_stacks *gr_stacks_new(uint32_t max_stacks);
void gr_stacks_destroy(struct gr_stacks *stacks);

/**
 * Find or add a stack. Its id is 1 or more, in the order of their coming. Stacks
 * of two generations are never equal.
 *
 * @return false if the table is full, or no memory is left: then *@p id is 0.
 */
bool gr_stacks_intern(struct gr_stacks *stacks, const struct gr_walked *walked,
		      uint32_t *id, bool *is_new);

#endif /* GR_TRACE_STACKS_H */
