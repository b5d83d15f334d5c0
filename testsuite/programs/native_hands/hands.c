// SPDX-License-Identifier: Apache-2.0
#include "hands.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, MOST_THREADS = 64, LONGEST = 3000, ROUNDS = 3000 };

static pthread_barrier_t ready, go;
static int begun;

static uint32_t below(uint64_t *random, uint32_t limit)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*random >> 33) % limit;
}

static void *run(void *number)
{
	void *volatile blocks[BLOCKS] = { NULL };
	uint64_t random = (uintptr_t)number;

	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	for (;;) {
		uint32_t i = below(&random, BLOCKS);
		void *block = blocks[i];
		size_t bytes = 1 + below(&random, LONGEST);

		blocks[i] = NULL;
		free(block);
		// Words that were there before would hold what they name.
		block = malloc(bytes);
		if (!block)
			abort();
		memset(block, 0, bytes);
		blocks[i] = block;
		// An arena that changes all the time is never whole.
		for (volatile int round = 0; round < ROUNDS; round++)
			continue;
	}
	return NULL;
}

int prepare(int threads)
{
	sigset_t all, old;
	int failed = 0;

	if (threads < 1 || threads > MOST_THREADS)
		return -1;
	pthread_barrier_init(&ready, NULL, threads + 1);
	pthread_barrier_init(&go, NULL, threads + 1);
	sigfillset(&all);
	// No signal ends up in a thread that Go does not know.
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (int i = 0; !failed && i < threads; i++) {
		pthread_t thread;

		failed = pthread_create(&thread, NULL, run,
					(void *)(uintptr_t)(i + 1));
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!failed)
		pthread_barrier_wait(&ready);
	return failed;
}

void begin(void)
{
	if (!begun++)
		pthread_barrier_wait(&go);
}
