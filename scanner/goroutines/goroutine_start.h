/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_start: the function that a go statement starts. */
#ifndef GR_GOROUTINE_START_H
#define GR_GOROUTINE_START_H

#include "goruntime/sched/goroutine.h"

struct gr_runtime;

/**
 * Find the entry of the goroutine's function. For `go f(x)', the compiler makes
 * a wrapper that calls f: the stack tells which. A wrapper into which f is
 * inlined is its own function; so are those of the runtime.
 */
struct gr_error *gr_goroutine_find_start(struct gr_runtime *rt,
					 const struct gr_goroutine *g,
					 uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_GOROUTINE_START_H */
