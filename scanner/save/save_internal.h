/* SPDX-License-Identifier: Apache-2.0 */
/** save_internal: the steps of save.c that have their own files. */
#ifndef GR_SAVE_INTERNAL_H
#define GR_SAVE_INTERNAL_H

#include "inferior/arch.h"
#include "inferior/saved_target.h"
#include "scan/stop.h"

/** ask.c: ask all questions; those on values only if they are saved. */
struct gr_error *gr_save_ask(struct gr_scan *scan,
			     bool with_values) GR_MUST_CHECK;

/** c_words.c: record the words that lead to blocks of C. */
struct gr_error *gr_save_note_c_words(struct gr_stop *stop) GR_MUST_CHECK;

/** pointers.c: record the words that are pointers by the collector's masks,
 * of the heap, of data and bss, and of stacks. */
struct gr_error *gr_save_note_pointers(struct gr_stop *stop) GR_MUST_CHECK;

/** pointers.c: clear registers that are no addresses of the target, but for the
 * bits that tell what a thread does in its system call. */
void gr_save_scrub_registers(const struct gr_runtime *rt, struct gr_regs *regs);

/** paths.c: copy the lists of mappings to @p saved, with no path that is a
 * value. The paths belong to the scan. */
struct gr_error *gr_save_copy_mappings(struct gr_stop *stop,
				       struct gr_saved *saved) GR_MUST_CHECK;

#endif /* GR_SAVE_INTERNAL_H */
