/* SPDX-License-Identifier: Apache-2.0 */
/**
 * deferred: the deferred calls of a goroutine that have not run. Sources:
 * runtime/panic.go (nextDefer, initOpenCodedDefers; runOpenDeferFrame before Go
 * 1.22), cmd/compile/internal/ssagen (emitOpenDeferInfo).
 */
#ifndef GR_DEFERRED_H
#define GR_DEFERRED_H

#include "base/vector.h"
#include "goruntime/sched/goroutine.h"

struct gr_runtime;
GR_VECTOR(gr_u64_vector, uint64_t);

/**
 * Append the entries of the deferred functions to @p ret, in the order in which
 * they would run: by frames, the innermost first. Most defer statements have no
 * record; bits in the frame say which of them were reached. A list that makes
 * no sense ends there.
 */
struct gr_error *gr_deferred_find(struct gr_sched *sched,
				  const struct gr_goroutine *g,
				  struct gr_u64_vector *ret) GR_MUST_CHECK;

/** Read the function of the closure at @p addr, which may be anything: a saved
 * file has the word only if there is one. */
struct gr_error *gr_closure_read(struct gr_runtime *rt, uint64_t addr,
				 struct gr_func *ret,
				 bool *found) GR_MUST_CHECK;

#endif /* GR_DEFERRED_H */
