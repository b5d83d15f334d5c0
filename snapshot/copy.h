/* SPDX-License-Identifier: Apache-2.0 */
/**
 * copy: a stopped copy of a process, which itself goes on.
 *
 * With all its threads stopped, one of them, T, makes a process B, which
 * shares the memory and the open files; that takes a few microseconds, and T
 * has its registers back. B, which nobody misses, forks the copy C: this is
 * what takes time, and during it no thread of the process is altered. Then
 * all threads go on, and B is killed.
 *
 * B and C die with us (PTRACE_O_EXITKILL). Both are children of the process,
 * but with exit signal 0: it gets no SIGCHLD for them, and no wait finds them
 * but one with __WALL or __WCLONE. At the end a thread makes two such waits,
 * so that neither stays a zombie.
 */
#ifndef GR_SNAPSHOT_COPY_H
#define GR_SNAPSHOT_COPY_H

#include "base/base.h"
#include "base/error.h"
#include "snapshot/threads.h"
#include "snapshot/tracee.h"

/** Zero-initialised is no copy. */
struct gr_process_copy {
	struct gr_threads threads; /**< Of the process, as it was copied. */
	struct gr_tracee between;  /**< B; tid 0 if it was never made. */
	struct gr_tracee copy;	   /**< C; the same. */
	int64_t pause_us;	   /**< How long the process was stopped. */
	int64_t altered_us; /**< How long T's registers were not its own. */
};

/**
 * Copy process @p pid, stopping it for @p max_pause_us at most, as far as that
 * is known beforehand. After an error, too, gr_process_copy_end() is called.
 */
struct gr_error *gr_process_copy_make(struct gr_process_copy *copy, pid_t pid,
				      int64_t max_pause_us) GR_MUST_CHECK;

/** Kill the copy and leave nothing of it behind. */
struct gr_error *
gr_process_copy_end(struct gr_process_copy *copy) GR_MUST_CHECK;

#endif /* GR_SNAPSHOT_COPY_H */
