// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/tracee.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

int64_t gr_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

struct gr_error *gr_tracee_seize(struct gr_tracee *t, bool *ret)
{
	*ret = !ptrace(PTRACE_SEIZE, t->tid, NULL, NULL);
	if (*ret || errno == ESRCH)
		return NULL;
	return gr_error_format(GR_ERROR_IO,
			       "thread %d cannot be traced: %s (run as root or "
			       "with CAP_SYS_PTRACE)",
			       t->tid, strerror(errno));
}

void gr_tracee_interrupt(struct gr_tracee *t)
{
	// This fails only if the thread has ended; the wait detects that.
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

static enum gr_stop stop_of(struct gr_tracee *t, int status)
{
	if (!WIFSTOPPED(status))
		return GR_STOP_ENDED;
	int signal = WSTOPSIG(status), event = status >> 16;
	if (event == PTRACE_EVENT_STOP)
		return GR_STOP_TRAP;
	if (event == PTRACE_EVENT_CLONE)
		return GR_STOP_CLONE;
	if (signal == (SIGTRAP | 0x80)) // PTRACE_O_TRACESYSGOOD
		return GR_STOP_SYSCALL;
	t->signal = signal;
	return GR_STOP_SIGNAL;
}

enum gr_stop gr_tracee_wait(struct gr_tracee *t, int64_t deadline_us)
{
	sigset_t child;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	t->stop = GR_STOP_NONE;
	for (;;) {
		pid_t pid = waitpid(t->tid, &status, __WALL | WNOHANG);
		if (pid == t->tid)
			return t->stop = stop_of(t, status);
		if (pid < 0 && errno != EINTR)
			return t->stop = GR_STOP_ENDED;
		int64_t left = deadline_us - gr_now_us();
		if (left <= 0)
			return GR_STOP_NONE;
		struct timespec wait = { left / 1000000,
					 left % 1000000 * 1000 };
		sigtimedwait(&child, NULL, &wait);
	}
}

bool gr_tracee_read_registers(struct gr_tracee *t)
{
	if (!ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs))
		return true;
	t->stop = GR_STOP_ENDED;
	return false;
}

void gr_tracee_detach(struct gr_tracee *t)
{
	if (t->stop == GR_STOP_ENDED)
		return;
	if (t->stop != GR_STOP_NONE)
		ptrace(PTRACE_DETACH, t->tid, NULL,
		       (void *)(uintptr_t)t->signal);
	t->stop = GR_STOP_NONE;
	t->signal = 0;
}

void gr_tracee_kill(struct gr_tracee *t)
{
	if (t->tid <= 0 || t->stop == GR_STOP_ENDED)
		return;
	kill(t->tid, SIGKILL);
	while (gr_tracee_wait(t, INT64_MAX) != GR_STOP_ENDED)
		ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}

void gr_set_urgent(pid_t tid, bool is_urgent)
{
	enum { HIGHEST = -20 };
	const struct sched_param param = { .sched_priority = is_urgent };
	int policy = is_urgent ? SCHED_FIFO : SCHED_OTHER;

	if (sched_setscheduler(tid, policy, &param))
		setpriority(PRIO_PROCESS, (id_t)tid, is_urgent ? HIGHEST : 0);
}
