/* SPDX-License-Identifier: Apache-2.0 */
/**
 * number_set: a set of numbers, mostly addresses. A malicious target could
 * choose numbers that all hash to one slot, so the hash has a seed for each
 * process.
 */
#ifndef GR_NUMBER_SET_H
#define GR_NUMBER_SET_H

#include "base/base.h"

/** Zero-initialised, it is empty. 16 to 32 bytes a number. */
struct gr_number_set {
	uint64_t *slots; /**< The number plus 1; 0 is free. */
	size_t nslots;	 /**< A power of two, or 0. */
	size_t count;
};

void gr_number_set_deinit(struct gr_number_set *set);

bool gr_number_set_has(const struct gr_number_set *set, uint64_t number);

/**
 * Add a number below UINT64_MAX; *@p is_new is false if the set already had it.
 *
 * @return false if no memory is left.
 */
bool gr_number_set_add(struct gr_number_set *set, uint64_t number,
		       bool *is_new);

#endif /* GR_NUMBER_SET_H */
