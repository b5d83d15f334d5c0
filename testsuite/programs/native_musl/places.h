/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACES_H
#define PLACES_H

#include <stdint.h>

enum { MOST_LOST = 6 };

// Complements of addresses of blocks.
struct places {
	uintptr_t of_thread; // a variable of the first thread holds it
	uintptr_t kept;	     // a variable holds it
	uintptr_t result;    // that of a thread which nobody has joined
	uintptr_t left;	     // one whose address its stack still has
	// Blocks in a page of data, and each the one that it holds.
	uintptr_t lost[MOST_LOST], by_lost[MOST_LOST];
	int nlost;
};

void fill_places(struct places *ret);

/** Two threads allocate all the time. */
void allocate_always(void);

#endif
