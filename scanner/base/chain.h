/* SPDX-License-Identifier: Apache-2.0 */
/**
 * chain: follows a list of the target, which may be torn or malicious. The walk
 * ends after a maximum number of records or when a cycle is found (Brent, "An
 * improved Monte Carlo factorization algorithm", 1980).
 */
#ifndef GR_CHAIN_H
#define GR_CHAIN_H

#include "base/base.h"

/** Initialise with `{ .limit = ... }`, the maximum number of records. */
struct gr_chain {
	uint64_t limit;
	uint64_t seen; /**< Records so far. */
	uint64_t mark, next_mark;
};

/**
 * Go to the record at @p addr. A cycle of n records after m others is found in
 * at most 3 (n + m) steps.
 *
 * @return false if the walk must stop here: the list is cyclic or too long.
 */
static inline bool gr_chain_step(struct gr_chain *c, uint64_t addr)
{
	if (c->seen >= c->limit || (c->seen && addr == c->mark))
		return false;
	if (c->seen++ == c->next_mark) {
		c->mark = addr;
		c->next_mark = 2 * c->next_mark + 1;
	}
	return true;
}

#endif /* GR_CHAIN_H */
