/* SPDX-License-Identifier: Apache-2.0 */
/** locked_word: which lock the code of an inlined Lock or Unlock is about. Knows
 * the atomic instructions of x86-64. */
#ifndef GR_LOCKED_WORD_H
#define GR_LOCKED_WORD_H

#include "goroutines/locks/lock_code.h"

/**
 * Find the atomic instruction among those of a run of an inlined call.
 *
 * @param code Of the function.
 * @param word_off From the lock to the word that the instruction changes.
 * @return false if there is none; then nothing is set.
 */
bool gr_locked_word_find(const struct gr_func *func, const uint8_t *code,
			 const struct gr_pc_run *run, uint8_t word_off,
			 uint64_t *pc, struct gr_lock_at *at);

/** The same of the last one shortly before @p addr: it sometimes has the line of
 * the call, and not that of the inlined function. */
bool gr_locked_word_before(const struct gr_func *func, const uint8_t *code,
			   uint64_t addr, uint8_t word_off, uint64_t *pc,
			   struct gr_lock_at *at);

#endif /* GR_LOCKED_WORD_H */
