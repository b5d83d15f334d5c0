/* SPDX-License-Identifier: Apache-2.0 */
/**
 * process: holds a process still.
 *
 * One thread of ours, the tracing thread, makes all calls of ptrace for a
 * process. It exists while the process is held. The functions below may be
 * called by any thread. The tracing thread blocks all signals and changes no
 * signal handler of our process. If it ends, for whatever reason, the process
 * goes on, with its state and its signals.
 *
 * The kernel sends SIGCHLD to our process for each task that stops. Other code
 * of our process that waits for any child, or for this one, may reap such a
 * stop, in any thread. This can happen while the process is being stopped, and
 * later to a task that has stopped for a signal. The tracing thread detects it.
 * But if we are killed before the process is released, that signal is lost.
 *
 * After fork(), the child holds nothing: the tracing thread is its parent's.
 */
#ifndef GR_PROCESS_H
#define GR_PROCESS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/target.h"

struct gr_process;

/** A task that did not stop in time. All others stand still. */
struct gr_process_late {
	int32_t tid;
	char state;	/**< As in /proc/PID/stat: 'D' waits in the kernel. */
	bool has_place; /**< Its sp, pc and system call are known. */
};

/** The outcome of a stop. The array belongs to the gr_process, and is valid
 * until its next stop. */
struct gr_process_stop {
	uint64_t threads; /**< Number of threads that stand still. */
	const struct gr_process_late *late;
	size_t nlate;
	/** A signal such as SIGSTOP had stopped the process before. */
	bool was_stopped;
	uint64_t stop_us; /**< From the first interrupt until all stood still. */
};

/** How long gr_process_stop() waits. */
struct gr_process_patience {
	int64_t limit_us; /**< For all threads to stand still. */
	/** Called every few milliseconds by the calling thread; may be NULL. If
	 * it returns an error, the process is released. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

/** Describe process @p pid. Nothing is stopped. */
struct gr_error *gr_process_create(int32_t pid,
				   struct gr_process **ret) GR_MUST_CHECK;

/** Release the process, if it is held, and free all that belongs to it. */
void gr_process_destroy(struct gr_process *process);

/**
 * Stop all threads of the process and read their registers.
 *
 * A thread that waits in vfork(), or in an uninterruptible wait, does not stop;
 * after the time limit, it is one of ret->late. GR_ERROR_PROCESS says in one
 * line why the process cannot be stopped; it then runs as before.
 */
struct gr_error *gr_process_stop(struct gr_process *process,
				 const struct gr_process_patience *patience,
				 struct gr_process_stop *ret) GR_MUST_CHECK;

/**
 * Let the process go on. The call has no effect if it is not held.
 *
 * @return The microseconds for which it was stopped, from the first interrupt
 *	until all threads went on; 0 if it was not held.
 */
int64_t gr_process_release(struct gr_process *process);

/**
 * Does the process stand still? False, too, if it was held and has ended or begun
 * another program: this is noticed within a fraction of a second. A fork of our
 * process is told what was so when it was made.
 */
bool gr_process_is_held(const struct gr_process *process);

/**
 * The threads of a process that is held, with their registers. Threads in
 * gr_process_stop.late have partial registers. The array is valid until the
 * next stop.
 *
 * @return NULL if the process is not held.
 */
const struct gr_target_thread *
gr_process_threads(const struct gr_process *process, size_t *count);

#endif /* GR_PROCESS_H */
