/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

enum fate { LEAKED, HELD, FREED };

struct record {
	enum fate fate;
	const char *kind;
	uintptr_t hidden; // the complement of the address: it holds nothing
	size_t bytes;	  // of the chunk
};

/**
 * A block of that many bytes, of which no word looks like a pointer. It is
 * recorded.
 */
void *take(enum fate fate, const char *kind, size_t size);

/** Record a block that somebody else has allocated. */
void record(enum fate fate, const char *kind, void *block);

/** A copy of the name of a kind, which is no block. */
const char *kept_name(const char *name, size_t length);

long record_count(void);

struct record record_at(long i);

/** Call it far down the stack, where later calls leave its words alone. */
void far_below(void (*call)(void));

#endif
