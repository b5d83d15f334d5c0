/* SPDX-License-Identifier: Apache-2.0 */
/** refusal: why a process cannot be stopped, in words for a person. */
#ifndef GR_PROCESS_REFUSAL_H
#define GR_PROCESS_REFUSAL_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

/**
 * Check a process that is to be stopped, without touching it. The error is
 * GR_ERROR_PROCESS: there is no such process, it is a thread, it has ended, it
 * is of the kernel, it is this process, or somebody traces it already. Whether
 * tracing it is permitted turns out only when it is tried.
 */
struct gr_error *gr_refusal_check(pid_t pid) GR_MUST_CHECK;

/**
 * GR_ERROR_PROCESS for a task that PTRACE_SEIZE has refused with the error
 * @p number: somebody traces it, or it is not permitted and what would help.
 */
struct gr_error *gr_refusal_of(pid_t pid, pid_t tid, int number)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

#endif /* GR_PROCESS_REFUSAL_H */
