/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tracee: a thread that we trace.
 *
 * The room snapshot makes a stopped copy of a process that keeps running. It
 * knows ptrace and /proc; it knows nothing about Go. Threads are seized: this
 * does not stop them, and nothing remains when we end, for whatever reason.
 */
#ifndef GR_SNAPSHOT_TRACEE_H
#define GR_SNAPSHOT_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "base/error.h"

/** The stop in which a thread was found. */
enum gr_stop {
	GR_STOP_NONE,	 /**< It is not stopped. */
	GR_STOP_TRAP,	 /**< At our request, on return to user mode. */
	GR_STOP_SIGNAL,	 /**< A signal is about to reach it. */
	GR_STOP_SYSCALL, /**< Entering or leaving a system call. */
	GR_STOP_CLONE,	 /**< In a call that created a process. */
	GR_STOP_ENDED,	 /**< It exists no more. */
};

struct gr_tracee {
	pid_t tid;
	pid_t own_tid; /**< Its ID in its own pid namespace. */
	enum gr_stop stop;
	int signal;	 /**< Delivered when it goes on; 0 if none. */
	bool has_filter; /**< It is under seccomp. */
	/** The registers at its first stop. */
	struct user_regs_struct regs;
};

/** Microseconds of a monotonic clock. */
int64_t gr_now_us(void);

/**
 * Become the tracer of t->tid; the thread keeps running.
 *
 * @return false if there is no such thread (any more): not an error.
 */
struct gr_error *gr_tracee_seize(struct gr_tracee *t, bool *ret) GR_MUST_CHECK;

/** Ask the thread to stop. */
void gr_tracee_interrupt(struct gr_tracee *t);

/**
 * Wait until the thread stops or ends, or until gr_now_us() reaches @p
 * deadline_us. SIGCHLD must be blocked.
 *
 * @return t->stop.
 */
enum gr_stop gr_tracee_wait(struct gr_tracee *t, int64_t deadline_us);

/** Fill t->regs of a stopped thread; false if it has ended meanwhile. */
bool gr_tracee_read_registers(struct gr_tracee *t);

/** Stop tracing the thread; a pending signal is delivered to it. */
void gr_tracee_detach(struct gr_tracee *t);

/** Kill the process, and wait until it is dead. */
void gr_tracee_kill(struct gr_tracee *t);

/**
 * Raise the scheduling priority of the copying task @p tid (0: ourselves), or
 * restore it. A stopped process waits for this task. The call has no effect if
 * it is not permitted.
 */
void gr_set_urgent(pid_t tid, bool is_urgent);

#endif /* GR_SNAPSHOT_TRACEE_H */
