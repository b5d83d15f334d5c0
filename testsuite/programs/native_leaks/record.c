// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "record.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_RECORDS = 8192,
	MOST_NAMES = 32,
	LONGEST_NAME = 32,
	FAR = 64 << 10,
	IS_MMAPPED = 2,
};

static struct record records[MOST_RECORDS];
static long count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void record(enum fate fate, const char *kind, void *block)
{
	int is_mmapped = ((uintptr_t *)block)[-1] & IS_MMAPPED;
	size_t usable = malloc_usable_size(block);

	pthread_mutex_lock(&lock);
	if (count == MOST_RECORDS)
		abort();
	records[count++] = (struct record){
		fate,
		kind,
		~(uintptr_t)block,
		usable + (is_mmapped ? 16 : 8),
	};
	pthread_mutex_unlock(&lock);
}

void *take(enum fate fate, const char *kind, size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	// Words of a block that was here before would hold what they name.
	memset(block, 0x11, malloc_usable_size(block));
	record(fate, kind, block);
	return block;
}

const char *kept_name(const char *name, size_t length)
{
	static char names[MOST_NAMES][LONGEST_NAME];

	if (length >= LONGEST_NAME)
		abort();
	for (int i = 0; i < MOST_NAMES; i++) {
		if (!names[i][0])
			memcpy(names[i], name, length);
		if (strlen(names[i]) == length &&
		    !memcmp(names[i], name, length))
			return names[i];
	}
	abort();
}

long record_count(void)
{
	return count;
}

struct record record_at(long i)
{
	return records[i];
}

__attribute__((noinline)) void far_below(void (*call)(void))
{
	volatile char distance[FAR];

	distance[0] = 0;
	call();
	distance[FAR - 1] = 0;
}
