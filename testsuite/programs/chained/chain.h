/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of calls, and the block of memory that the last one takes. */
#include <stddef.h>

enum { CHAIN_FUNCTIONS = 14 };

struct chain {
	const char *rest; /* a letter for each call that is left */
	size_t bytes;
	void *block;
	/* a to h call on; i to n take the block. */
	void (*functions[CHAIN_FUNCTIONS])(struct chain *);
	void (*go)(struct chain *); /* all other letters */
};

#define CHAIN_APART __attribute__((noinline, noclone, noipa))

/* Make the next call, from the function that includes this. */
static inline __attribute__((always_inline)) void chain_on(struct chain *c)
{
	unsigned int letter = *c->rest - 'a';

	if (letter >= CHAIN_FUNCTIONS) {
		c->go(c);
		return;
	}
	c->rest++;
	c->functions[letter](c);
}

/* Find the functions of library/chain.c: a to d and i to k are those of the first
 * one, the others those of the second one. */
void chain_load(struct chain *c, const char *first, const char *second);
void chain_run(struct chain *c);
void chain_run_in_thread(struct chain *c);
