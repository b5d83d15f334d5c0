/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackmask: setting bits of an area's live words, by ranges, by pointer masks
 * and by GC programs of the target. Knows bits; knows nothing of frames.
 */
#ifndef GR_STACKMASK_H
#define GR_STACKMASK_H

#include "goruntime/runtime.h"

/**
 * Note a word as live; a precise finding outdoes a conservative one. Addresses
 * outside of the area, or not aligned, are ignored.
 */
void gr_area_mark(struct gr_area *area, uint64_t addr, bool conservative);

/** True if a live word lies in [addr, addr + bytes). */
bool gr_area_has_live(const struct gr_area *area, uint64_t addr,
		      uint64_t bytes);

/** True if a word in [addr, addr + bytes) is live only by a guess. */
bool gr_area_has_doubt(const struct gr_area *area, uint64_t addr,
		       uint64_t bytes);

/** Every word of [start, end) as live, conservatively. */
void gr_area_mark_range(struct gr_area *area, uint64_t start, uint64_t end);

/**
 * Words from @p start on whose bit is set in the mask of @p nwords bits at
 * target address @p mask_addr. If the mask cannot be read, all of them
 * conservatively, and a gap.
 */
struct gr_error *gr_area_mark_mask(struct gr_runtime *rt, struct gr_area *area,
				   uint64_t start, uint64_t nwords,
				   uint64_t mask_addr,
				   bool conservative) GR_MUST_CHECK;

/**
 * The same with a GC program at @p program_addr, behind its length word
 * (runtime.runGCProg).
 */
struct gr_error *gr_area_mark_program(struct gr_runtime *rt,
				      struct gr_area *area, uint64_t start,
				      uint64_t nwords, uint64_t program_addr,
				      bool conservative) GR_MUST_CHECK;

#endif /* GR_STACKMASK_H */
