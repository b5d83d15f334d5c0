/* SPDX-License-Identifier: Apache-2.0 */
/**
 * keys: a hash table from pairs of numbers to indices of rows, for groups and
 * merged paths. It grows with the number of rows, not with the heap.
 */
#ifndef GR_GRAPH_KEYS_H
#define GR_GRAPH_KEYS_H

#include "base/base.h"

struct gr_key_slot {
	uint64_t key;
	uint32_t parent;
	uint32_t index; /**< Plus one; 0: the slot is free. */
};

/**
 * Zero-initialised is ready.
 *
 * Invariant: capacity is 0 or a power of two, and at most half of the slots are
 * in use.
 */
struct gr_keys {
	struct gr_key_slot *slots;
	uint64_t capacity;
	uint64_t count;
};

/** The index of (@p key, @p parent), or UINT32_MAX if there is none. */
uint32_t gr_keys_find(const struct gr_keys *keys, uint64_t key,
		      uint32_t parent);

/**
 * Enter an index for (@p key, @p parent), which has none yet.
 *
 * @return false if no memory is left.
 */
bool gr_keys_add(struct gr_keys *keys, uint64_t key, uint32_t parent,
		 uint32_t index) GR_MUST_CHECK;

void gr_keys_deinit(struct gr_keys *keys);

#endif /* GR_GRAPH_KEYS_H */
