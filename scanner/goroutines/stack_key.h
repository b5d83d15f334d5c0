/* SPDX-License-Identifier: Apache-2.0 */
/** stack_key: what goroutines are grouped by that have the same calls. */
#ifndef GR_STACK_KEY_H
#define GR_STACK_KEY_H

#include "base/error.h"
#include "goruntime/sched/goroutine.h"

struct gr_runtime;

/** A hash of all calls of a goroutine. */
uint64_t gr_stack_key(const struct gr_goroutine *g);

/** All calls with `; ` between, as text that belongs to the scan. */
struct gr_error *gr_stack_key_text(struct gr_runtime *rt,
				   const struct gr_goroutine *g,
				   const char **ret) GR_MUST_CHECK;

#endif /* GR_STACK_KEY_H */
