/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tracee: one thread that we trace.
 *
 * The room snapshot knows ptrace and /proc, and nothing of Go: it makes a
 * stopped copy of a process that goes on. Threads are seized, which does not
 * stop them and leaves no trace when we end, however we end.
 */
#ifndef GR_SNAPSHOT_TRACEE_H
#define GR_SNAPSHOT_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "base/error.h"

/** Where a thread was found. */
enum gr_stop {
	GR_STOP_NONE,	 /**< It is not stopped. */
	GR_STOP_TRAP,	 /**< Because we asked, on its way to user mode. */
	GR_STOP_SIGNAL,	 /**< A signal is about to reach it. */
	GR_STOP_SYSCALL, /**< Entering or leaving a system call. */
	GR_STOP_CLONE,	 /**< In a call that has made a process. */
	GR_STOP_ENDED,	 /**< It exists no more. */
};

struct gr_tracee {
	pid_t tid;
	pid_t own_tid; /**< As its own pid namespace has it. */
	enum gr_stop stop;
	int signal;	 /**< To reach it when it goes on; 0 if none. */
	bool has_filter; /**< It is under seccomp. */
	/** As they were when it was stopped first. */
	struct user_regs_struct regs;
};

/** Microseconds of a clock that only goes forward. */
int64_t gr_now_us(void);

/**
 * Become the tracer of t->tid; it goes on running.
 *
 * @return false if there is no such thread (any more): not an error.
 */
struct gr_error *gr_tracee_seize(struct gr_tracee *t, bool *ret) GR_MUST_CHECK;

/** Ask it to stop. */
void gr_tracee_interrupt(struct gr_tracee *t);

/**
 * Wait until it stops or ends, no longer than @p deadline_us of gr_now_us().
 * SIGCHLD must be blocked.
 *
 * @return t->stop.
 */
enum gr_stop gr_tracee_wait(struct gr_tracee *t, int64_t deadline_us);

/** Fill t->regs of a stopped thread; false if it has ended meanwhile. */
bool gr_tracee_read_registers(struct gr_tracee *t);

/** Let it go; a signal that was on its way reaches it. */
void gr_tracee_detach(struct gr_tracee *t);

/** Kill the process, and wait until it is dead. */
void gr_tracee_kill(struct gr_tracee *t);

/**
 * Put one of our own, or ourselves (0), before what else wants a processor,
 * or back: a process waits for it. As far as that is permitted.
 */
void gr_set_urgent(pid_t tid, bool is_urgent);

#endif /* GR_SNAPSHOT_TRACEE_H */
