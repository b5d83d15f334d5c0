/* SPDX-License-Identifier: Apache-2.0 */
/** release: the objects that would be gone if all cuts were made of the rows
 * that are not small. */
#ifndef GR_WASTE_RELEASE_H
#define GR_WASTE_RELEASE_H

#include "waste/objects/check.h"

/**
 * Mark the object graph without the cuts of the rows that are not small.
 *
 * @param[out] ret_bits A bit a slot of the heap (gr_obj): the object would be
 *	gone. For free(); NULL if there are no cuts.
 * @param[out] ret_bytes The sum of their slots. Blocks of C are not in it.
 */
struct gr_error *gr_waste_release(struct gr_waste_run *run, uint64_t **ret_bits,
				  uint64_t *ret_bytes) GR_MUST_CHECK;

#endif /* GR_WASTE_RELEASE_H */
