/* SPDX-License-Identifier: Apache-2.0 */
/**
 * signal: the registers that a signal handler interrupted. Knows the frame
 * that Linux leaves on the signal stack (struct rt_sigframe) and nothing of
 * goroutines. Source: runtime/defs_linux_amd64.go, defs_linux_arm64.go
 * (ucontext, sigcontext).
 */
#ifndef GR_SIGNAL_H
#define GR_SIGNAL_H

#include "goruntime/runtime.h"

/**
 * The context that the outermost handler on the signal stack [lo, hi) came
 * from, for a thread whose registers @p thread are now inside a handler.
 *
 * The frame is found by its shape, not by unwinding: the handler may be C
 * code, and the restorer libc's. Nested handlers leave frames below it.
 *
 * *@p found is false if the thread is not on that stack or no frame is there.
 */
struct gr_error *gr_signal_interrupted(struct gr_runtime *rt, uint64_t lo,
				       uint64_t hi,
				       const struct gr_regs *thread,
				       struct gr_regs *ret,
				       bool *found) GR_MUST_CHECK;

#endif /* GR_SIGNAL_H */
