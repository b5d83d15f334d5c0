// SPDX-License-Identifier: Apache-2.0

// Blocks that C code has lost.
#define _GNU_SOURCE
#include "plant.h"

#include <pthread.h>
#include <unistd.h>

#include "record.h"
#include "threads.h"

enum {
	ARRAY_BLOCKS = 500,
	CHAIN_BLOCKS = 50,
	LOSING_THREADS = 8, // half of them end
	BLOCKS_OF_THREAD = 50,
	BIG_BLOCKS = 5,
	ODD_BLOCKS = 10,
};

struct link {
	struct link *next;
	char rest[40];
};

// The array on the stack is all that has their addresses.
static void lose_array(void)
{
	void *volatile array[ARRAY_BLOCKS];

	for (int i = 0; i < ARRAY_BLOCKS; i++)
		array[i] = take(LEAKED, "array", 32 + i % 5 * 100);
}

// Each but the first is held by a leaked one.
static void lose_chain(void)
{
	struct link *volatile head = NULL;

	for (int i = 0; i < CHAIN_BLOCKS; i++) {
		struct link *link = take(LEAKED, "chain", sizeof(*link));

		link->next = head;
		head = link;
	}
}

static void lose_of_thread(void)
{
	for (int i = 0; i < BLOCKS_OF_THREAD; i++)
		take(LEAKED, "threads", 40 + i % 4 * 48);
}

static void *end_after_loss(void *unused)
{
	far_below(lose_of_thread);
	return unused;
}

static void stay_after_loss(void)
{
	far_below(lose_of_thread);
	thread_ready();
	for (;;)
		pause();
}

static void lose_in_threads(void)
{
	for (int i = 0; i < LOSING_THREADS / 2; i++) {
		pthread_t thread = thread_begin(end_after_loss);

		pthread_join(thread, NULL);
		thread_stays(stay_after_loss);
	}
}

static void lose_big(void)
{
	for (int i = 0; i < BIG_BLOCKS; i++)
		take(LEAKED, "big", (200 << 10) + i * 8192);
}

// Their chunks have the size of a thread's cache of free chunks.
static void lose_odd(void)
{
	for (int i = 0; i < ODD_BLOCKS; i++)
		take(LEAKED, "640", 640);
}

void lose_blocks(void)
{
	far_below(lose_array);
	far_below(lose_chain);
	far_below(lose_big);
	far_below(lose_odd);
	lose_in_threads();
}
