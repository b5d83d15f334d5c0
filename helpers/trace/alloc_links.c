// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/alloc_links.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "helpers/trace/rights.h"

static const uint64_t LATE_NS = 500000000; // after a deadline
static const uint64_t SECOND_NS = 1000000000;

// --------------------------------------------------------------- the deadline

/** The links that the signal takes away. A handler has no other way to know. */
static struct gr_alloc_links *guarded;

/* The signal is blocked while the links change. */
static void close_links(int number)
{
	(void)number;
	while (guarded && guarded->nfds)
		close(guarded->fds[--guarded->nfds]);
}

static void block_alarm(bool is_blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void gr_alloc_links_set_deadline(struct gr_alloc_links *l, uint64_t ns)
{
	const struct sigaction action = { .sa_handler = close_links,
					  .sa_flags = SA_RESTART };
	static bool has_timer;
	static timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM };
	uint64_t at = ns ? ns + LATE_NS : 0;
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(at / SECOND_NS),
			      .tv_nsec = (long)(at % SECOND_NS) }
	};

	block_alarm(true);
	guarded = l;
	has_timer = has_timer || !timer_create(CLOCK_MONOTONIC, &event, &timer);
	if (has_timer && !sigaction(SIGALRM, &action, NULL) &&
	    !timer_settime(timer, TIMER_ABSTIME, &when, NULL) && at)
		block_alarm(false);
}

// ------------------------------------------------------------------ the links

/** Attach a program to places of one file, in one step. */
static struct gr_error *add_multi(struct gr_alloc_links *l,
				  const struct bpf_program *program,
				  enum gr_sampler_when when, pid_t pid,
				  const struct gr_sampler_places *places)
{
	int fd = gr_sampler_attach_many(program, when, pid, places);

	if (fd < 0)
		return gr_rights_error("probes in the process's code", -fd);
	GR_ASSERT(l->nfds < GR_ARRAY_SIZE(l->fds));
	l->fds[l->nfds++] = fd;
	return NULL;
}

static struct gr_error *add_event(struct gr_alloc_links *l,
				  const struct bpf_program *program,
				  enum gr_sampler_when when,
				  const struct gr_sampler_places *places,
				  size_t i)
{
	DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts,
			    .bpf_cookie = places->cookies[i],
			    .retprobe = when == GR_SAMPLER_RETURN);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		program, -1, places->path, places->offsets[i], &opts);

	if (!link)
		return gr_rights_error("probes in the process's code, as perf "
				       "events",
				       errno);
	GR_ASSERT(l->nevents < GR_ARRAY_SIZE(l->events));
	l->events[l->nevents++] = link;
	return NULL;
}

struct gr_error *gr_alloc_links_add(struct gr_alloc_links *l,
				    enum gr_alloc_way way,
				    const struct bpf_program *program,
				    enum gr_sampler_when when, pid_t pid,
				    const struct gr_sampler_places *places)
{
	struct gr_error *err = NULL;

	block_alarm(true);
	if (!places->count)
		return NULL;
	if (way != GR_ALLOC_PERF)
		return add_multi(l, program, when, pid, places);
	for (size_t i = 0; !err && i < places->count; i++)
		err = add_event(l, program, when, places, i);
	return err;
}

void gr_alloc_links_end(struct gr_alloc_links *l)
{
	block_alarm(true);
	while (l->nfds)
		close(l->fds[--l->nfds]);
	while (l->nevents)
		bpf_link__destroy(l->events[--l->nevents]);
}
