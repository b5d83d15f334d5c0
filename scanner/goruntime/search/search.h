/* SPDX-License-Identifier: Apache-2.0 */
/**
 * search: the Go runtime of a program without debug information.
 *
 * The search tries every known layout against the target. It takes the
 * addresses of the runtime's variables from the symbol table if the file has
 * one. Otherwise it looks for the only words of the program's data that have
 * the properties of the variable. Every result is checked, and a result that
 * is not unique is rejected. No Go version is compared.
 */
#ifndef GR_SEARCH_H
#define GR_SEARCH_H

#include "goruntime/layout/runtime.h"
#include "inferior/elf.h"

/**
 * Fill rt->layout for the executable @p elf, whose load bias is @p bias. Needs
 * rt->image. Also fills rt->symbols, and changes nothing else in @p rt.
 *
 * GR_ERROR_NOT_GO: the file has no table of Go functions. GR_ERROR_NO_DWARF
 * names the item that was not found: only debug information could help.
 * GR_ERROR_UNSETTLED: the item may exist, but changes during the search.
 */
struct gr_error *gr_search_layout(struct gr_runtime *rt,
				  const struct gr_elf *elf,
				  uint64_t bias) GR_MUST_CHECK;

#endif /* GR_SEARCH_H */
