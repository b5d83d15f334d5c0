/* SPDX-License-Identifier: Apache-2.0 */
/** questions: what the harnesses ask a scan, whatever it was made of. */
#ifndef GR_FUZZ_QUESTIONS_H
#define GR_FUZZ_QUESTIONS_H

#include "fuzz.h"
#include "scan/open.h"

/**
 * Walk the heap, verify it, perhaps find its dominators, and ask why some
 * objects and the one at @p addr are there. Ends the program if more is reached
 * than is allocated. @p in says how.
 */
struct gr_error *fuzz_ask_heap(struct gr_scan *scan, struct fuzz_input *in,
			       uint64_t addr);

/**
 * Find the blocks of C, those that nothing holds, and what the resident pages
 * are; describe the object or block at @p addr, and sum up who holds what. Ends
 * the program if the sums do not hold.
 */
struct gr_error *fuzz_ask_native(struct gr_scan *scan, uint64_t addr);

/**
 * Ask what ended the program, what its goroutines do and wait for, and which
 * have leaked. Ends the program if more have leaked than are blocked.
 * @p how Which groups and columns, and whether calls with their variables.
 */
struct gr_error *fuzz_ask_goroutines(struct gr_scan *scan, unsigned int how);

#endif /* GR_FUZZ_QUESTIONS_H */
