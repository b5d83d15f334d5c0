/* SPDX-License-Identifier: Apache-2.0 */
/**
 * signal: the registers that a signal handler interrupted. The module knows
 * the frame that Linux leaves on the signal stack (struct rt_sigframe). It
 * does not know goroutines. Source: runtime/defs_linux_amd64.go,
 * defs_linux_arm64.go (ucontext, sigcontext).
 */
#ifndef GR_SIGNAL_H
#define GR_SIGNAL_H

#include "goruntime/layout/runtime.h"

/**
 * Find the context that the outermost handler on the signal stack [lo, hi)
 * interrupted. @p thread holds the registers of the thread, which is inside a
 * handler.
 *
 * The frame is found by its shape, not by unwinding, because the handler may
 * be C code and the restorer may be libc's. Nested handlers leave frames at
 * lower addresses.
 *
 * The frame does not tell whether the thread was in a system call.
 *
 * *@p found is false if the thread is not on that stack or the stack has no
 * such frame.
 */
struct gr_error *gr_signal_interrupted(struct gr_runtime *rt, uint64_t lo,
				       uint64_t hi,
				       const struct gr_regs *thread,
				       struct gr_regs *ret,
				       bool *found) GR_MUST_CHECK;

/** The signal as the kernel told the handler (struct siginfo). */
struct gr_siginfo {
	uint32_t number;
	int32_t code;
	uint64_t addr; /**< Where a fault is; else it means nothing. */
	uint64_t pc;   /**< That was interrupted. */
};

/** Find what the outermost handler on the signal stack [lo, hi) was called
 * for, in the same way. */
struct gr_error *gr_signal_caught(struct gr_runtime *rt, uint64_t lo,
				  uint64_t hi, const struct gr_regs *thread,
				  struct gr_siginfo *ret,
				  bool *found) GR_MUST_CHECK;

#endif /* GR_SIGNAL_H */
