// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

enum { SOON_NS = 20000000 };

bool gr_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	if (pthread_sigmask(SIG_SETMASK, &all, &old))
		return false;
	bool is_started = !pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return is_started;
}

struct timespec gr_thread_soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SOON_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

bool gr_thread_join_soon(pthread_t thread)
{
	const struct timespec until = gr_thread_soon();

	return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}
