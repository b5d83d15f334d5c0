// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/arch.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#ifndef __x86_64__
#error "write this file's counterpart for this architecture"
#endif

enum {
	USER_CS = 0x33, // 64-bit code
	/* The kernel's internal codes for calls that a stop has interrupted. */
	ERESTARTSYS = 512,
	ERESTART_RESTARTBLOCK = 516,
};

enum gr_fitness gr_arch_call_fitness(long number)
{
	if (number < 0)
		return GR_FITNESS_NONE;
	return number == SYS_futex ? GR_FITNESS_FUTEX : GR_FITNESS_CALL;
}

bool gr_arch_is_interrupted(const struct user_regs_struct *regs)
{
	int64_t result = gr_arch_result(regs);

	return -ERESTART_RESTARTBLOCK <= result && result <= -ERESTARTSYS;
}

/*
 * True in a futex wait as Go's runtime makes it, which ignores the result. glibc
 * waits for semaphores and condition variables with FUTEX_WAIT_BITSET and ends
 * the process if the result is positive, as that of clone is.
 */
static bool is_futex_wait(const struct user_regs_struct *regs)
{
	return (int)regs->rsi == FUTEX_WAIT_PRIVATE &&
	       gr_arch_is_interrupted(regs);
}

enum gr_fitness gr_arch_fitness(const struct user_regs_struct *regs)
{
	if (regs->cs != USER_CS)
		return GR_FITNESS_NONE;
	enum gr_fitness fitness = gr_arch_call_fitness((int64_t)regs->orig_rax);
	if (fitness == GR_FITNESS_FUTEX && !is_futex_wait(regs))
		return GR_FITNESS_CALL;
	return fitness;
}

uint64_t gr_arch_call_addr(const struct user_regs_struct *regs)
{
	return regs->rip - GR_CALL_BYTES;
}

bool gr_arch_is_call(const uint8_t code[GR_CALL_BYTES])
{
	return code[0] == 0x0f && code[1] == 0x05; // syscall
}

void gr_arch_set_call(struct user_regs_struct *regs, long number,
		      const uint64_t args[GR_CALL_ARGS])
{
	regs->rip -= GR_CALL_BYTES;
	regs->rax = (uint64_t)number;
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	// Otherwise the kernel would restart the old call on its way out.
	gr_arch_cancel_call(regs);
}

int64_t gr_arch_result(const struct user_regs_struct *regs)
{
	return (int64_t)regs->rax;
}

void gr_arch_cancel_call(struct user_regs_struct *regs)
{
	regs->orig_rax = UINT64_MAX;
}
