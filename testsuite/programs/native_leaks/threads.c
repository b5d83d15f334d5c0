// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "threads.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static sem_t ready;
static void (*next)(void);

static pthread_t begin(const pthread_attr_t *attr, void *(*run)(void *))
{
	sigset_t all, old;
	pthread_t thread;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&thread, attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		abort();
	return thread;
}

pthread_t thread_begin(void *(*run)(void *))
{
	return begin(NULL, run);
}

static void *run_next(void *unused)
{
	next();
	return unused;
}

void thread_stays_with(const pthread_attr_t *attr, void *(*run)(void *))
{
	sem_init(&ready, 0, 0);
	pthread_detach(begin(attr, run));
	while (sem_wait(&ready))
		;
}

void thread_stays(void (*run)(void))
{
	next = run;
	thread_stays_with(NULL, run_next);
}

void thread_ready(void)
{
	sem_post(&ready);
}
