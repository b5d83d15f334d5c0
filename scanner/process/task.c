// SPDX-License-Identifier: Apache-2.0
#include "process/task.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "process/status.h"

int64_t gr_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int gr_task_seize(struct gr_task *t)
{
	uintptr_t options = PTRACE_O_TRACEEXEC;

	return ptrace(PTRACE_SEIZE, t->tid, NULL, (void *)options) ? errno : 0;
}

void gr_task_interrupt(struct gr_task *t)
{
	// This fails only if the task has ended; a look detects that.
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

/* The low 8 bits of @p status are the signal; the bits above are the event. */
static enum gr_task_stop stop_of(struct gr_task *t, int status)
{
	int signal = status & 0xff, event = status >> 8;

	if (event == PTRACE_EVENT_STOP) {
		t->is_group_stop = signal != SIGTRAP;
		return GR_STOP_TRAP;
	}
	if (event == PTRACE_EVENT_CLONE)
		return GR_STOP_CLONE;
	if (event == PTRACE_EVENT_EXEC)
		return GR_STOP_EXEC;
	if (signal == (SIGTRAP | 0x80)) // PTRACE_O_TRACESYSGOOD
		return GR_STOP_SYSCALL;
	t->signal = signal;
	return GR_STOP_SIGNAL;
}

enum gr_task_stop gr_task_look(struct gr_task *t)
{
	siginfo_t info = { .si_signo = 0 };
	const int how = WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL |
			__WNOTHREAD;

	if (waitid(P_PID, (id_t)t->tid, &info, how))
		return errno == EINTR ? GR_STOP_NONE :
					(t->stop = GR_STOP_ENDED);
	if (!info.si_pid)
		return GR_STOP_NONE;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return t->stop = GR_STOP_ENDED;
	t->stop = stop_of(t, info.si_status);
	// Reap the trap: other code of our process that waits for this child
	// would take it for the child's end. A trap carries no signal.
	if (t->stop == GR_STOP_TRAP)
		waitid(P_PID, (id_t)t->tid, &info, how & ~(WNOWAIT | WEXITED));
	return t->stop;
}

enum gr_task_stop gr_task_look_reaped(struct gr_task *t)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info))
		return GR_STOP_NONE;
	bool is_event = info.si_code > 0xff;
	return t->stop = stop_of(t, is_event ? info.si_code : info.si_signo);
}

bool gr_task_read_registers(struct gr_task *t)
{
	struct iovec regs = { &t->regs, sizeof(t->regs) };

	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)NT_PRSTATUS,
		   &regs)) {
		t->stop = GR_STOP_ENDED;
		return false;
	}
	// A 32-bit program has fewer and shorter registers.
	return regs.iov_len == sizeof(t->regs);
}

struct gr_regs gr_task_registers(const struct gr_task *t)
{
	return gr_arch_load_user(gr_arch_native(), (const uint8_t *)&t->regs);
}

bool gr_task_detach(struct gr_task *t)
{
	uintptr_t signal;

	if (t->stop == GR_STOP_NONE && gr_task_look(t) == GR_STOP_NONE)
		return false;
	signal = (uintptr_t)t->signal;
	if (t->stop == GR_STOP_ENDED || t->stop == GR_STOP_LET_GO)
		return true;
	// This fails only if the task has ended.
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)signal);
	t->stop = GR_STOP_LET_GO;
	t->signal = 0;
	return true;
}

void gr_task_reap(const struct gr_task *t, pid_t pid)
{
	siginfo_t info;

	if (t->tid != pid)
		waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | __WALL);
}

void gr_tasks_reap_ended(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = gr_tasks_open(pid);

	for (pid_t tid; dir && (tid = gr_tasks_next(dir));) {
		const struct gr_task t = { .tid = tid };

		gr_task_reap(&t, pid);
	}
}

void gr_set_urgent(pid_t tid, bool is_urgent)
{
	enum { HIGHEST = -20 };
	const struct sched_param param = { .sched_priority = is_urgent };
	int policy = is_urgent ? SCHED_FIFO : SCHED_OTHER;

	if (sched_setscheduler(tid, policy, &param))
		setpriority(PRIO_PROCESS, (id_t)tid, is_urgent ? HIGHEST : 0);
}
