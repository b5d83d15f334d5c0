/* SPDX-License-Identifier: Apache-2.0 */
/** kmem: the BPF programs that see what the kernel allocates for a process. */
#ifndef GR_TRACE_KMEM_H
#define GR_TRACE_KMEM_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/input.h"
#include "helpers/trace/kernel_event.h"
#include "helpers/trace/reply.h"

struct gr_kmem;

/** Load the programs, which do nothing yet. */
struct gr_error *gr_kmem_load(pid_t pid, const struct gr_request *req,
			      struct gr_kmem **ret) GR_MUST_CHECK;

/** Let the programs run. */
struct gr_error *gr_kmem_attach(struct gr_kmem *k) GR_MUST_CHECK;

/** A sentence for people about what is seen and what is not; NULL after the last
 * one. */
const char *gr_kmem_text(const struct gr_kmem *k, size_t i);

/** Write the budget that the request says, also while the programs run. */
void gr_kmem_configure(struct gr_kmem *k, const struct gr_request *req);

/** Counts since the start, of all processors. */
struct gr_kernel_counts gr_kmem_counts(const struct gr_kmem *k);

/** Write what is outstanding now. False if not all could be read. */
bool gr_kmem_tell(struct gr_kmem *k, struct gr_reply *out);

void gr_kmem_detach(struct gr_kmem *k);
void gr_kmem_destroy(struct gr_kmem *k);

#endif /* GR_TRACE_KMEM_H */
