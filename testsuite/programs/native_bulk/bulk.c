// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "bulk.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { IS_MMAPPED = 2 };

static void **blocks;
static void *volatile zeros;

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

static size_t chunk_bytes(void *block)
{
	int is_mmapped = ((uintptr_t *)block)[-1] & IS_MMAPPED;

	return malloc_usable_size(block) + (is_mmapped ? 16 : 8);
}

void fill(size_t count, size_t size, size_t untouched, struct bulk *ret)
{
	blocks = checked(calloc(count + 1, sizeof(*blocks)));
	for (size_t i = 0; i < count; i++) {
		blocks[i] = checked(malloc(size));
		memset(blocks[i], 0x11, size);
		ret->bytes += chunk_bytes(blocks[i]);
	}
	if (untouched)
		zeros = checked(calloc(1, untouched));
	struct mallinfo2 info = mallinfo2();
	ret->in_use = info.uordblks + info.hblkhd;
	ret->mapped = info.arena + info.hblkhd;
}
