/* SPDX-License-Identifier: Apache-2.0 */
/** layout: where the tracepoints of the kernel's memory have their arguments. */
#ifndef GR_TRACE_LAYOUT_H
#define GR_TRACE_LAYOUT_H

#include "base/base.h"
#include "helpers/trace/kernel_event.h"

struct btf;

/** Does the kernel have a tracepoint? */
bool gr_layout_has(const struct btf *btf, const char *tracepoint);

/** Is the argument of a function, from 0, a pointer to data? An older function of
 * the same name may have something else there. */
bool gr_layout_takes_pointer(const struct btf *btf, const char *function,
			     uint32_t argument);

/** The layout of this kernel. A tracepoint that is not there has any. */
struct gr_kernel_layout gr_layout_find(const struct btf *btf);

#endif /* GR_TRACE_LAYOUT_H */
