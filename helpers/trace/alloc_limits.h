/* SPDX-License-Identifier: Apache-2.0 */
/**
 * alloc_limits: may an allocation of the process fail? Then operator new throws
 * an exception. It cannot pass a return probe, which has replaced the return
 * address, so the process would end.
 */
#ifndef GR_TRACE_ALLOC_LIMITS_H
#define GR_TRACE_ALLOC_LIMITS_H

#include <sys/types.h>

#include "base/base.h"

/** Does the text of /proc/PID/limits limit the memory of the process itself? */
bool gr_alloc_limits_are_set(const char *limits);

/** Does the text of /proc/PID/environ, of so many bytes, limit the heap of an
 * allocator? */
bool gr_alloc_limits_is_heap(const char *environ, size_t bytes);

/** Why an allocation may fail, in words; NULL: no reason is known. */
const char *gr_alloc_limits_why(pid_t pid);

#endif /* GR_TRACE_ALLOC_LIMITS_H */
