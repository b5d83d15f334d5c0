// SPDX-License-Identifier: Apache-2.0
#include "change.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "changing: %s\n", what);
	exit(1);
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED, "mmap");
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

__attribute__((noinline)) static void touch_in_child(char *p, size_t bytes)
{
	memset(p, 1, bytes);
}

void in_child(size_t bytes)
{
	char *p = map(bytes);
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (!pid) {
		touch_in_child(p, bytes);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void *library, *list;
static void (*grow)(void **list, size_t bytes);

void load_library(const char *path, const char *function)
{
	library = dlopen(path, RTLD_NOW);
	check(library != NULL, path);
	grow = dlsym(library, function);
	check(grow != NULL, function);
}

void call_library(size_t bytes)
{
	grow(&list, bytes);
}

void unload_library(void)
{
	check(!dlclose(library), "dlclose");
}

static pthread_barrier_t all, done;

__attribute__((noinline)) static void touch_in_thread(char *p)
{
	for (size_t i = 0; i < 16; i++)
		p[i * 4096] = 1;
}

static void *run_thread(void *p)
{
	pthread_barrier_wait(&all);
	touch_in_thread(p);
	pthread_barrier_wait(&done);
	return NULL;
}

void in_threads(int threads, size_t bytes)
{
	pthread_t *ids = calloc(threads, sizeof(*ids));
	char *p = map(bytes);

	check(bytes == (size_t)threads * 16 * 4096, "16 pages each");
	pthread_barrier_init(&all, NULL, threads);
	pthread_barrier_init(&done, NULL, threads);
	for (int i = 0; i < threads; i++)
		check(!pthread_create(&ids[i], NULL, run_thread,
				      p + (size_t)i * 16 * 4096),
		      "pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(ids);
}
