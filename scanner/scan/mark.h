/* SPDX-License-Identifier: Apache-2.0 */
/** mark: a walk of the stop's heap, which counts for its time and memory. */
#ifndef GR_SCAN_MARK_H
#define GR_SCAN_MARK_H

#include "mark/walk.h"

struct gr_answers;

/**
 * Walk with @p options. @p ret needs gr_marking_deinit() even if this fails.
 */
struct gr_error *gr_answers_mark(struct gr_answers *answers,
				 const struct gr_walk_options *options,
				 bool keep_parents, struct gr_ledger *ledger,
				 struct gr_marking *ret) GR_MUST_CHECK;

/**
 * A conservative word may lead to garbage, and garbage to objects that were
 * swept already. A pointer to a free slot that a walk with @p options has counted
 * in @p ledger is precise only if it is reached without such words. To find
 * these takes another walk. Its marking is *@p ret, for
 * gr_marking_deinit(); it is empty if there are no such pointers.
 */
struct gr_error *gr_answers_sort_free_slots(
	struct gr_answers *answers, const struct gr_walk_options *options,
	struct gr_ledger *ledger, struct gr_marking *ret) GR_MUST_CHECK;

#endif /* GR_SCAN_MARK_H */
