/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

// Whose malloc() the program has: that of glibc, or of another allocator; or
// it has both, and takes turns. The other one is then linked with the prefix
// je_, or malloc() is its, and that of glibc has other names.
enum mode { GLIBC, OTHER, BOTH };

/** Choose the mode by its name in small letters; anything else is GLIBC. */
enum mode choose_mode(const char *name);

/** Is malloc() that of glibc? */
int malloc_is_glibc(void);

enum fate { LEAKED, HELD, FREED };

struct record {
	enum fate fate;
	const char *kind;
	uintptr_t hidden; // the complement of the address: it holds nothing
	size_t bytes;	  // of the chunk, or those that can be used
	int is_glibc;
};

/**
 * A block of that many bytes, of which no word looks like a pointer. It is
 * recorded.
 */
void *take(enum fate fate, const char *kind, size_t size);

/** Free a block that take() has returned. */
void give_back(void *block);

/** Record a block that somebody else has got from malloc(). */
void record(enum fate fate, const char *kind, void *block);

/** A copy of the name of a kind, which is no block. */
const char *kept_name(const char *name, size_t length);

long record_count(void);

struct record record_at(long i);

/** Call it far down the stack, where later calls leave its words alone. */
void far_below(void (*call)(void));

/**
 * As take(), of a block that is held, but the complement of its address. No copy
 * of the address stays on the stack of the thread, which later runs Go's
 * scheduler or other goroutines. One thread at a time may call it.
 */
uintptr_t take_hidden(const char *kind, size_t size);

#endif
