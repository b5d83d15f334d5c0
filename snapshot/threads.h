/* SPDX-License-Identifier: Apache-2.0 */
/** threads: all threads of one process, stopped together and let go. */
#ifndef GR_SNAPSHOT_THREADS_H
#define GR_SNAPSHOT_THREADS_H

#include <dirent.h>

#include "base/base.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vector.h"
#include "snapshot/arch.h"
#include "snapshot/tracee.h"

GR_VECTOR(gr_tracees, struct gr_tracee);

/** Zero-initialised is no thread. */
struct gr_threads {
	pid_t pid;
	int mem_fd;	    /**< /proc/PID/mem. */
	bool is_nested;	    /**< In a pid namespace below ours. */
	bool is_filtered;   /**< Its first thread is under seccomp. */
	int64_t stopped_us; /**< When the first one was asked to stop. */
	struct gr_tracees list;
};

/** Open process @p pid; nothing is stopped. */
struct gr_error *gr_threads_init(struct gr_threads *threads,
				 pid_t pid) GR_MUST_CHECK;
/** The threads must not be stopped any more. */
void gr_threads_deinit(struct gr_threads *threads);

/**
 * Stop all threads and read their registers.
 *
 * GR_ERROR_LIMIT, and all go on, if one does not stop in time, as in an
 * uninterruptible wait.
 */
struct gr_error *gr_threads_stop(struct gr_threads *threads) GR_MUST_CHECK;

/** Let all go on; none is traced any more. */
void gr_threads_release(struct gr_threads *threads);

/** The stopped thread that is best suited to make a call, or NULL. */
struct gr_tracee *gr_threads_pick(struct gr_threads *threads);

/**
 * Stop one thread of the process that can make a call; the others run on.
 * @p list gets that one; NULL if there is none at this moment.
 */
struct gr_tracee *gr_threads_stop_one(struct gr_threads *threads);

static inline void gr_cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/** closedir() at the end of the scope. */
#define _cleanup_closedir_ _cleanup_(gr_cleanup_closedir)

/** The one value of a line "key: value" of /proc/PID/task/TID/status. */
bool gr_thread_status(pid_t pid, pid_t tid, const char *key, char *buf,
		      size_t bytes);

#endif /* GR_SNAPSHOT_THREADS_H */
