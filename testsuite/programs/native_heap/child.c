// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int fork_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		abort();
	if (child)
		return child;
	// The parent may have ended before.
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	for (;;)
		pause();
}
