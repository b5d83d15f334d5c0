/* SPDX-License-Identifier: Apache-2.0 */
/** refusal: messages that say why a process cannot be stopped. */
#ifndef GR_PROCESS_REFUSAL_H
#define GR_PROCESS_REFUSAL_H

#include <sys/types.h>

#include "base/base.h"
#include "base/error.h"

/**
 * Check whether a process can be stopped, without touching it. The error is
 * GR_ERROR_PROCESS: there is no such process, it is a thread, it has ended, it
 * belongs to the kernel, it is this process, or another process traces it. This
 * does not check permissions: only PTRACE_SEIZE tells whether they suffice.
 */
struct gr_error *gr_refusal_check(pid_t pid) GR_MUST_CHECK;

/**
 * GR_ERROR_PROCESS for a task that PTRACE_SEIZE has refused with the error
 * @p number. It names the process that already traces the task, or says what
 * permission is needed.
 */
struct gr_error *gr_refusal_of(pid_t pid, pid_t tid, int number)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

#endif /* GR_PROCESS_REFUSAL_H */
