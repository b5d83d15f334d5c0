/* SPDX-License-Identifier: Apache-2.0 */
/**
 * polled: the descriptor that a goroutine waits for in the poller. No g leads to
 * it. The receiver of the method of internal/poll.FD that waits is a live word
 * of its frame; its runtime.pollDesc leads back to the g. Source:
 * internal/poll/fd_unix.go, runtime/netpoll.go.
 */
#ifndef GR_POLLED_H
#define GR_POLLED_H

#include "goruntime/sched/goroutine.h"

struct gr_polled {
	uint64_t fd;	    /**< Address of the internal/poll.FD; 0: none. */
	uint64_t poll_desc; /**< Address of its runtime.pollDesc. */
	/** The pollDesc says that this goroutine waits. False: it could not be
	 * read, and the word is the only one that may be a poll.FD. */
	bool is_proven;
	bool is_write; /**< Waits to write, or for a connection to be made. */
	uint64_t deadline; /**< Moment of the program's clock; 0: none. */
	const struct gr_frame *frame; /**< That has the word. */
};

/** Find what @p g, whose live words are known, waits for. */
struct gr_error *gr_polled_find(const struct gr_sched *sched,
				const struct gr_goroutine *g,
				struct gr_polled *ret) GR_MUST_CHECK;

#endif /* GR_POLLED_H */
