/* SPDX-License-Identifier: Apache-2.0 */
/**
 * poll: how a long loop asks, every few milliseconds, whether to go on. Ctrl-C,
 * a time limit or a memory limit ends it.
 */
#ifndef GR_POLL_H
#define GR_POLL_H

#include "base/error.h"
#include "base/progress.h"

/** The caller's question "go on?"; a NULL pointer or function says yes. */
struct gr_poll {
	/** NULL: go on. An error ends the loop, and is returned. */
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
	struct gr_progress *progress; /**< NULL: nobody looks at it. */
};

/** Count units of work for who looks at the progress. */
static inline void gr_poll_count(const struct gr_poll *poll, uint64_t units)
{
	if (poll && poll->progress)
		poll->progress->done += units;
}

static inline struct gr_error *gr_poll_ask(const struct gr_poll *poll)
{
	return poll && poll->poll ? poll->poll(poll->ctx) : NULL;
}

#endif /* GR_POLL_H */
