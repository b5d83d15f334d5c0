/* SPDX-License-Identifier: Apache-2.0 */
/**
 * search: the Go runtime of a program without debug information.
 *
 * Which layout applies is found by trying every one that we know against the
 * target; where the runtime's variables are, by the symbol table if the file
 * has one, else by looking for the only words of the program's data that are
 * what they would have to be. Nothing is taken at its word: what is found is
 * checked, and what fits twice is no find. No Go version is compared.
 */
#ifndef GR_SEARCH_H
#define GR_SEARCH_H

#include "goruntime/runtime.h"
#include "target/elf.h"

/**
 * Fill rt->layout for the executable @p elf, which lies @p bias behind its
 * file addresses. Needs rt->image; fills
 * rt->symbols, too, and leaves nothing else behind in @p rt.
 *
 * GR_ERROR_NOT_GO if the file has no table of Go functions; GR_ERROR_NO_DWARF
 * names what could not be found, so that only debug information could help;
 * GR_ERROR_UNSETTLED if it may be there, but changes while it is looked at.
 */
struct gr_error *gr_search_layout(struct gr_runtime *rt,
				  const struct gr_elf *elf,
				  uint64_t bias) GR_MUST_CHECK;

#endif /* GR_SEARCH_H */
