/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tasks: stops all tasks of a process, and lets them go. All functions are
 * called by one thread, which becomes the tracer.
 */
#ifndef GR_PROCESS_TASKS_H
#define GR_PROCESS_TASKS_H

#include "base/base.h"
#include "base/error.h"
#include "base/number_set.h"
#include "base/vector.h"
#include "process/task.h"

GR_VECTOR(gr_task_vector, struct gr_task);

/** Zero-initialised but for its first two members, it has no tasks. */
struct gr_tasks {
	pid_t pid;
	bool is_nested; /**< In a pid namespace below ours. */
	/** The tasks that were seized. Those that do not stop have GR_STOP_NONE,
	 * those that have ended meanwhile GR_STOP_ENDED. */
	struct gr_task_vector list;
	struct gr_number_set known; /**< The IDs of all that were seen. */
	/** The first task had ended before. It stays a zombie as long as other
	 * tasks live. */
	bool is_first_zombie;
	bool has_32_bits; /**< A task runs a 32-bit program. */
	int64_t begin_us; /**< When the first task was asked to stop. */
	int64_t end_us;	  /**< When the stop was complete. */
};

/** How long gr_tasks_stop() waits. */
struct gr_tasks_patience {
	int64_t limit_us; /**< For all tasks together. */
	int64_t quiet_us; /**< Since the last task has stopped. */
	/** Another thread sets it to make the stop give up. May be NULL. */
	const bool *is_cancelled;
	/** True while a task is being seized, which may wait for execve():
	 * another thread then calls gr_tasks_reap_ended(). May be NULL. */
	bool *is_seizing;
};

/** Free the lists. No task may be stopped at this point. */
void gr_tasks_deinit(struct gr_tasks *tasks);

/**
 * Seize one task of the process and add it to the list, unless it has ended.
 * Errors are those of gr_refusal_of().
 */
struct gr_error *
gr_tasks_seize(struct gr_tasks *tasks, pid_t tid,
	       const struct gr_tasks_patience *patience) GR_MUST_CHECK;

/**
 * Stop the tasks of the list from number @p first on and read their registers.
 * If they do not stop in time, they stay GR_STOP_NONE.
 */
void gr_tasks_stop_listed(struct gr_tasks *tasks, size_t first,
			  const struct gr_tasks_patience *patience);

/**
 * Stop all tasks of the process and read their registers.
 *
 * A task in vfork() or in an uninterruptible wait does not stop. That is not an
 * error: the task keeps GR_STOP_NONE, and all others stand still.
 * GR_ERROR_PROCESS says why the process cannot be stopped; GR_ERROR_INTERRUPTED
 * means that the stop was cancelled. Some tasks may be stopped after an error.
 */
struct gr_error *
gr_tasks_stop(struct gr_tasks *tasks,
	      const struct gr_tasks_patience *patience) GR_MUST_CHECK;

/**
 * Detach the tasks that have stopped for a signal, and deliver it. The kernel
 * does this, too, when the tracing thread ends, but not if other code has
 * reaped the stop.
 */
void gr_tasks_pass_signals(struct gr_tasks *tasks);

/**
 * Detach all tasks, which then go on. It is better to end the calling thread,
 * if that is possible: the kernel then detaches all tasks at once. Tasks that
 * are detached one by one compete with the caller for the processors.
 *
 * @return false if some tasks have not stopped yet: these are still traced, and
 *	are detached when the calling thread ends.
 */
bool gr_tasks_release(struct gr_tasks *tasks);

#endif /* GR_PROCESS_TASKS_H */
