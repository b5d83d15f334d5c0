/* SPDX-License-Identifier: Apache-2.0 */
/**
 * thread: short-lived threads inside a process that handles signals itself:
 * the command line, a script, or gdb.
 */
#ifndef GR_THREAD_H
#define GR_THREAD_H

#include "base/base.h"

#include <pthread.h>
#include <time.h>

/**
 * Start a thread with signals blocked: signals are for the threads of the
 * host. SIGBUS is not blocked: a core that shrinks faults where it is read,
 * and a fault whose signal is blocked ends the process (inferior/sigbus.h).
 *
 * @return false if no thread can be had.
 */
bool gr_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/** 20 ms from now: how long to wait for another thread between two polls. */
struct timespec gr_thread_soon(void);

/** Wait until gr_thread_soon() for the end of a thread. @return true: it has
 * ended. */
bool gr_thread_join_soon(pthread_t thread);

#endif /* GR_THREAD_H */
