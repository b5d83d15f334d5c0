/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANT_H
#define PLANT_H

#include <stdint.h>

// A type that only Go's fields name.
struct thing {
	long number;
	char text[88];
};

/** Blocks that are lost at once, by each kind of loss in C. */
void lose_blocks(void);

/** Blocks that memory of C holds. library: one with `held_by_library', or "" */
void hold_blocks(const char *library);

/** Blocks that memory of unusual kinds holds. */
void hold_unusually(void);

/** Blocks that are freed, and their stale addresses in a variable. */
void free_blocks(void);

/** Keep a handle or an address of Go in a block that a variable holds. */
void keep_word(const char *kind, uintptr_t word);

/** Hold a block in a frame, or in nothing but a register; never returns. */
void wait_with_frame(void);
void wait_with_register(void);

/** How many of these wait. */
int waiting_callers(void);

/** Hold a block in a frame while a coroutine runs; never returns. */
void wait_in_coroutine(void);
int waiting_coroutines(void);

/** Hold a block in the red zone below the stack pointer; never returns. */
void wait_with_red_zone(void);
int waiting_red_zones(void);

#endif
