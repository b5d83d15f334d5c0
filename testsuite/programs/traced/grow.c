// SPDX-License-Identifier: Apache-2.0
#include "grow.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct library {
	void (*grow)(void **list, size_t bytes);
	void (*call)(void (*back)(uintptr_t), uintptr_t data);
	void *list;
};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "traced: %s\n", what);
	exit(1);
}

static void *find(void *handle, const char *prefix, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s_%s", prefix, name);
	void *found = dlsym(handle, whole);
	check(found != NULL, whole);
	return found;
}

void *load_library(const char *path, const char *prefix)
{
	void *handle = dlopen(path, RTLD_NOW);
	struct library *library = calloc(1, sizeof(*library));

	check(handle != NULL, path);
	library->grow = find(handle, prefix, "grow");
	library->call = find(handle, prefix, "call");
	return library;
}

void grow_library(void *of, size_t bytes)
{
	struct library *library = of;

	library->grow(&library->list, bytes);
}

extern void goBack(uintptr_t data);

void call_library(void *of, uintptr_t data)
{
	((struct library *)of)->call(goBack, data);
}

__attribute__((noinline)) void *grow_mapping(size_t bytes)
{
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(map != MAP_FAILED, "mmap");
	memset(map, 1, bytes);
	return map;
}

__attribute__((noinline)) void grow_file(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	check(fd >= 0 && !ftruncate(fd, bytes), path);
	char *map =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(map != MAP_FAILED, "mmap of a file");
	close(fd);
	memset(map, 1, bytes);
}

static char table[128 << 20];
static size_t used;

__attribute__((noinline)) void grow_table(size_t bytes)
{
	check(bytes <= sizeof(table) - used, "the table is full");
	memset(table + used, 1, bytes);
	used += bytes;
}

static pthread_barrier_t grown;

static __attribute__((noinline)) void *use_stack(void *bytes)
{
	volatile char *local = __builtin_alloca((size_t)bytes);

	memset((char *)local, 1, (size_t)bytes);
	pthread_barrier_wait(&grown);
	pause();
	return (void *)(uintptr_t)local[0];
}

__attribute__((noinline)) void grow_stacks(size_t bytes, int threads)
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t each = bytes / threads;

	pthread_barrier_init(&grown, NULL, threads + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, each + (256 << 10));
	for (int i = 0; i < threads; i++)
		check(!pthread_create(&thread, &attr, use_stack, (void *)each),
		      "pthread_create");
	pthread_barrier_wait(&grown);
}
