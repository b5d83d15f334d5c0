/* SPDX-License-Identifier: Apache-2.0 */
/**
 * blocks: the latest recorded allocation of each address.
 *
 * Unwinding a stack takes longer than all else, and most blocks are freed, or
 * their address is allocated again, within a moment. So the copy of a stack is
 * kept, and is unwound once the block has survived for a while.
 */
#ifndef GR_TRACE_BLOCKS_H
#define GR_TRACE_BLOCKS_H

#include "base/base.h"
#include "helpers/trace/drain.h"
#include "helpers/trace/reply.h"

struct gr_blocks_table;

/** Counts since the last call. */
struct gr_blocks_news {
	uint64_t table_full; /**< blocks that had no room */
	uint64_t no_stack;   /**< blocks whose stack could not be unwound */
};

/**
 * An empty table; NULL if no memory is left.
 *
 * @param is_each Write each allocation and each free at once.
 */
struct gr_blocks_table *gr_blocks_new(struct gr_drain *drain,
				      struct gr_reply *out, bool is_each);
void gr_blocks_destroy(struct gr_blocks_table *t);

/** Take one event of native_event.h; a gr_probes_take. */
int gr_blocks_take(void *table, void *event, size_t bytes);

/** Unwind the stacks of blocks that were allocated before @p time_ns
 * (CLOCK_MONOTONIC), at most @p most of them. */
void gr_blocks_settle(struct gr_blocks_table *t, uint64_t time_ns, size_t most);

/** Write all blocks, with their stacks. */
void gr_blocks_tell(struct gr_blocks_table *t);

/** All allocations that had no room. */
uint64_t gr_blocks_full(const struct gr_blocks_table *t);
size_t gr_blocks_count(const struct gr_blocks_table *t);
struct gr_blocks_news gr_blocks_news(struct gr_blocks_table *t);

#endif /* GR_TRACE_BLOCKS_H */
