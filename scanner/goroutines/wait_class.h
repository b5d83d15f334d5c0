/* SPDX-License-Identifier: Apache-2.0 */
/** wait_class: the type and the field of a lock or channel, without addresses
 * and indexes. */
#ifndef GR_WAIT_CLASS_H
#define GR_WAIT_CLASS_H

#include "goroutines/primitive.h"
#include "goruntime/sched/waits.h"

struct gr_answers;

/**
 * Find the class of the thing that @p wait is for, which @p name names: things
 * of one class are alike (`main.session.lock`, `main.conn.ctx`). The channel of
 * a context or a timer goes by the field that has the context. If no object has
 * it, the variable of a function: `main.reply.answer`. "" if nothing is known.
 */
struct gr_error *gr_wait_class(struct gr_answers *answers,
			       const struct gr_wait *wait,
			       const struct gr_primitive_name *name,
			       const char **ret) GR_MUST_CHECK;

#endif /* GR_WAIT_CLASS_H */
