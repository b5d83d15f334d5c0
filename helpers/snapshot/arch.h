/* SPDX-License-Identifier: Apache-2.0 */
/**
 * arch: the registers of a system call. Each architecture has one file; on
 * other architectures there are no snapshots.
 *
 * An injected call uses the instruction by which the thread itself entered the
 * kernel. Only registers that this instruction may change or that hold its
 * arguments are altered. If we are killed before they are restored, the thread
 * makes the injected call and continues after its own call. The result of the
 * injected call is then that of its own: a process ID, 0 or an error.
 */
#ifndef GR_SNAPSHOT_ARCH_H
#define GR_SNAPSHOT_ARCH_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "inferior/target.h"

enum {
	GR_CALL_ARGS = 5,
	GR_CALL_BYTES = 2, /**< Size of the call instruction. */
};

/** How well a thread is suited to make a call for us; higher is better. */
enum gr_fitness {
	GR_FITNESS_NONE,  /**< Not on its way out of a system call. */
	GR_FITNESS_CALL,  /**< In some system call. */
	GR_FITNESS_FUTEX, /**< In a wait that may end early with any result. */
};

/** The fitness of a stopped thread, from its registers. */
enum gr_fitness gr_arch_fitness(const struct user_regs_struct *regs);

/**
 * The best possible fitness of a thread in the system call @p number, as in
 * /proc/PID/task/TID/syscall.
 */
enum gr_fitness gr_arch_call_fitness(long number);

/** Target address of the thread's own call instruction. */
uint64_t gr_arch_call_addr(const struct user_regs_struct *regs);

/** True if the bytes are a call instruction. */
bool gr_arch_is_call(const uint8_t code[GR_CALL_BYTES]);

/** Make the call instruction behind @p regs the next one, for @p number. */
void gr_arch_set_call(struct user_regs_struct *regs, long number,
		      const uint64_t args[GR_CALL_ARGS]);

/** The result of the call: negative values are -errno. */
int64_t gr_arch_result(const struct user_regs_struct *regs);

/**
 * True if the call was not made because a signal is pending; the kernel would
 * restart it later.
 */
bool gr_arch_is_interrupted(const struct user_regs_struct *regs);

/** Keep the kernel from making or restarting a call with these registers. */
void gr_arch_cancel_call(struct user_regs_struct *regs);

#endif /* GR_SNAPSHOT_ARCH_H */
