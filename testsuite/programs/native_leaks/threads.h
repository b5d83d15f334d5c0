/* SPDX-License-Identifier: Apache-2.0 */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>

/** A thread that gets no signals: they are all Go's. */
pthread_t thread_begin(void *(*run)(void *));

/** A thread that calls thread_ready(), and never ends. Waits for that. */
void thread_stays(void (*run)(void));

/** The same with attributes of the thread. */
void thread_stays_with(const pthread_attr_t *attr, void *(*run)(void *));

void thread_ready(void);

#endif
