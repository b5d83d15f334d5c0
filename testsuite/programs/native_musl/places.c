// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "places.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VARIABLES = 4096, TRIED = 64, PAGE = 4096, BLOCKS = 256 };

extern char _end[]; // of bss

static __thread void *volatile variables[VARIABLES];
static void *volatile kept;

static int is_in_data(void *block)
{
	uintptr_t end = ((uintptr_t)_end + PAGE - 1) & -PAGE;

	return (uintptr_t)block - (uintptr_t)_end < end - (uintptr_t)_end;
}

// Take blocks of all sizes, until one is in the last page of data. NULL: none
// is.
static void *in_data(void)
{
	void *tried[TRIED], *found = NULL;
	int n = 0;

	while (!found && n < TRIED) {
		tried[n] = malloc(60 + 64 * n);
		if (!tried[n])
			abort();
		memset(tried[n], 0, 60);
		if (is_in_data(tried[n]))
			found = tried[n];
		else
			n++;
	}
	while (n)
		free(tried[--n]);
	return found;
}

// Some of these may be where a thread has had a block, whose address its stack
// still has.
static void lose_in_data(struct places *ret)
{
	void **lost;

	while (ret->nlost < MOST_LOST && (lost = in_data())) {
		lost[0] = malloc(1000);
		ret->lost[ret->nlost] = ~(uintptr_t)lost;
		ret->by_lost[ret->nlost++] = ~(uintptr_t)lost[0];
	}
}

static uintptr_t left, result; // complements
static int ended;

// The stack still has the address of a block that is left.
static void *end_with_result(void *unused)
{
	void *volatile block = malloc(5000); // nobody had one
	void *given = malloc(100);

	left = ~(uintptr_t)block;
	result = ~(uintptr_t)given;
	__atomic_store_n(&ended, gettid(), __ATOMIC_RELEASE);
	return given;
}

static pthread_t begin(void *(*run)(void *), void *argument)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, argument))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return thread;
}

// A thread that has ended, and that nobody joins.
static void end_thread(void)
{
	begin(end_with_result, NULL);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE) ||
	       !syscall(SYS_tgkill, getpid(), ended, 0))
		sched_yield();
}

static void *allocate(void *random)
{
	static void *volatile blocks[2][BLOCKS];
	uintptr_t n = (uintptr_t)random;
	void *volatile *own = blocks[n % 2];

	for (;;) {
		n = n * 6364136223846793005 + 1442695040888963407;
		void *volatile *block = &own[n >> 40 & (BLOCKS - 1)];

		if (*block)
			free(*block);
		*block = *block ? NULL : malloc(1 + (n >> 48 & 2047));
	}
	return NULL;
}

void allocate_always(void)
{
	for (uintptr_t i = 0; i < 2; i++)
		pthread_detach(begin(allocate, (void *)i));
}

void fill_places(struct places *ret)
{
	variables[VARIABLES / 2] = malloc(1000);
	ret->of_thread = ~(uintptr_t)variables[VARIABLES / 2];
	kept = malloc(1000);
	ret->kept = ~(uintptr_t)kept;
	lose_in_data(ret);
	end_thread();
	ret->left = left;
	ret->result = result;
}
