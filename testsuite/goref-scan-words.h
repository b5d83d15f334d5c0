/* SPDX-License-Identifier: Apache-2.0 */
/* goref-scan's names of words. */
#ifndef GOREF_SCAN_WORDS_H
#define GOREF_SCAN_WORDS_H

#include "base/error.h"

struct gr_scan;

/**
 * Print the names of words, one a line: what the word leads to, its address,
 * that of the object that has it (0: a root), the type of that memory, the name,
 * the type of the field, the word's offset in the field, `pointer` or `piece` or
 * `field` or `nameless`. Tabs separate them.
 *
 * @param text the address of one word of the heap; NULL: all pointers of
 * reached objects and of roots.
 */
struct gr_error *put_words(struct gr_scan *scan,
			   const char *text) GR_MUST_CHECK;

#endif
