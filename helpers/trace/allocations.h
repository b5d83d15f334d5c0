/* SPDX-License-Identifier: Apache-2.0 */
/** allocations: the mode native, which sees in windows what the process
 * allocates in C. */
#ifndef GR_TRACE_ALLOCATIONS_H
#define GR_TRACE_ALLOCATIONS_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/alloc_probes.h"
#include "helpers/trace/blocks.h"
#include "helpers/trace/drain.h"
#include "helpers/trace/reply.h"

struct gr_allocations;

/**
 * Load the probes, count the calls of one second, and say how many there were
 * and what one costs in a window.
 *
 * @param input A file; if it has something to read, the counting ends early.
 */
struct gr_error *gr_allocations_new(pid_t pid, const struct gr_request *req,
				    struct gr_drain *drain,
				    struct gr_reply *reply, int input,
				    struct gr_allocations **ret) GR_MUST_CHECK;
void gr_allocations_destroy(struct gr_allocations *a);

/** Begin with windows. */
struct gr_error *gr_allocations_start(struct gr_allocations *a) GR_MUST_CHECK;

/** See gr_alloc_probes_text(). */
const char *gr_allocations_text(const struct gr_allocations *a, size_t i);

void gr_allocations_configure(struct gr_allocations *a,
			      const struct gr_request *req);

/** Open or close windows, and take events. This has to be called often. Return
 * whether there were no more events. */
bool gr_allocations_step(struct gr_allocations *a);

/** Is a window open? Its events have to be taken soon. */
bool gr_allocations_is_busy(const struct gr_allocations *a);

/** Take all events that are there. */
void gr_allocations_read(struct gr_allocations *a);

/** Close the window, and detach all probes. */
void gr_allocations_end(struct gr_allocations *a);

/** Tell what is outstanding. */
void gr_allocations_tell(struct gr_allocations *a);

struct gr_alloc_sums gr_allocations_sums(const struct gr_allocations *a);
struct gr_blocks_news gr_allocations_news(struct gr_allocations *a);

#endif /* GR_TRACE_ALLOCATIONS_H */
