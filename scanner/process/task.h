/* SPDX-License-Identifier: Apache-2.0 */
/**
 * task: a task that the calling thread traces.
 *
 * The room process stops processes. It knows ptrace and /proc; it knows nothing
 * about Go. Tasks are seized (PTRACE_SEIZE): this does not stop them, and when
 * the tracing thread ends, for whatever reason, they go on. The signal for
 * which a task has stopped stays with the kernel (WNOWAIT) until the task is
 * detached, so that it is not lost either.
 *
 * ptrace belongs to a thread: all calls for one task come from the thread that
 * has seized it.
 */
#ifndef GR_PROCESS_TASK_H
#define GR_PROCESS_TASK_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "base/error.h"
#include "inferior/arch.h"

/** The stop in which a task was found. */
enum gr_task_stop {
	GR_STOP_NONE,	 /**< It is not stopped. */
	GR_STOP_TRAP,	 /**< At our request, on its return to user mode. */
	GR_STOP_SIGNAL,	 /**< A signal is about to reach it. */
	GR_STOP_SYSCALL, /**< Entering or leaving a system call. */
	GR_STOP_CLONE,	 /**< In a call that created a process. */
	GR_STOP_EXEC,	 /**< It has just begun another program. */
	GR_STOP_LET_GO,	 /**< It was detached, and runs. */
	GR_STOP_ENDED,	 /**< It has ended, or is no longer traced by us. */
};

struct gr_task {
	pid_t tid;
	pid_t own_tid; /**< Its ID in its own pid namespace. */
	enum gr_task_stop stop;
	int signal; /**< Delivered when it goes on; 0 if none. */
	/** Its process had been stopped before, by a signal such as SIGSTOP.
	 * The process stays stopped when the task is detached. */
	bool is_group_stop;
	bool has_filter; /**< It is under seccomp; for injected calls. */
	/** The registers at its first stop (NT_PRSTATUS). */
	struct user_regs_struct regs;
};

/** Microseconds of a monotonic clock. */
int64_t gr_now_us(void);

/**
 * Become the tracer of t->tid; the task keeps running.
 *
 * @return 0, or an errno: ESRCH if there is no such task (any more); EPERM, too,
 *	if it is a zombie.
 */
int gr_task_seize(struct gr_task *t) GR_MUST_CHECK;

/** Ask the task to stop. */
void gr_task_interrupt(struct gr_task *t);

/**
 * Look whether a task that has run so far (GR_STOP_NONE) has stopped or ended.
 * The call does not wait. The kernel reports each trap once.
 *
 * @return t->stop
 */
enum gr_task_stop gr_task_look(struct gr_task *t);

/** The same for a stop that other code of our process may have reaped by a wait
 * for any child. waitid() does not report such a stop again. */
enum gr_task_stop gr_task_look_reaped(struct gr_task *t);

/** Fill t->regs of a stopped task. False if it has ended meanwhile (t->stop is
 * then GR_STOP_ENDED), or if it runs a 32-bit program. */
bool gr_task_read_registers(struct gr_task *t);

/** Convert t->regs to the scanner's form. */
struct gr_regs gr_task_registers(const struct gr_task *t);

/**
 * Stop tracing the task (GR_STOP_LET_GO); a pending signal is delivered to it.
 *
 * @return false if it has not stopped: it is still traced, and stops later. It
 *	goes on if the tracing thread ends.
 */
bool gr_task_detach(struct gr_task *t);

/** Wait for a task that has ended, so that it is no zombie of ours. The first
 * task of a process belongs to its parent, and is left alone. */
void gr_task_reap(const struct gr_task *t, pid_t pid);

/**
 * Wait for all ended tasks of a process that a thread of ours traces. A task in
 * execve() waits until this is done. PTRACE_SEIZE in the tracing thread waits
 * for that execve(), so another thread of ours has to call this function. The
 * first task is left alone.
 */
void gr_tasks_reap_ended(pid_t pid);

/**
 * Raise or restore the scheduling priority of our task @p tid (0: the calling
 * thread). A stopped process waits for this task. The call has no effect if it
 * is not permitted.
 */
void gr_set_urgent(pid_t tid, bool is_urgent);

#endif /* GR_PROCESS_TASK_H */
