/* SPDX-License-Identifier: Apache-2.0 */
/**
 * typemask: pointer masks of runtime type descriptors. Source:
 * internal/abi/type.go (Type.GCData), runtime/type.go (getGCMaskOnDemand,
 * buildGCMask), runtime/mbitmap.go (runGCProg).
 *
 * On-demand masks are always built here from the descriptors: the runtime's
 * own is missing until its collector first needs it.
 */
#ifndef GR_TYPEMASK_H
#define GR_TYPEMASK_H

#include "goruntime/runtime.h"

/** Which words of a value of a type are pointers. */
struct gr_type_mask {
	uint64_t size_bytes; /**< Of the type. */
	uint64_t nwords;     /**< Words that the mask covers (PtrBytes / 8). */
	uint64_t *bits;	     /**< nwords bits (and one word more). */
};

/**
 * The mask of the type at @p addr, cached; NULL in *@p ret when the record
 * cannot be read or makes no sense (counted as a gap once).
 */
struct gr_error *
gr_type_mask_get(struct gr_runtime *rt, uint64_t addr,
		 const struct gr_type_mask **ret) GR_MUST_CHECK;

/**
 * Run a GC program (runtime/mbitmap.go: runGCProg) of @p program into at most
 * @p nwords bits of @p bits, which start out as zeros.
 *
 * @return false when the program is damaged or does not end.
 */
bool gr_gc_program_run(struct gr_bytes program, uint64_t *bits,
		       uint64_t nwords);

void gr_type_masks_destroy(struct gr_type_masks *masks);

#endif /* GR_TYPEMASK_H */
