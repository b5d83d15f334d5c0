/* SPDX-License-Identifier: Apache-2.0 */
/**
 * arch: what a thread's registers mean to a system call. One file for each
 * architecture; elsewhere no snapshots are made.
 *
 * A call is made at the instruction by which the thread itself entered the
 * kernel. Only what that instruction may change or reads as an argument is
 * altered: should we be killed before all is put back, the thread's code goes
 * on behind its own call as if that had ended early.
 */
#ifndef GR_SNAPSHOT_ARCH_H
#define GR_SNAPSHOT_ARCH_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "target/target.h"

enum {
	GR_CALL_ARGS = 5,
	GR_CALL_BYTES = 2, /**< Of the instruction. */
};

/** How well a thread is suited to make a call for us; the more the better. */
enum gr_fitness {
	GR_FITNESS_NONE,  /**< Not on its way out of a system call. */
	GR_FITNESS_CALL,  /**< In some system call. */
	GR_FITNESS_FUTEX, /**< In a wait that may always end early. */
};

/** What the registers say of a stopped thread. */
enum gr_fitness gr_arch_fitness(const struct user_regs_struct *regs);

/** The same for a system call that /proc/PID/task/TID/syscall names. */
enum gr_fitness gr_arch_call_fitness(long number);

/** Where the thread's own call instruction is, as a target address. */
uint64_t gr_arch_call_addr(const struct user_regs_struct *regs);

/** True if the bytes are a call instruction. */
bool gr_arch_is_call(const uint8_t code[GR_CALL_BYTES]);

/** Make the call instruction behind @p regs the next one, for @p number. */
void gr_arch_set_call(struct user_regs_struct *regs, long number,
		      const uint64_t args[GR_CALL_ARGS]);

/** What the call returned: negative values are -errno. */
int64_t gr_arch_result(const struct user_regs_struct *regs);

/** The call was not made, but shall be later: a signal is waiting. */
bool gr_arch_is_interrupted(const struct user_regs_struct *regs);

/** No call is to be made or restarted with these registers. */
void gr_arch_cancel_call(struct user_regs_struct *regs);

/** As the scanner wants them. */
struct gr_regs gr_arch_registers(const struct user_regs_struct *regs);

#endif /* GR_SNAPSHOT_ARCH_H */
