/* SPDX-License-Identifier: Apache-2.0 */
/**
 * process: holds a process still.
 *
 * All calls of ptrace for a process come from one thread of ours, which exists
 * while the process is held: its functions may be called by any thread. The
 * thread blocks all signals and changes none of our process's signal handlers.
 * If it ends, for whatever reason, the process goes on, with its state and its
 * signals.
 *
 * The kernel sends SIGCHLD to our process for each task that stops. Code of ours
 * that waits for any child, or for this one, may reap such a stop, in any thread:
 * while the process is being stopped, and later that of a task which has stopped
 * for a signal. This is noticed; but if we are killed before the process is let
 * go, such a signal is lost.
 *
 * After fork(), the child holds nothing: the thread is its parent's.
 */
#ifndef GR_PROCESS_H
#define GR_PROCESS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/target.h"

struct gr_process;

/** A task that did not stop in time. The other ones stand still. */
struct gr_process_late {
	int32_t tid;
	char state;	/**< As in /proc/PID/stat: 'D' waits in the kernel. */
	bool has_place; /**< Its sp, pc and system call are known. */
};

/** What it took to stop a process. The array belongs to the gr_process, until
 * its next stop. */
struct gr_process_stop {
	uint64_t threads; /**< How many stand still. */
	const struct gr_process_late *late;
	size_t nlate;
	/** A signal such as SIGSTOP had stopped the process before. */
	bool was_stopped;
	uint64_t stop_us; /**< From the first interrupt until all stood still. */
};

/** How long gr_process_stop() waits. */
struct gr_process_patience {
	int64_t limit_us; /**< For all threads to stand still. */
	/** Called every few milliseconds, if not NULL, by the calling thread. If
	 * it returns an error, the process is let go. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

/** Describe process @p pid. Nothing is stopped. */
struct gr_error *gr_process_create(int32_t pid,
				   struct gr_process **ret) GR_MUST_CHECK;

/** Let the process go, if it is held, and free what belongs to it. */
void gr_process_destroy(struct gr_process *process);

/**
 * Stop all threads of the process and read their registers.
 *
 * A thread that waits in vfork() or uninterruptibly does not stop; when the
 * limit is over, it is one of ret->late. GR_ERROR_PROCESS says in one line why
 * the process cannot be stopped; it then runs as before.
 */
struct gr_error *gr_process_stop(struct gr_process *process,
				 const struct gr_process_patience *patience,
				 struct gr_process_stop *ret) GR_MUST_CHECK;

/**
 * Let the process go on. Without effect if it is not held.
 *
 * @return For how long it was stopped, in microseconds, from the first interrupt
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
 * The threads of a process that is held, with their registers. Those that are
 * late have partial registers. They are valid until the next stop.
 *
 * @return NULL if the process is not held.
 */
const struct gr_target_thread *
gr_process_threads(const struct gr_process *process, size_t *count);

#endif /* GR_PROCESS_H */
