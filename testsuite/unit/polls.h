/* SPDX-License-Identifier: Apache-2.0 */
/**
 * polls: a poll that counts, and that refuses at a chosen call. A loop of
 * crafted input shows by it that it asks often, and that it ends at once when
 * it may not go on: the refusal is the last call.
 */
#pragma once

#include "goruntime/layout/runtime.h"

#include "suite.h"

#include <unistd.h>

struct polls {
	uint64_t seen;
	uint64_t last; /* this call refuses, and none may follow; 0: never */
};

static inline struct gr_error *polls_call(void *ctx)
{
	struct polls *polls = ctx;

	polls->seen++;
	if (!polls->last || polls->seen < polls->last)
		return NULL;
	if (polls->seen > polls->last)
		fail_msg("it goes on although poll has refused");
	return gr_error_format(GR_ERROR_INTERRUPTED, "interrupted");
}

static inline void polls_set(struct polls *polls, struct gr_runtime *rt,
			     uint64_t last)
{
	*polls = (struct polls){ .last = last };
	rt->poll = polls_call;
	rt->poll_ctx = polls;
	rt->steps = 0;
}

/** The error of a loop that poll number polls->last has ended. */
static inline void polls_check_ended(const struct polls *polls,
				     struct gr_error *err)
{
	assert_non_null(err);
	if (err->code != GR_ERROR_INTERRUPTED)
		fail_msg("%s", err->message);
	assert_int_equal(polls->seen, polls->last);
	gr_error_destroy(err);
}

/** No test of a limit takes long; one that does not end is killed. */
static inline int polls_set_alarm(void **state)
{
	enum { SECONDS = 300 };

	(void)state;
	alarm(SECONDS);
	return 0;
}
