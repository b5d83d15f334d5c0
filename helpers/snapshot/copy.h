/* SPDX-License-Identifier: Apache-2.0 */
/**
 * copy: makes a stopped copy of a process. The process itself goes on.
 *
 * All threads are stopped. One of them, T, creates a process B that shares the
 * memory and the open files; this takes a few microseconds, and then T's
 * registers are restored. B forks the copy C. This fork takes most of the time,
 * but no thread of the process is altered during it. Then all threads go on,
 * and B is killed.
 *
 * B and C die with us (PTRACE_O_EXITKILL). Both are children of the process,
 * but with exit signal 0: the process gets no SIGCHLD for them, and only a wait
 * with __WALL or __WCLONE finds them. At the end a thread makes two such waits,
 * so that neither stays a zombie.
 */
#ifndef GR_SNAPSHOT_COPY_H
#define GR_SNAPSHOT_COPY_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/snapshot/threads.h"
#include "process/task.h"

/** Zero-initialised, it is no copy. */
struct gr_process_copy {
	struct gr_threads threads; /**< Threads at the time of the copy. */
	struct gr_task between;	   /**< B; tid 0 if it was never made. */
	struct gr_task copy;	   /**< C; the same. */
	int64_t pause_us;	   /**< How long the process was stopped. */
	int64_t altered_us;	   /**< How long T's registers were altered. */
};

/**
 * Copy process @p pid. It is not copied if the estimated pause exceeds @p
 * max_pause_us. The caller must call gr_process_copy_end() even after an error.
 */
struct gr_error *gr_process_copy_make(struct gr_process_copy *copy, pid_t pid,
				      int64_t max_pause_us) GR_MUST_CHECK;

/** Kill the copy and remove everything that belongs to it. */
struct gr_error *
gr_process_copy_end(struct gr_process_copy *copy) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_COPY_H */
