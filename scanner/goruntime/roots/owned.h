/* SPDX-License-Identifier: Apache-2.0 */
/**
 * owned: runtime lists whose records belong to one list each: specials of
 * spans, timers of Ps. In a damaged target, lists may lead into themselves or
 * into each other. Without a check, each of many lists that lead into one long
 * list would take as many steps as the long list has.
 */
#ifndef GR_OWNED_H
#define GR_OWNED_H

#include "base/number_set.h"
#include "goruntime/layout/runtime.h"

/** All lists of one kind. A zero-initialised struct is ready for use. */
struct gr_owned {
	struct gr_number_set marks; /**< Every 64th record of a list. */
};

void gr_owned_deinit(struct gr_owned *all);

/** One list being followed. The caller sets `all` and zeroes the rest. */
struct gr_owned_list {
	struct gr_owned *all;
	uint64_t len;		  /**< Records visited. */
	uint64_t mark, next_mark; /**< Brent's loop detection. */
};

/**
 * Visit the record at @p addr. This counts as a step, so it may poll. *@p ret
 * is false if the record already belongs to this list or another one, which
 * means that this list is broken. The number of visits in all lists together
 * is at most the number of records plus 64 for each list that leads into
 * another one.
 */
struct gr_error *gr_owned_visit(struct gr_runtime *rt,
				struct gr_owned_list *list, uint64_t addr,
				bool *ret) GR_MUST_CHECK;

#endif /* GR_OWNED_H */
