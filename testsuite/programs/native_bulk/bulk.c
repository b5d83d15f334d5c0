// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "bulk.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { IS_MMAPPED = 2, KEPT = 512 };

static void **blocks;
static void *volatile zeros;

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

static size_t chunk_bytes(void *block)
{
	int is_mmapped = ((uintptr_t *)block)[-1] & IS_MMAPPED;

	return malloc_usable_size(block) + (is_mmapped ? 16 : 8);
}

void fill(size_t count, size_t size, size_t untouched, struct bulk *ret)
{
	blocks = checked(calloc(count + 1, sizeof(*blocks)));
	for (size_t i = 0; i < count; i++) {
		blocks[i] = checked(malloc(size));
		memset(blocks[i], 0x11, size);
		ret->bytes += chunk_bytes(blocks[i]);
	}
	if (untouched)
		zeros = checked(calloc(1, untouched));
	struct mallinfo2 info = mallinfo2();
	ret->in_use = info.uordblks + info.hblkhd;
	ret->mapped = info.arena + info.hblkhd;
}

static void *churn_one(void *seed)
{
	static __thread void *volatile kept[KEPT];
	uint64_t state = (uintptr_t)seed;

	for (;;) {
		state = state * 6364136223846793005 + 1442695040888963407;
		unsigned int i = state >> 40 & (KEPT - 1);
		size_t most = state >> 60 ? 1 << (5 + (state >> 60)) : 1 << 18;

		free(kept[i]);
		kept[i] = checked(malloc(1 + (state >> 20) % most));
	}
	return NULL;
}

void churn(int threads)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uintptr_t i = 1; i <= (uintptr_t)threads; i++)
		if (pthread_create(&thread, NULL, churn_one, (void *)i))
			abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void *stale_block(size_t size)
{
	void *block = checked(malloc(size));

	free(block);
	return block;
}
