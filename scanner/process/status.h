/* SPDX-License-Identifier: Apache-2.0 */
/**
 * status: what /proc tells of a process and its tasks. Nothing is stopped.
 *
 * A task is a thread as the kernel numbers it; a process is known by the
 * number of its first task.
 */
#ifndef GR_PROCESS_STATUS_H
#define GR_PROCESS_STATUS_H

#include <dirent.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/cleanup.h"

static inline void gr_cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/** closedir() at the end of the scope. */
#define _cleanup_closedir_ _cleanup_(gr_cleanup_closedir)

/**
 * Open /proc/PID/task; NULL if there is no such process.
 */
DIR *gr_tasks_open(pid_t pid);

/** The next task of a folder; 0 at its end. */
pid_t gr_tasks_next(DIR *dir);

/** The number of tasks, those that are zombies included; 0 if there is no such
 * process. This is much cheaper than listing them. */
size_t gr_tasks_count(pid_t pid);

/** Read the value of a line "key: value" of /proc/PID/task/TID/status. */
bool gr_task_status(pid_t pid, pid_t tid, const char *key, char *buf,
		    size_t bytes);

/** The letter of a task's state, as in /proc/PID/task/TID/stat: 'D' waits in
 * the kernel and cannot be disturbed, 'Z' has ended. 'X' if it is gone. */
char gr_task_state(pid_t pid, pid_t tid);

/** Where a task is that does not stop. */
struct gr_task_place {
	bool is_known;	 /**< False: it runs, so sp and pc mean nothing. */
	bool is_in_call; /**< `call' is the number of a system call. */
	uint64_t call, sp, pc;
};

/** Read /proc/PID/task/TID/syscall. */
struct gr_task_place gr_task_place(pid_t pid, pid_t tid);

/** The ID of a task in its own pid namespace, which may be below ours. */
pid_t gr_task_own_tid(pid_t pid, pid_t tid);

/** Is a process in a pid namespace below ours? */
bool gr_process_is_nested(pid_t pid);

/**
 * The task by which a process is read: the memory and the files of /proc are
 * those of this task. It is the first one, or another one if the first one has
 * ended before them. 0 if none is alive.
 */
pid_t gr_process_reader(pid_t pid);

#endif /* GR_PROCESS_STATUS_H */
