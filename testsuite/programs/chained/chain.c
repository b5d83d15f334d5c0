// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

extern void goChain(struct chain *c);

static void find(struct chain *c, const char *path, const char *prefix, int at)
{
	static const char *const names[] = { "a",    "b",     "c",   "d",
					     "fill", "touch", "next" };
	void *library = dlopen(path, RTLD_NOW);
	char name[64];

	for (int i = 0; library && i < 7; i++) {
		snprintf(name, sizeof(name), "%s_%s", prefix, names[i]);
		int slot = i < 4 ? 4 * at + i : 8 + 3 * at + i - 4;
		c->functions[slot] = dlsym(library, name);
		if (!c->functions[slot])
			library = NULL;
	}
	if (library)
		return;
	fprintf(stderr, "chained: %s\n", dlerror());
	exit(1);
}

void chain_load(struct chain *c, const char *first, const char *second)
{
	// A huge page would be one fault for many chains.
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	c->go = goChain;
	find(c, first, "framed", 0);
	find(c, second, "plain", 1);
}

CHAIN_APART void chain_run(struct chain *c)
{
	volatile char local[40];

	local[0] = 1;
	chain_on(c);
	local[0]++;
}

CHAIN_APART static void *chain_thread(void *c)
{
	volatile char local[40];

	local[0] = 1;
	chain_on(c);
	local[0]++;
	return NULL;
}

void chain_run_in_thread(struct chain *c)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, chain_thread, c))
		abort();
	pthread_join(thread, NULL);
}
