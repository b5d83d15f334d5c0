/* SPDX-License-Identifier: Apache-2.0 */
/**
 * target: the core of a Go program as the base of inputs. A harness has one.
 * The executable stays as it is, and its debug information is read once
 * (the linker's --wrap of gr_dwarf_open_file() and gr_dwarf_destroy()).
 */
#ifndef GR_FUZZ_TARGET_H
#define GR_FUZZ_TARGET_H

#include "fuzz.h"
#include "scan/open.h"

/** The first bytes of an input choose the questions; patches follow. */
enum { FUZZ_HEAD_BYTES = 18 };

/** Load the core GOREF_FUZZ_CORE of the executable GOREF_FUZZ_EXE. */
void fuzz_target_init(void);

/** Inputs patch the memory [start, end) of the program, as far as the core has
 * it. */
void fuzz_target_add(uint64_t start, uint64_t end);
/** Inputs patch all words that are not 0, in memory that can be written. */
void fuzz_target_add_all(void);

/** A word that inputs patch, as the core has it: an address to ask about. */
uint64_t fuzz_target_word(struct fuzz_input *in);

struct gr_error *fuzz_target_open(enum gr_scan_extent extent,
				  struct gr_scan **ret);

/** Patch the core, open it, ask, and undo the patches. Ends the program if that
 * takes too long. */
void fuzz_target_run(struct fuzz_input *in, enum gr_scan_extent extent,
		     struct gr_error *(*ask)(struct gr_scan *scan,
					     struct fuzz_input *head));

#endif /* GR_FUZZ_TARGET_H */
