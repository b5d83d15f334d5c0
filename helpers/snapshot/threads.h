/* SPDX-License-Identifier: Apache-2.0 */
/** threads: stops and releases all threads of one process together. */
#ifndef GR_SNAPSHOT_THREADS_H
#define GR_SNAPSHOT_THREADS_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/snapshot/arch.h"
#include "process/tasks.h"

/** Zero-initialised, it has no threads. */
struct gr_threads {
	pid_t pid;
	int mem_fd;	  /**< /proc/PID/mem. */
	bool is_filtered; /**< Its first thread is under seccomp. */
	struct gr_tasks tasks;
};

/** Open process @p pid; nothing is stopped. */
struct gr_error *gr_threads_init(struct gr_threads *threads,
				 pid_t pid) GR_MUST_CHECK;
/** No thread may be stopped at this point. */
void gr_threads_deinit(struct gr_threads *threads);

/**
 * Stop all threads and read their registers.
 *
 * If a thread does not stop in time (as in an uninterruptible wait), all
 * threads go on and the error is GR_ERROR_LIMIT. It is GR_ERROR_IO if the
 * thread still does not stop much later, so that another try makes no sense.
 */
struct gr_error *gr_threads_stop(struct gr_threads *threads) GR_MUST_CHECK;

/**
 * Let all threads go on and stop tracing them.
 *
 * @return false if a thread has not stopped for too long: it is still traced.
 */
bool gr_threads_release(struct gr_threads *threads);

/** The stopped thread that is best suited to make a call. NULL if the fitness
 * of all threads is below @p least. */
struct gr_task *gr_threads_pick(struct gr_threads *threads,
				enum gr_fitness least);

/**
 * Stop one thread of the process that can make a call; the others keep running.
 * The thread is added to the list. NULL if its fitness is below @p least or if
 * there is no other thread to try: the next call tries another one, or begins
 * again. In a stopped process, threads stay as they are.
 *
 * @param[in,out] nth Which thread to try, those in a futex first: 0 at first, and
 *	after the last one.
 */
struct gr_task *gr_threads_stop_one(struct gr_threads *threads,
				    enum gr_fitness least, size_t *nth);

#endif /* GR_SNAPSHOT_THREADS_H */
