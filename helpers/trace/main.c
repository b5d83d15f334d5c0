// SPDX-License-Identifier: Apache-2.0
/*
 * goref-trace PID: watch how a process grows, and stream what happens.
 * doc/internals.md has the lines that it is given, and those that it answers.
 *
 * The helper is a separate process in its own session and blocks all signals.
 * If goref ends (Ctrl-C, a crash, SIGKILL), this only closes our input. Then the
 * helper ends, and with it all of its probes.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "helpers/trace/allocations.h"
#include "helpers/trace/drain.h"
#include "helpers/trace/input.h"
#include "helpers/trace/kmem.h"
#include "helpers/trace/reply.h"
#include "helpers/trace/probes.h"
#include "helpers/trace/rights.h"
#include "helpers/trace/unwinder.h"

enum {
	STATUS_REFUSED = 1,
	STATUS_USAGE = 2,
	POLL_MS = 20,
	SAMPLES_POLL_MS = 5, // their labels are read soon, or never
	ROUND_EVENTS = 2048, // between two looks at the input
	HELD_ROUNDS = 500,   // in which a new program has to be described
};

/** The whole program. */
struct trace {
	pid_t pid;
	int pidfd;
	struct gr_input input;
	struct gr_request request;
	struct gr_reply output;
	struct gr_drain *drain;
	struct gr_probes *probes;
	struct gr_kmem *kernel;	       // in the mode kernel
	struct gr_allocations *native; // in the mode native
	struct gr_probe_sums told;     // with the last tick
	struct gr_kernel_counts told_kernel;
	struct gr_drain_news found; // since the last tick
	uint64_t told_cpu_ns;
	uint32_t programs, expected; // that the process began, and may begin
	bool is_beginning;	     // its own program is not there yet
	uint32_t held;		     // rounds
	bool has_module, is_gone, has_ended;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// --------------------------------------------------------------- what happens

static void detach(struct trace *t)
{
	gr_probes_detach(t->probes);
	if (t->kernel)
		gr_kmem_detach(t->kernel);
	if (t->native)
		gr_allocations_end(t->native);
}

static void tell_gone(struct trace *t, const char *why)
{
	if (t->is_gone)
		return;
	t->is_gone = true;
	detach(t);
	gr_reply_line(&t->output, "gone %s", why);
	gr_reply_flush(&t->output);
}

/** Read events for a while. False if some are left. */
static bool drain_some(struct trace *t)
{
	gr_drain_allow(t->drain, ROUND_EVENTS);
	gr_probes_read(t->probes);
	bool is_empty = gr_drain_left(t->drain) > 0;
	struct gr_drain_news news = gr_drain_news(t->drain);
	t->found.table_full += news.table_full;
	t->found.no_stack += news.no_stack;
	t->programs = gr_probes_programs(t->probes);
	if (!t->is_beginning && t->programs > t->expected)
		tell_gone(t, "the process began another program");
	return is_empty;
}

/** Read all that is in the ring now; more may come in the meantime. */
static void drain_all(struct trace *t)
{
	uint64_t most =
		gr_probes_ring_bytes(t->probes) / sizeof(struct gr_event_head);

	for (uint64_t n = 0; n < most && !t->output.is_broken;
	     n += ROUND_EVENTS)
		if (drain_some(t))
			break;
}

static void tell_lost(struct trace *t, const char *name, uint64_t count)
{
	if (count)
		gr_reply_line(&t->output, "lost %s %" PRIu64, name, count);
}

/** Write what is outstanding, and add what was counted to the sums. */
static void tell_kernel(struct trace *t, struct gr_probe_sums *sums)
{
	const struct gr_kernel_counts *old = &t->told_kernel;

	if (!gr_kmem_tell(t->kernel, &t->output))
		tell_lost(t, "unread", 1);
	struct gr_kernel_counts now = gr_kmem_counts(t->kernel);
	sums->events += now.events;
	sums->ns += now.ns;
	sums->over_budget += now.over_budget;
	sums->no_stack += now.no_stack;
	sums->missed += now.missed;
	t->found.table_full += now.table_full - old->table_full;
	gr_reply_line(&t->output, "others %" PRIu64 " %" PRIu64,
		      (uint64_t)(now.others - old->others),
		      (uint64_t)(now.others_ns - old->others_ns));
	t->told_kernel = now;
}

/** Add what was counted of calls of allocators. */
static void add_native(struct trace *t, struct gr_probe_sums *sums)
{
	gr_allocations_read(t->native);
	struct gr_alloc_sums now = gr_allocations_sums(t->native);
	struct gr_blocks_news news = gr_allocations_news(t->native);
	sums->events += now.calls;
	sums->ns += now.ns;
	sums->ring_full += now.ring_full;
	sums->missed += now.lost - now.ring_full;
	sums->lost_frees += now.lost_frees;
	sums->no_stack += now.no_stack;
	t->found.table_full += news.table_full;
	t->found.no_stack += news.no_stack;
}

static void tell_tick(struct trace *t)
{
	const struct gr_probe_sums *old = &t->told;

	drain_all(t);
	struct gr_probe_sums now = gr_probes_sums(t->probes);
	if (t->kernel)
		tell_kernel(t, &now);
	if (t->native)
		add_native(t, &now);
	tell_lost(t, "ring_full", now.ring_full - old->ring_full);
	tell_lost(t, "over_budget", now.over_budget - old->over_budget);
	tell_lost(t, "table_full", t->found.table_full);
	tell_lost(t, "missed", now.missed - old->missed);
	tell_lost(t, "frees", now.lost_frees - old->lost_frees);
	tell_lost(t, "no_stack",
		  now.no_stack - old->no_stack + t->found.no_stack);
	if (now.off_ns > old->off_ns)
		gr_reply_line(&t->output, "off %" PRIu64,
			      (now.off_ns - old->off_ns) / 1000000);
	uint64_t used = cpu_ns();
	gr_reply_line(&t->output, "cost %" PRIu64 " %" PRIu64 " %" PRIu64,
		      now.events - old->events, now.ns - old->ns,
		      used - t->told_cpu_ns);
	t->told = now;
	t->told_cpu_ns = used;
	memset(&t->found, 0, sizeof(t->found));
}

// ------------------------------------------------------------------ the lines

/** Add what works without BPF. It tells nothing of the kernel's memory. */
static struct gr_error *instead(const struct trace *t, struct gr_error *err)
{
	if (t->request.mode == GR_TRACE_KERNEL)
		return err;
	struct gr_error *ret = gr_error_format(
		err->code,
		"%s; without BPF, `goref attach PID save FILE' twice and "
		"`goref diff' show the growth of the heap",
		err->message);

	gr_error_destroy(err);
	return ret;
}

static void tell_probes(struct trace *t)
{
	const char *text;

	for (size_t i = 0; (text = gr_probes_text(t->probes, i)); i++)
		gr_reply_line(&t->output, "probe %s", text);
	for (size_t i = 0; t->kernel && (text = gr_kmem_text(t->kernel, i));
	     i++)
		gr_reply_line(&t->output, "probe %s", text);
	for (size_t i = 0;
	     t->native && (text = gr_allocations_text(t->native, i)); i++)
		gr_reply_line(&t->output, "probe %s", text);
}

/** Load and attach the probes of the mode. */
static struct gr_error *start_probes(struct trace *t)
{
	struct gr_error *err = gr_probes_load(
		t->pid, &t->request, gr_drain_take, t->drain, &t->probes);

	if (!err)
		err = gr_probes_start(t->probes);
	if (!err && t->request.mode == GR_TRACE_KERNEL)
		err = gr_kmem_load(t->pid, &t->request, &t->kernel);
	if (!err && t->kernel)
		err = gr_kmem_attach(t->kernel);
	if (!err && t->request.mode == GR_TRACE_NATIVE)
		err = gr_allocations_new(t->pid, &t->request, t->drain,
					 &t->output, STDIN_FILENO, &t->native);
	return !err && t->native ? gr_allocations_start(t->native) : err;
}

static struct gr_error *start(struct trace *t)
{
	struct gr_error *err = gr_rights_check_bpf();

	if (err)
		return instead(t, err);
	err = gr_rights_check_process(t->pid);
	if (err)
		return err;
	err = start_probes(t);
	if (err)
		return instead(t, err);
	tell_probes(t);
	t->is_beginning = t->request.is_waiting;
	t->told = gr_probes_sums(t->probes);
	t->told_cpu_ns = cpu_ns();
	uint64_t event_ns = gr_probes_event_ns(t->probes);
	if (event_ns)
		gr_reply_line(&t->output, "cost_of_event %" PRIu64, event_ns);
	gr_reply_line(&t->output, "ready");
	gr_reply_flush(&t->output);
	return NULL;
}

static void end(struct trace *t)
{
	t->has_ended = true;
	if (!t->probes)
		return;
	detach(t);
	tell_tick(t);
	if (t->native)
		gr_allocations_tell(t->native);
	gr_reply_line(&t->output, "end");
	gr_reply_flush(&t->output);
}

/* The functions of the program. A command may begin several programs, as a
 * script does, before it is the one that has them. */
static struct gr_error *take_module(struct trace *t)
{
	struct gr_error *err =
		gr_drain_add_module(t->drain, &t->request.module);

	t->has_module = true;
	if (err || !t->is_beginning)
		return err;
	drain_all(t);
	t->expected = t->programs;
	t->is_beginning = false;
	return NULL;
}

static struct gr_error *obey(struct trace *t, enum gr_input_kind kind)
{
	switch (kind) {
	case GR_INPUT_FACT:
		if (t->probes)
			gr_probes_configure(t->probes, &t->request);
		if (t->kernel)
			gr_kmem_configure(t->kernel, &t->request);
		if (t->native)
			gr_allocations_configure(t->native, &t->request);
		return NULL;
	case GR_INPUT_GO_MODULE:
		return take_module(t);
	case GR_INPUT_START:
		return t->probes ? NULL : start(t);
	case GR_INPUT_TICK:
		if (!t->probes)
			return NULL;
		tell_tick(t);
		gr_reply_line(&t->output, "tick %" PRIu64, t->request.tick);
		gr_reply_flush(&t->output);
		return NULL;
	case GR_INPUT_END:
		end(t);
		return NULL;
	}
	return NULL;
}

static struct gr_error *take_input(struct trace *t)
{
	struct gr_error *err = gr_input_read(&t->input, STDIN_FILENO);
	enum gr_input_kind kind;
	char *line;

	while (!err && !t->has_ended && (line = gr_input_line(&t->input))) {
		err = gr_input_parse(&t->request, line, &kind);
		if (!err)
			err = obey(t, kind);
	}
	return err;
}

// ------------------------------------------------------------------- the loop

/** Events of a new program wait until its functions are known: the stacks of Go
 * could not be walked before. */
static bool is_held(struct trace *t)
{
	return t->request.is_waiting && !t->has_module &&
	       t->held++ < HELD_ROUNDS;
}

/** How long to wait for the next look at the events; -1: there are none. */
static int wait_ms(const struct trace *t)
{
	bool has_samples = t->request.mode == GR_TRACE_GO ||
			   (t->native && gr_allocations_is_busy(t->native));

	if (!t->probes || t->is_gone)
		return -1;
	return has_samples && !t->request.is_waiting ? SAMPLES_POLL_MS :
						       POLL_MS;
}

static struct gr_error *run(struct trace *t)
{
	struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 },
				{ t->pidfd, POLLIN, 0 } };
	bool is_idle = true;

	while (!t->has_ended && !t->input.has_ended && !t->output.is_broken) {
		fds[1].fd = t->is_gone || !t->probes ? -1 : t->pidfd;
		if (poll(fds, 2, is_idle ? wait_ms(t) : 0) < 0 &&
		    errno != EINTR)
			return gr_error_format(GR_ERROR_IO, "poll: %s",
					       strerror(errno));
		if (t->probes && gr_probes_keep_budget(t->probes))
			gr_drain_forget_maps(t->drain);
		if (t->probes && !is_held(t))
			is_idle = drain_some(t);
		if (t->native && !t->is_gone)
			is_idle = gr_allocations_step(t->native) && is_idle;
		if (gr_reply_is_urgent(&t->output))
			gr_reply_flush(&t->output);
		if (fds[1].revents) {
			drain_all(t);
			tell_gone(t, "the process has ended");
		}
		if (!fds[0].revents)
			continue;
		struct gr_error *err = take_input(t);
		if (err)
			return err;
	}
	return NULL;
}

static void leave_the_terminal(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); // fails for a group leader, which is harmless
}

static struct gr_error *trace(struct trace *t)
{
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0)
		return gr_error_format(GR_ERROR_PROCESS, "%s",
				       errno == ESRCH ? "no such process" :
							strerror(errno));
	struct gr_error *err = gr_drain_new(t->pid, &t->output, &t->drain);
	if (!err)
		err = run(t);
	gr_kmem_destroy(t->kernel);
	gr_allocations_destroy(t->native);
	gr_probes_destroy(t->probes);
	gr_drain_destroy(t->drain);
	close(t->pidfd);
	return err;
}

int main(int argc, char **argv)
{
	char *rest = NULL;
	long pid = argc == 2 ? strtol(argv[1], &rest, 10) : 0;

	if (!rest || *rest || pid < 1 || pid > INT32_MAX) {
		fprintf(stderr, "usage: goref-trace PID\n");
		return STATUS_USAGE;
	}
	leave_the_terminal();
	gr_unwinder_limit_memory();
	struct trace *t = calloc(1, sizeof(*t));
	if (!t)
		return STATUS_REFUSED;
	t->pid = (pid_t)pid;
	t->output.file = stdout;
	struct gr_error *err = trace(t);
	if (err) {
		gr_reply_line(&t->output, "refused %s", err->message);
		gr_reply_flush(&t->output);
	}
	int status = err ? STATUS_REFUSED : 0;
	gr_error_destroy(err);
	free(t);
	return status;
}
