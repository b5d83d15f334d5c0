/* SPDX-License-Identifier: Apache-2.0 */
/** pool_items: what lies in a sync.Pool. Source: sync/pool.go (poolLocal),
 * sync/poolqueue.go (poolChain). */
#ifndef GR_POOL_ITEMS_H
#define GR_POOL_ITEMS_H

#include "goroutines/finalizers/pools.h"
#include "goruntime/heap/heap.h"
#include "goruntime/types/types.h"

/** An interface value: its type record and its data word. */
struct gr_pool_item {
	uint64_t type_addr, data;
};
GR_VECTOR(gr_pool_item_vector, struct gr_pool_item);

/** Offsets of the tables of a pool. */
struct gr_pool_layout {
	uint64_t local_bytes, private_off, tail_off;
	uint64_t vals_off, next_off;
};

/** Find the offsets. *@p is_known is false if the types are not known. */
struct gr_error *gr_pool_layout_find(struct gr_types *types,
				     struct gr_pool_layout *ret,
				     bool *is_known) GR_MUST_CHECK;

/**
 * Append the items of a pool. What cannot be read is left out.
 *
 * @param left Words that all pools together may still have.
 */
struct gr_error *
gr_pool_items_read(const struct gr_heap *heap,
		   const struct gr_pool_layout *layout,
		   const struct gr_pool *pool, uint64_t *left,
		   struct gr_pool_item_vector *ret) GR_MUST_CHECK;

#endif /* GR_POOL_ITEMS_H */
