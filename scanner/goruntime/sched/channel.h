/* SPDX-License-Identifier: Apache-2.0 */
/**
 * channel: the header of a channel, and the goroutines in its queues. Source:
 * runtime/chan.go (hchan, waitq).
 */
#ifndef GR_CHANNEL_H
#define GR_CHANNEL_H

#include "goruntime/sched/sudog.h"

/** A channel (runtime.hchan). Counts are in elements. */
struct gr_channel {
	uint64_t addr;
	uint64_t count, capacity;
	uint64_t elem_bytes;
	bool is_closed;
	uint64_t elem_type_addr; /**< Runtime type record of an element. */
	uint64_t recvx, sendx;	 /**< Indexes in the ring. */
	uint64_t buf;		 /**< The ring. */
	uint64_t timer; /**< The timer that sends on it, since Go 1.23; or 0. */
	uint64_t recvq, sendq; /**< First sudogs of the queues, or 0. */
};

/** Read the header at @p addr. Its numbers are as the target has them. */
struct gr_error *gr_channel_read(struct gr_runtime *rt, uint64_t addr,
				 struct gr_channel *ret) GR_MUST_CHECK;

/** Note the header of the channel at @p addr for the capture. */
struct gr_error *gr_channel_plan(struct gr_runtime *rt,
				 uint64_t addr) GR_MUST_CHECK;

/**
 * Call @p visit for each sudog of a queue that begins at @p first, in the order
 * of arrival. A queue that is torn, cyclic, or longer than *@p left ends there
 * and is a gap. The walk takes from *@p left, because a sudog is in one queue
 * only.
 */
struct gr_error *gr_channel_walk(
	struct gr_runtime *rt, uint64_t chan, uint64_t first, uint64_t *left,
	struct gr_error *(*visit)(void *ctx, const struct gr_sudog *sudog),
	void *ctx) GR_MUST_CHECK;

#endif /* GR_CHANNEL_H */
