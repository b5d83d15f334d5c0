/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tracee: waits for a task that this program traces, and ends one.
 *
 * The room snapshot makes a stopped copy of a process that keeps running. It
 * knows ptrace and /proc; it knows nothing about Go. The room process stops the
 * tasks of a process; the room snapshot then runs one of them step by step.
 */
#ifndef GR_SNAPSHOT_TRACEE_H
#define GR_SNAPSHOT_TRACEE_H

#include "base/base.h"
#include "process/task.h"

/**
 * Wait until the task stops or ends, or until gr_now_us() reaches @p
 * deadline_us. SIGCHLD must be blocked.
 *
 * @return t->stop.
 */
enum gr_task_stop gr_tracee_wait(struct gr_task *t, int64_t deadline_us);

/** Kill the process, and wait until it is dead. */
void gr_tracee_kill(struct gr_task *t);

#endif /* GR_SNAPSHOT_TRACEE_H */
