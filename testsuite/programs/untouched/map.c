// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "map.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "untouched: %s\n", what);
	exit(1);
}

static char *map(size_t bytes, int rights)
{
	char *at =
		mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "mmap");
	// A part of a huge page has to be untouched.
	check(!madvise(at, bytes, MADV_NOHUGEPAGE), "madvise");
	return at;
}

static volatile char *last; /* memory that is used again */

/* Map memory, and use the first bytes of it. */
__attribute__((noinline)) void map_memory(size_t bytes, size_t used)
{
	last = memset(map(bytes, PROT_READ | PROT_WRITE), 1, used);
}

/* The same with huge pages, if there are any. */
__attribute__((noinline)) void map_huge(size_t bytes, size_t used)
{
	const size_t huge = 2 << 20;
	char *at = map(bytes + huge, PROT_READ | PROT_WRITE);

	at += -(uintptr_t)at & (huge - 1);
	check(!madvise(at, bytes, MADV_HUGEPAGE), "madvise");
	last = memset(at, 1, used);
}

/* Use a byte of each step of that memory. */
void use_again(size_t bytes, size_t step)
{
	for (size_t i = 0; i < bytes; i += step)
		last[i]++;
}

/* Reserve addresses, and get the right to use some of them. */
__attribute__((noinline)) void map_reserved(size_t bytes, size_t rights)
{
	char *at = map(bytes, PROT_NONE);

	check(!mprotect(at, rights, PROT_READ | PROT_WRITE), "mprotect");
}

/* Let a mapping grow, wherever there is room. */
__attribute__((noinline)) void map_again(size_t bytes, size_t used)
{
	char *at = map(4096, PROT_READ | PROT_WRITE);

	at = mremap(at, 4096, bytes, MREMAP_MAYMOVE);
	check(at != MAP_FAILED, "mremap");
	memset(at, 1, used);
}

__attribute__((noinline)) void map_and_drop(size_t bytes)
{
	check(!munmap(map(bytes, PROT_READ | PROT_WRITE), bytes), "munmap");
}

/* Use memory and give it back: it was touched. */
__attribute__((noinline)) void map_and_give_back(size_t bytes)
{
	char *at = map(bytes, PROT_READ | PROT_WRITE);

	memset(at, 1, bytes);
	check(!madvise(at, bytes, MADV_DONTNEED), "madvise");
}

/* Map memory, touch none of it, and unmap it, again and again. */
__attribute__((noinline)) void map_often(size_t times, size_t bytes)
{
	for (size_t i = 0; i < times; i++)
		map_and_drop(bytes);
}

__attribute__((noinline)) void map_file(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	check(fd >= 0 && !ftruncate(fd, bytes), path);
	check(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
		      MAP_FAILED,
	      "mmap of a file");
	close(fd);
}

void *volatile block;

/* A block that malloc maps alone. */
__attribute__((noinline)) void take_block(size_t bytes, size_t used)
{
	block = malloc(bytes);
	check(block != NULL, "malloc");
	memset(block, 1, used);
}

__attribute__((noinline)) void grow_break(size_t bytes, size_t used)
{
	char *at = sbrk(bytes);

	check(at != (char *)-1, "sbrk");
	memset(at, 1, used);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

__attribute__((noinline)) void start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 8 << 20);
	check(!pthread_create(&thread, &attr, wait_for_ever, NULL),
	      "pthread_create");
}
