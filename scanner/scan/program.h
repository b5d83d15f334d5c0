/* SPDX-License-Identifier: Apache-2.0 */
/** program: the program of a scan, which does not change while it runs. */
#ifndef GR_PROGRAM_H
#define GR_PROGRAM_H

#include "base/arena.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/runtime.h"
#include "goruntime/types/types.h"

/** Made once for a scan, or again after another search. */
struct gr_program {
	/** Layout, modules and symbols. Its image is that of the stop, through
	 * which the program is read. */
	struct gr_runtime rt;
	struct gr_pc_lookups pc_lookups; /**< The budget of rt. */
	struct gr_types *types;
	struct gr_arena arena;	  /**< Names; lives as long as the scan. */
	struct gr_dwarf **dwarfs; /**< One for each module, or NULL. */
	bool *is_c_asked;	  /**< By module: see gr_stop_c_types(). */
	uint64_t c_debug_bytes;	  /**< The files that were read for it. */
	const char *warnings[8];  /**< NULL-terminated. */
	size_t nwarnings;
};

#endif /* GR_PROGRAM_H */
