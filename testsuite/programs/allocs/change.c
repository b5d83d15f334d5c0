// SPDX-License-Identifier: Apache-2.0
/* Changes of the process: threads, a child, libraries. */
#include "allocs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "allocs: %s\n", what);
	exit(1);
}

static struct {
	pthread_barrier_t all;
	int library;
	uint64_t count;
	size_t bytes;
} task;

static void *run_thread(void *unused)
{
	pthread_barrier_wait(&task.all);
	make_blocks(task.library, 0, task.count, task.bytes, HOLDER_NOBODY, 0,
		    NULL);
	pthread_barrier_wait(&task.all);
	return unused;
}

void in_threads(int library, int threads, uint64_t count, size_t bytes)
{
	pthread_t *ids = calloc(threads, sizeof(*ids));

	task.library = library;
	task.count = count;
	task.bytes = bytes;
	pthread_barrier_init(&task.all, NULL, threads);
	for (int i = 0; i < threads; i++)
		check(!pthread_create(&ids[i], NULL, run_thread, NULL),
		      "pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(ids);
}

/* The child allocates until it is killed. */
int fork_allocating(void)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct timespec moment = { 0, 1000000 };

		make_blocks(0, 0, 1, 64, HOLDER_NOBODY, 0, NULL);
		nanosleep(&moment, NULL);
	}
}

static void *allocator;

void use_allocator(const char *path, const char *prefix, uint64_t count)
{
	char name[64];
	void (*use)(uint64_t count);

	allocator = dlopen(path, RTLD_NOW);
	check(allocator != NULL, path);
	snprintf(name, sizeof(name), "%s_use", prefix);
	use = (void (*)(uint64_t))dlsym(allocator, name);
	check(use != NULL, name);
	use(count);
}

void unload_allocator(void)
{
	check(!dlclose(allocator), "dlclose");
}

static void (*sample)(uint64_t count, size_t bytes, uint64_t every);
static int (*next)(uint64_t *index, struct sample *sample);

void load_sampler(const char *path, const char *prefix)
{
	void *library = dlopen(path, RTLD_NOW);
	char name[64];

	check(library != NULL, path);
	snprintf(name, sizeof(name), "%s_sample", prefix);
	sample = dlsym(library, name);
	snprintf(name, sizeof(name), "%s_next", prefix);
	next = dlsym(library, name);
	check(sample && next, name);
}

void sampled_blocks(uint64_t count, size_t bytes, uint64_t keep_every)
{
	check(sample != NULL, "no sampler");
	sample(count, bytes, keep_every);
	__asm__ volatile("");
}

int next_sample(uint64_t *index, struct sample *found)
{
	return next(index, found);
}
