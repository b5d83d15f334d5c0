/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MAPPED_H
#define MAPPED_H

#include <stddef.h>
#include <stdint.h>

enum { BYTES = 1 << 20 };

enum kind {
	VARIABLE,  // touched, and in a variable of C
	NOBODY,	   // not touched, and in none
	SHARED,	   // shared memory without a file
	UNMAPPED,  // given back
	TRIMMED,   // the second half was given back
	PART,	   // its first half
	SHRUNK,	   // a block of a thread's heap that was cut off behind it
	OF_BREAK,  // a block behind the break of now
	REPLACED,  // a block of its own mapping, where another mapping is now
	REPLACING, // that one
	NKINDS,
};

struct range {
	uintptr_t hidden; // the complement of the address
	size_t bytes;
};

struct range take(int kind);
const char *name_of(int kind);

/** Memory that was mapped, for Go to hold. */
uintptr_t for_go(void);

/** An address in the code of the program. */
uintptr_t code(void);

#endif
