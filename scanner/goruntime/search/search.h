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
 * The results of a search in an executable: addresses in the file, 0 if there
 * is none. They are hints to the next search, which checks all of them, and
 * searches without them if a check fails. Zero-initialised, nothing is kept.
 */
struct gr_search_kept {
	char layout[128]; /**< The name of the known layout that fits. */
	uint64_t moduledata, mheap, write_barrier;
};

/** Read what is kept for a file in the user's cache folder. */
void gr_search_kept_read(const char *path, const char *build_id,
			 struct gr_search_kept *ret);
void gr_search_kept_write(const char *path, const char *build_id,
			  const struct gr_search_kept *kept);

/**
 * Fill rt->layout for the executable @p elf, whose load bias is @p bias. Needs
 * rt->image. Also fills rt->symbols, and changes nothing else in @p rt. Uses
 * @p kept, and fills it with what was found.
 *
 * GR_ERROR_NOT_GO: the file has no table of Go functions. GR_ERROR_NO_DWARF
 * names the item that was not found: only debug information could help.
 * GR_ERROR_UNSETTLED: the item may exist, but changes during the search.
 */
struct gr_error *gr_search_layout(struct gr_runtime *rt,
				  const struct gr_elf *elf, uint64_t bias,
				  struct gr_search_kept *kept) GR_MUST_CHECK;

/** Could another layout, or another moment of a program that runs, fit? */
bool gr_search_is_misfit(const struct gr_error *err);

#endif /* GR_SEARCH_H */
