/* SPDX-License-Identifier: Apache-2.0 */
/**
 * inject: system calls made by a stopped thread on our behalf.
 *
 * Between gr_inject_begin() and gr_inject_end() the thread's registers are
 * altered and its signals are blocked: do nothing else and nothing slow in
 * between.
 */
#ifndef GR_SNAPSHOT_INJECT_H
#define GR_SNAPSHOT_INJECT_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/snapshot/arch.h"
#include "process/task.h"

/** The result of one system call. */
struct gr_call {
	int64_t result; /**< Negative: -errno. */
	pid_t child;	/**< The process that it created, traced by us; or 0. */
};

/**
 * Let a stopped thread of the process make a system call with the arguments @p
 * args; gr_arch_fitness() of t->regs must not be NONE. Afterwards the thread is
 * stopped again, with registers other than t->regs. GR_ERROR_INTERRUPTED if a
 * signal arrived before the call; the call was not made.
 */
struct gr_error *gr_inject_call(struct gr_task *t, long number,
				const uint64_t args[GR_CALL_ARGS],
				int64_t deadline_us,
				struct gr_call *ret) GR_MUST_CHECK;

/**
 * Set the ptrace options for its calls, suspend its seccomp filter, and block
 * its signals. GR_ERROR_IO if the filter may not be suspended.
 */
struct gr_error *gr_inject_begin(struct gr_task *t,
				 uint64_t *mask) GR_MUST_CHECK;

/** Restore registers and signals; the thread stays stopped. */
struct gr_error *gr_inject_end(struct gr_task *t, uint64_t mask) GR_MUST_CHECK;

/**
 * Prepare a process that gr_inject_call() has created: wait for it to stop,
 * make it die with us, suspend its seccomp filter, and read its registers.
 */
struct gr_error *gr_inject_adopt(struct gr_task *child,
				 int64_t deadline_us) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_INJECT_H */
