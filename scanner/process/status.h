/* SPDX-License-Identifier: Apache-2.0 */
/**
 * status: the state of a process and its tasks, from /proc. Nothing is stopped.
 *
 * A task is a thread as the kernel numbers it. The number of its first task
 * identifies a process.
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

/** The number of tasks, including zombies; 0 if there is no such process. This
 * is much cheaper than listing them. */
size_t gr_tasks_count(pid_t pid);

/** Read the value of a line "key: value" of /proc/PID/task/TID/status. */
bool gr_task_status(pid_t pid, pid_t tid, const char *key, char *buf,
		    size_t bytes);

/**
 * Read the number after @p key at the start of a line of a file, such as
 * /proc/meminfo. UINT64_MAX if there is none, or the file cannot be read.
 */
uint64_t gr_number_after(const char *path, const char *key);

/** The letter of a task's state, as in /proc/PID/task/TID/stat: 'D' waits in
 * the kernel and cannot be disturbed, 'Z' has ended. 'X' if it is gone. */
char gr_task_state(pid_t pid, pid_t tid);

/** The place at which a task that does not stop waits. */
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
 * The task whose files in /proc show the memory and the open files of a
 * process. It is the first task, or another one if the first has ended. 0 if no
 * task is alive.
 */
pid_t gr_process_reader(pid_t pid);

#endif /* GR_PROCESS_STATUS_H */
