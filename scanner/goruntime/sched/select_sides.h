/* SPDX-License-Identifier: Apache-2.0 */
/**
 * select_sides: which cases of selects send. A sudog does not tell; it is in
 * the queue of receivers or of senders of its channel. Source:
 * runtime/select.go (selectgo).
 */
#ifndef GR_SELECT_SIDES_H
#define GR_SELECT_SIDES_H

#include "goruntime/sched/waits.h"

GR_VECTOR(gr_wait_vector, struct gr_wait);

/**
 * Find the side of each row of @p rows that waits for a channel in a select:
 * GR_WAIT_SELECT_RECEIVE becomes GR_WAIT_SELECT_SEND for a case that sends.
 * Each channel is read once.
 */
struct gr_error *gr_select_sides(const struct gr_sched *sched,
				 struct gr_wait_vector *rows) GR_MUST_CHECK;

#endif /* GR_SELECT_SIDES_H */
