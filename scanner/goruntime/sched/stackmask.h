/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackmask: sets bits of an area's live words by ranges, by pointer masks and
 * by GC programs of the target. The module does not know frames.
 */
#ifndef GR_STACKMASK_H
#define GR_STACKMASK_H

#include "goruntime/layout/runtime.h"

/**
 * Take @p n from the budget for one stack. Valid maps name each word of the
 * stack a few times at most. If the budget is too small, it becomes 0.
 */
static inline bool gr_spend(uint64_t *left, uint64_t n)
{
	bool is_enough = n <= *left;

	*left = is_enough ? *left - n : 0;
	return is_enough;
}

/**
 * Mark a word as live. A precise mark replaces a conservative one. Addresses
 * that lie outside the area or are not aligned are ignored.
 */
void gr_area_mark(struct gr_area *area, uint64_t addr, bool conservative);

/** True if a live word lies in [addr, addr + bytes). */
bool gr_area_has_live(const struct gr_area *area, uint64_t addr,
		      uint64_t bytes);

/** True if a word in [addr, addr + bytes) is live only conservatively. */
bool gr_area_has_doubt(const struct gr_area *area, uint64_t addr,
		       uint64_t bytes);

/** Mark every word of [start, end) as live, conservatively. */
void gr_area_mark_range(struct gr_area *area, uint64_t start, uint64_t end);

/**
 * Mark the words from @p start on whose bit is set in the mask of @p nwords
 * bits at target address @p mask_addr. If the mask cannot be read, all these
 * words are marked conservatively and a gap is counted.
 */
struct gr_error *gr_area_mark_mask(struct gr_runtime *rt, struct gr_area *area,
				   uint64_t start, uint64_t nwords,
				   uint64_t mask_addr,
				   bool conservative) GR_MUST_CHECK;

/**
 * Do the same as gr_area_mark_mask() with a GC program (runtime.runGCProg).
 * @p program_addr is the address of the length word before the program.
 */
struct gr_error *gr_area_mark_program(struct gr_runtime *rt,
				      struct gr_area *area, uint64_t start,
				      uint64_t nwords, uint64_t program_addr,
				      bool conservative) GR_MUST_CHECK;

#endif /* GR_STACKMASK_H */
