// SPDX-License-Identifier: Apache-2.0
/*
 * A library that allocates. Tests build it twice: with and without frame
 * pointers. -DPREFIX is the beginning of the names of its functions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(PREFIX, name)
#define EXPORT __attribute__((visibility("default")))
#define APART __attribute__((noinline, noclone, noipa))

void *NAME(last);

/* Blocks of 24 KiB: below the size for which malloc calls mmap. */
enum { BLOCK = 24 << 10 };

static APART void *NAME(inner)(size_t bytes, int depth)
{
	volatile char local[64];
	void *block;

	memset((char *)local, depth, sizeof(local));
	if (depth > 0) {
		block = NAME(inner)(bytes, depth - 1);
		local[0]++;
		return block;
	}
	block = malloc(bytes);
	if (!block)
		abort();
	memset(block, 1, bytes);
	return block;
}

/* Allocate blocks of so many bytes in all, in a list that begins at *list. */
EXPORT APART void NAME(grow)(void **list, size_t bytes)
{
	while (bytes >= BLOCK) {
		void **block = NAME(inner)(BLOCK, 3);

		*block = *list;
		*list = block;
		bytes -= BLOCK;
	}
}

/* Call back(data) from a function of this library. */
EXPORT APART void NAME(call)(void (*back)(uintptr_t), uintptr_t data)
{
	volatile char local[96];

	memset((char *)local, 1, sizeof(local));
	back(data);
	local[0]++;
}
