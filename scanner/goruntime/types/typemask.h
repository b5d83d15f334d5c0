/* SPDX-License-Identifier: Apache-2.0 */
/**
 * typemask: pointer masks of runtime type descriptors. Source:
 * internal/abi/type.go (Type.GCData), runtime/type.go (getGCMaskOnDemand,
 * buildGCMask), runtime/mbitmap.go (runGCProg).
 *
 * On-demand masks are always built from the descriptors, because the runtime's
 * own mask is missing until the collector first needs it.
 */
#ifndef GR_TYPEMASK_H
#define GR_TYPEMASK_H

#include "goruntime/layout/runtime.h"

struct gr_types;
struct gr_type_masks;

/** The pointer words in a value of a type. */
struct gr_type_mask {
	uint64_t size_bytes; /**< Size of the type. */
	uint64_t nwords;     /**< Words that the mask covers (PtrBytes / 8). */
	uint64_t *bits;	     /**< nwords bits, and one spare word. */
};

/**
 * Return the cached mask of the type at @p addr in *@p ret. It is NULL if the
 * record cannot be read or is invalid, which is counted as a gap once.
 */
struct gr_error *
gr_type_mask_get(struct gr_types *types, uint64_t addr,
		 const struct gr_type_mask **ret) GR_MUST_CHECK;

/**
 * Limit masks to @p nwords words from now on. No object with pointers is larger
 * than all of them together. 0: not known.
 */
void gr_type_masks_limit(struct gr_types *types, uint64_t nwords);

/**
 * Run the GC program @p program (runtime/mbitmap.go: runGCProg). It sets at
 * most @p nwords bits of @p bits, which must be 0 initially.
 *
 * *@p ret is false if the program is damaged or does not end.
 */
struct gr_error *gr_gc_program_run(struct gr_runtime *rt,
				   struct gr_bytes program, uint64_t *bits,
				   uint64_t nwords, bool *ret) GR_MUST_CHECK;

void gr_type_masks_destroy(struct gr_type_masks *masks);

#endif /* GR_TYPEMASK_H */
