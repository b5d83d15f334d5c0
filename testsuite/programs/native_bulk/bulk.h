/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BULK_H
#define BULK_H

#include <stddef.h>

struct bulk {
	size_t bytes;  // of all chunks
	size_t in_use; // what mallinfo2() says
	size_t mapped; // of arenas and of blocks that are mapped one by one
};

/**
 * Allocate that many blocks of that size, and write to each; and one block of
 * zeros, to which nobody writes. Variables hold all of them.
 */
void fill(size_t count, size_t size, size_t untouched, struct bulk *ret);

/** Start threads that allocate and free blocks of all sizes for ever. */
void churn(int threads);

/** A block that is free again. */
void *stale_block(size_t size);

#endif
