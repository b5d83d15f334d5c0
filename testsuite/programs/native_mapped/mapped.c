// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mapped.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BLOCKS = 64,
	BLOCK_BYTES = 100000, // less than what malloc maps by itself
	HEADER_BYTES = 16,
};

static void *volatile variable;
static struct range ranges[NKINDS];
static pthread_barrier_t done;

const char *name_of(int kind)
{
	static const char *const names[NKINDS] = {
		[VARIABLE] = "variable", [NOBODY] = "nobody",
		[SHARED] = "shared",	 [UNMAPPED] = "unmapped",
		[TRIMMED] = "trimmed",	 [PART] = "part",
		[SHRUNK] = "shrunk",	 [OF_BREAK] = "of the break",
		[REPLACED] = "replaced", [REPLACING] = "replacing",
	};

	return names[kind];
}

static void *map(void *at, size_t bytes, int how)
{
	void *area = mmap(at, bytes, PROT_READ | PROT_WRITE,
			  how | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED || (at && area != at))
		abort();
	return area;
}

static void note(enum kind kind, void *at, size_t bytes)
{
	ranges[kind] = (struct range){ ~(uintptr_t)at, bytes };
}

// The last of many blocks lies in memory that malloc gives back with them.
static void note_last_block(enum kind kind)
{
	void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	note(kind, blocks[BLOCKS - 1], BLOCK_BYTES);
	for (int i = BLOCKS; i-- > 0;)
		free(blocks[i]);
	memset(blocks, 0, sizeof(blocks));
}

// No signal ends up in a thread that Go does not know.
static void *run(void *unused)
{
	void *volatile first = malloc(24); // keeps the heap

	note_last_block(SHRUNK);
	pthread_barrier_wait(&done);
	while (first)
		pause();
	return unused;
}

static void shrink_heap_of_thread(void)
{
	sigset_t all, old;
	pthread_t thread;

	pthread_barrier_init(&done, NULL, 2);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_barrier_wait(&done);
}

/* The kernel gives memory at these addresses only to who asks for it: what was
 * unmapped there stays so. */
static char *map_apart(int number, size_t bytes)
{
	return map((void *)((uintptr_t)number << 40), bytes,
		   MAP_PRIVATE | MAP_FIXED_NOREPLACE);
}

static void trim(void)
{
	char *area = map_apart(2, 2 * BYTES);

	munmap(area + BYTES, BYTES);
	note(TRIMMED, area, 2 * BYTES);
	note(PART, area, BYTES);
}

static void replace(void)
{
	size_t bytes = 4 * BYTES;
	char *block = malloc(bytes);

	note(REPLACED, block, bytes);
	free(block);
	note(REPLACING, map(block - HEADER_BYTES, bytes, MAP_PRIVATE), bytes);
}

static void unmap(void)
{
	void *at = map_apart(1, BYTES);

	munmap(at, BYTES);
	note(UNMAPPED, at, BYTES);
}

struct range take(int kind)
{
	switch (kind) {
	case VARIABLE:
		variable = map(NULL, BYTES, MAP_PRIVATE);
		memset(variable, 1, BYTES);
		note(kind, variable, BYTES);
		break;
	case NOBODY:
		note(kind, map(NULL, BYTES, MAP_PRIVATE), BYTES);
		break;
	case SHARED:
		note(kind, map(NULL, BYTES, MAP_SHARED), BYTES);
		break;
	case UNMAPPED:
		unmap();
		break;
	case TRIMMED:
		trim();
		break;
	case SHRUNK:
		shrink_heap_of_thread();
		break;
	case OF_BREAK:
		note_last_block(OF_BREAK);
		break;
	case REPLACED:
		replace();
		break;
	}
	return ranges[kind];
}

uintptr_t for_go(void)
{
	void *area = map(NULL, BYTES, MAP_PRIVATE);

	memset(area, 1, BYTES / 2);
	return (uintptr_t)area;
}

uintptr_t code(void)
{
	return (uintptr_t)&take;
}
