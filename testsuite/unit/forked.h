/* SPDX-License-Identifier: Apache-2.0 */
/* A child that waits: the process that is looked at. */
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/** Fork; the child calls @p prepare and then waits for its end. Returns when it
 * waits. */
static inline pid_t forked_start(void (*prepare)(void *ctx), void *ctx)
{
	int ready[2];
	char byte = 1;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare(ctx);
		if (write(ready[1], &byte, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static inline void forked_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
