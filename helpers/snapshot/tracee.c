// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/tracee.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum gr_task_stop gr_tracee_wait(struct gr_task *t, int64_t deadline_us)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	t->stop = GR_STOP_NONE;
	while (gr_task_look(t) == GR_STOP_NONE) {
		int64_t left = deadline_us - gr_now_us();
		if (left <= 0)
			return GR_STOP_NONE;
		struct timespec wait = { left / 1000000,
					 left % 1000000 * 1000 };
		sigtimedwait(&child, NULL, &wait);
	}
	// Its parent can reap it only after its tracer has.
	if (t->stop == GR_STOP_ENDED)
		waitpid(t->tid, NULL, __WALL | WNOHANG);
	return t->stop;
}

void gr_tracee_kill(struct gr_task *t)
{
	if (t->tid <= 0 || t->stop == GR_STOP_ENDED)
		return;
	kill(t->tid, SIGKILL);
	while (gr_tracee_wait(t, INT64_MAX) != GR_STOP_ENDED)
		ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}
