/* SPDX-License-Identifier: Apache-2.0 */
/** drain: events of the ring become stacks and records of the answer. */
#ifndef GR_TRACE_DRAIN_H
#define GR_TRACE_DRAIN_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/event.h"
#include "helpers/trace/reply.h"

struct gr_drain;

struct gr_error *gr_drain_new(pid_t pid, struct gr_reply *out,
			      struct gr_drain **ret) GR_MUST_CHECK;
void gr_drain_destroy(struct gr_drain *drain);

/** Take one event; a gr_probes_take. It refuses more after gr_drain_allow(). */
int gr_drain_take(void *drain, void *event, size_t bytes);

/** Unwind the stack of an event that is whole, and tell it if it is new. 0: it
 * has none, or there is no room. */
uint32_t gr_drain_stack(struct gr_drain *drain, const struct gr_event *event);
/** Is an event with a stack as long as it says? */
bool gr_drain_is_whole(const struct gr_event *event, size_t bytes);
/** Count an event. Negative: no more of them are to be taken now. */
int gr_drain_count(struct gr_drain *drain);

/** The number of events until gr_drain_take() refuses. */
void gr_drain_allow(struct gr_drain *drain, uint64_t events);
/** Events that are left of the number. */
uint64_t gr_drain_left(const struct gr_drain *drain);

struct gr_error *
gr_drain_add_module(struct gr_drain *drain,
		    const struct gr_go_module *module) GR_MUST_CHECK;

/** Mappings may have changed without an event. */
void gr_drain_forget_maps(struct gr_drain *drain);

/** Mappings may have changed. Read what stacks need that are walked later, when
 * the process may have ended. */
void gr_drain_prepare(struct gr_drain *drain);

/** Counts since the last call. */
struct gr_drain_news {
	uint64_t table_full; /**< stacks that had no room */
	uint64_t no_stack;   /**< events whose stack was lost */
};
struct gr_drain_news gr_drain_news(struct gr_drain *drain);

#endif /* GR_TRACE_DRAIN_H */
