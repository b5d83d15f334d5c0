/* SPDX-License-Identifier: Apache-2.0 */
/**
 * inject: system calls made by a stopped thread on our behalf.
 *
 * Between gr_inject_begin() and gr_inject_end() the thread's registers are
 * altered and its signals are blocked: nothing else may happen there, and
 * nothing that takes its time.
 */
#ifndef GR_SNAPSHOT_INJECT_H
#define GR_SNAPSHOT_INJECT_H

#include "base/base.h"
#include "base/error.h"
#include "snapshot/arch.h"
#include "snapshot/tracee.h"

/** What one system call gave. */
struct gr_call {
	int64_t result; /**< Negative: -errno. */
	pid_t child;	/**< The process that it made, traced by us; or 0. */
};

/**
 * Let a stopped thread of the process make a system call with the arguments
 * @p args; t->regs are such that gr_arch_fitness() is not NONE. Afterwards it
 * is stopped again, with other registers than t->regs. GR_ERROR_INTERRUPTED: a
 * signal came before the call, which was not made.
 */
struct gr_error *gr_inject_call(struct gr_tracee *t, long number,
				const uint64_t args[GR_CALL_ARGS],
				int64_t deadline_us,
				struct gr_call *ret) GR_MUST_CHECK;

/**
 * Set what we want to see of its calls, suspend its seccomp filter, and block
 * its signals. GR_ERROR_IO where the filter may not be suspended.
 */
struct gr_error *gr_inject_begin(struct gr_tracee *t,
				 uint64_t *mask) GR_MUST_CHECK;

/** Put registers and signals back; the thread stays stopped. */
struct gr_error *gr_inject_end(struct gr_tracee *t,
			       uint64_t mask) GR_MUST_CHECK;

/**
 * Prepare a process that gr_inject_call() has made: wait for it to stop, have
 * it die with us, without a filter meanwhile, read its registers.
 */
struct gr_error *gr_inject_adopt(struct gr_tracee *child,
				 int64_t deadline_us) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_INJECT_H */
