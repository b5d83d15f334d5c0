// SPDX-License-Identifier: Apache-2.0
/*
 * A library that brings an allocator of its own, with names that begin with
 * PREFIX. Nobody else calls it, and it goes with the library.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(PREFIX, name)
#define EXPORT __attribute__((visibility("default")))
#define APART __attribute__((noinline, noclone, noipa))

enum { SLOT = 256, SLOTS = 4096 };

static char memory[SLOTS][SLOT];
static int next_free[SLOTS], first_free, used;

EXPORT APART void *NAME(malloc)(size_t bytes)
{
	int slot = first_free - 1;

	if (bytes > SLOT)
		return NULL;
	if (slot >= 0)
		first_free = next_free[slot];
	else if (used < SLOTS)
		slot = used++;
	return slot < 0 ? NULL : memory[slot];
}

EXPORT APART void NAME(free)(void *block)
{
	int slot = (int)(((char *)block - memory[0]) / SLOT);

	if (!block)
		return;
	next_free[slot] = first_free;
	first_free = slot + 1;
}

EXPORT APART void *NAME(calloc)(size_t count, size_t bytes)
{
	void *block = NAME(malloc)(count * bytes);

	return block ? memset(block, 0, count * bytes) : NULL;
}

EXPORT APART void *NAME(realloc)(void *block, size_t bytes)
{
	if (!block)
		return NAME(malloc)(bytes);
	return bytes > SLOT ? NULL : block;
}

/* As many blocks that stay, and as many that do not. */
EXPORT APART void NAME(use)(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		volatile char *block = NAME(malloc)(100);

		NAME(free)(NAME(calloc)(1, 50));
		if (block)
			*block = 1;
	}
}
