// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/inject.h"

#include <errno.h>
#include <sys/ptrace.h>

#include "helpers/snapshot/tracee.h"

enum {
	END_US = 5000000,
	MAX_TRAPS = 3,
};

/* Set the ptrace options for its calls; suspend its filter during our calls. */
static bool set_options(const struct gr_task *t, uintptr_t more)
{
	uintptr_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | more;

	if (t->has_filter)
		options |= PTRACE_O_SUSPEND_SECCOMP;
	return !ptrace(PTRACE_SETOPTIONS, t->tid, NULL, (void *)options);
}

// A SIGSTOP can cause this: it cannot be blocked.
static struct gr_error *interrupted(const struct gr_task *t)
{
	return gr_error_format(GR_ERROR_INTERRUPTED,
			       "a signal interrupts its thread %d", t->tid);
}

static struct gr_error *failed(const struct gr_task *t, const char *what)
{
	if (t->stop == GR_STOP_ENDED)
		return gr_error_format(GR_ERROR_IO, "thread %d has ended",
				       t->tid);
	if (t->stop == GR_STOP_SIGNAL || t->stop == GR_STOP_TRAP)
		return interrupted(t);
	return gr_error_format(GR_ERROR_IO, "thread %d %s", t->tid, what);
}

static bool set_registers(struct gr_task *t,
			  const struct user_regs_struct *regs)
{
	struct user_regs_struct copy = *regs;

	return !ptrace(PTRACE_SETREGS, t->tid, NULL, &copy);
}

// Continue to the next stop at a system call.
static enum gr_task_stop step(struct gr_task *t, int64_t deadline_us)
{
	if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL))
		return t->stop = GR_STOP_ENDED;
	return gr_tracee_wait(t, deadline_us);
}

struct gr_error *gr_inject_call(struct gr_task *t, long number,
				const uint64_t args[GR_CALL_ARGS],
				int64_t deadline_us, struct gr_call *ret)
{
	struct user_regs_struct regs = t->regs;
	unsigned long child = 0;

	*ret = (struct gr_call){ 0 };
	gr_arch_set_call(&regs, number, args);
	if (!set_registers(t, &regs))
		return failed(t, "does not take registers");
	// A group-stopped process traps more than once before it goes on.
	for (int i = 0; i < MAX_TRAPS; i++)
		if (step(t, deadline_us) != GR_STOP_TRAP)
			break;
	if (t->stop != GR_STOP_SYSCALL)
		return failed(t, "made no system call");
	if (step(t, deadline_us) == GR_STOP_CLONE) {
		ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &child);
		ret->child = (pid_t)child;
		step(t, deadline_us);
	}
	if (t->stop != GR_STOP_SYSCALL)
		return failed(t, "did not come back from a system call");
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return failed(t, "does not give registers");
	if (gr_arch_is_interrupted(&regs))
		return interrupted(t);
	ret->result = gr_arch_result(&regs);
	return NULL;
}

static struct gr_error *not_prepared(const struct gr_task *t)
{
	// The kernel requires CAP_SYS_ADMIN in the initial user namespace and a
	// tracer without a filter of its own.
	if (t->has_filter && (errno == EPERM || errno == EINVAL))
		return gr_error_format(
			GR_ERROR_IO,
			"its seccomp filter may kill it for the injected call; "
			"suspending the filter needs root on the host: run "
			"goref there, or attach without a snapshot");
	return failed(t, "cannot be prepared");
}

struct gr_error *gr_inject_begin(struct gr_task *t, uint64_t *mask)
{
	uint64_t all = UINT64_MAX;

	if (!set_options(t, 0))
		return not_prepared(t);
	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(*mask), mask) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(all), &all))
		return failed(t, "cannot be prepared");
	return NULL;
}

// Registers can only be restored where the kernel still checks for an
// interrupted call to restart. This is not the stop after our own call, but a
// stop that we request before the next instruction.
static void leave_call(struct gr_task *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return;
	gr_arch_cancel_call(&regs);
	set_registers(t, &regs);
	gr_task_interrupt(t);
	if (!ptrace(PTRACE_CONT, t->tid, NULL, NULL))
		gr_tracee_wait(t, gr_now_us() + END_US);
}

struct gr_error *gr_inject_end(struct gr_task *t, uint64_t mask)
{
	if (t->stop == GR_STOP_NONE) { // A deadline passed.
		gr_task_interrupt(t);
		gr_tracee_wait(t, gr_now_us() + END_US);
	}
	if (t->stop == GR_STOP_SYSCALL || t->stop == GR_STOP_CLONE)
		leave_call(t);
	if (t->stop == GR_STOP_ENDED || !set_registers(t, &t->regs) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask))
		return failed(t, "does not take its registers back");
	return NULL;
}

struct gr_error *gr_inject_adopt(struct gr_task *child, int64_t deadline_us)
{
	if (gr_tracee_wait(child, deadline_us) != GR_STOP_TRAP)
		return failed(child, "of the copy did not stop");
	if (!set_options(child, PTRACE_O_EXITKILL))
		return failed(child, "of the copy cannot be bound to us");
	if (!gr_task_read_registers(child))
		return failed(child, "of the copy does not give registers");
	return NULL;
}
