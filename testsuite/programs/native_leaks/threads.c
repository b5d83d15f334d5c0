// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "threads.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static sem_t ready;
static void (*next)(void);

pthread_t thread_begin(void *(*run)(void *))
{
	sigset_t all, old;
	pthread_t thread;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		abort();
	return thread;
}

static void *run_next(void *unused)
{
	next();
	return unused;
}

void thread_stays(void (*run)(void))
{
	next = run;
	sem_init(&ready, 0, 0);
	pthread_detach(thread_begin(run_next));
	while (sem_wait(&ready))
		;
}

void thread_ready(void)
{
	sem_post(&ready);
}
