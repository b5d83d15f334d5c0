/* SPDX-License-Identifier: Apache-2.0 */
/** outstanding: what the kernel has allocated and not freed, summed up. */
#ifndef GR_TRACE_OUTSTANDING_H
#define GR_TRACE_OUTSTANDING_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/kallsyms.h"
#include "helpers/trace/reply.h"

struct gr_outstanding;

/** Read the maps with these descriptors, which have to stay open. */
struct gr_error *gr_outstanding_new(int blocks_fd, int stacks_fd,
				    struct gr_outstanding **ret) GR_MUST_CHECK;
void gr_outstanding_destroy(struct gr_outstanding *o);

/** Does the kernel tell the names of its functions? */
bool gr_outstanding_has_names(const struct gr_outstanding *o);

/** Write the sums of this moment, and the stacks that are new. False if not all
 * could be read. */
bool gr_outstanding_tell(struct gr_outstanding *o, struct gr_reply *out);

/** Is it a function of the tracing itself? */
bool gr_outstanding_is_own(const char *function);
/** Is it one in which an allocator takes pages for its own blocks? */
bool gr_outstanding_is_allocator(const char *function);

#endif /* GR_TRACE_OUTSTANDING_H */
