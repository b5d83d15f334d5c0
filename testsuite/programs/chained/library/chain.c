// SPDX-License-Identifier: Apache-2.0
/*
 * A library with a part of each chain. Tests build it twice: with and without
 * frame pointers. -DPREFIX is the beginning of the names of its functions.
 */
#include <stdlib.h>
#include <string.h>

#include "../chain.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(PREFIX, name)
#define EXPORT __attribute__((visibility("default")))

/* A function with a frame of its own size. */
#define LINK(letter, bytes)                                    \
	EXPORT CHAIN_APART void NAME(letter)(struct chain * c) \
	{                                                      \
		volatile char local[bytes];                    \
		local[0] = local[bytes - 1] = 1;               \
		chain_on(c);                                   \
		local[0]++;                                    \
	}

LINK(a, 24)
LINK(b, 136)
LINK(c, 600)
LINK(d, 1500)

/* The last calls: libc touches the block, this function does, or it touches the
 * next part of a table, without any other fault. */
EXPORT CHAIN_APART void NAME(fill)(struct chain *c)
{
	void *block = malloc(c->bytes);

	if (!block)
		abort();
	memset(block, 1, c->bytes);
	c->block = block;
}

EXPORT CHAIN_APART void NAME(touch)(struct chain *c)
{
	volatile char *block = malloc(c->bytes);

	if (!block)
		abort();
	for (size_t i = 0; i < c->bytes; i += 512)
		block[i] = 1;
	c->block = (void *)block;
}

EXPORT CHAIN_APART void NAME(next)(struct chain *c)
{
	static char table[8 << 20] __attribute__((aligned(4096)));
	static size_t used;
	volatile char *part = table + used;

	if (c->bytes > sizeof(table) - used)
		abort();
	for (size_t i = 0; i < c->bytes; i += 512)
		part[i] = 1;
	used += c->bytes;
	c->block = (void *)part;
}
