// SPDX-License-Identifier: Apache-2.0
/*
 * goref-snapshot PID [MAX_PAUSE_MS]: make a stopped copy of a process, print
 * its PID, and keep it until standard input ends or has a byte.
 *
 * The answer is lines of text, on standard output: "refused REASON", or
 *
 *	copy PID
 *	pause_us N
 *	altered_us N
 *	thread TID RAX RDX ... RIP FS_BASE	in hex, in DWARF's order
 *	ready
 *
 * The helper is a separate process in its own session and blocks all signals.
 * If goref ends (Ctrl-C, a crash, SIGKILL), this only closes our input, and
 * then the copy is removed.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/snapshot/copy.h"
#include "helpers/snapshot/room.h"
#include "process/refusal.h"
#include "process/status.h"

enum {
	STATUS_REFUSED = 1,
	STATUS_USAGE = 2,
	DEFAULT_PAUSE_MS = 2000,
	MAX_PAUSE_MS = 3600000,
};

/* Run the checks that do not touch the process. */
static struct gr_error *check_process(pid_t pid)
{
	struct gr_error *err = gr_refusal_check(pid);

	if (err)
		return err;
	if (gr_process_reader(pid) != pid)
		return gr_error_format(GR_ERROR_IO,
				       "its first thread has ended: attach "
				       "without a snapshot");
	if (gr_task_state(pid, pid) == 'T')
		return gr_error_format(GR_ERROR_IO,
				       "it is stopped: attach without a "
				       "snapshot, or let it go on (SIGCONT)");
	return gr_room_check(pid);
}

static void print_threads(const struct gr_threads *threads)
{
	for (size_t i = 0; i < threads->tasks.list.size; i++) {
		const struct gr_task *t = &threads->tasks.list.data[i];
		if (t->stop == GR_STOP_ENDED)
			continue;
		struct gr_regs regs = gr_task_registers(t);
		printf("thread %d", t->own_tid);
		for (size_t j = 0; j < GR_NREGS; j++)
			printf(" %" PRIx64, regs.value[j]);
		printf(" %" PRIx64 "\n", regs.fs_base);
	}
}

static void print_copy(const struct gr_process_copy *copy)
{
	printf("copy %d\npause_us %" PRIi64 "\naltered_us %" PRIi64 "\n",
	       copy->copy.tid, copy->pause_us, copy->altered_us);
	print_threads(&copy->threads);
	printf("ready\n");
	fflush(stdout);
}

static int refuse(struct gr_error *err)
{
	printf("refused %s\n", err->message);
	gr_error_destroy(err);
	return STATUS_REFUSED;
}

/* Our input ends when all have closed it: a fork of a script has it, too, and
 * may live long. So the script writes something. */
static void wait_for_input(void)
{
	char buf[64];

	for (;;) {
		ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n >= 0 || errno != EINTR)
			return;
	}
}

static void leave_the_terminal(void)
{
	sigset_t all;

	signal(SIGCHLD, SIG_DFL); // if ignored, it would not be reported
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); // fails for a group leader, which is harmless
	// Our own page faults must not delay a stopped process. This may be
	// forbidden, which is harmless.
	mlockall(MCL_CURRENT | MCL_FUTURE);
}

static long parse(const char *text, long most)
{
	char *end;
	long number = strtol(text, &end, 10);

	return *end || number < 1 || number > most ? -1 : number;
}

int main(int argc, char **argv)
{
	struct gr_process_copy copy = { .pause_us = 0 };
	long pid = argc > 1 ? parse(argv[1], INT32_MAX) : -1;
	long ms = argc > 2 ? parse(argv[2], MAX_PAUSE_MS) : DEFAULT_PAUSE_MS;

	if (pid < 0 || ms < 0 || argc > 3) {
		fprintf(stderr, "usage: goref-snapshot PID [MAX_PAUSE_MS]\n");
		return STATUS_USAGE;
	}
	leave_the_terminal();
	struct gr_error *err = check_process((pid_t)pid);
	if (!err)
		err = gr_process_copy_make(&copy, (pid_t)pid, ms * 1000);
	if (!err) {
		print_copy(&copy);
		wait_for_input();
	}
	struct gr_error *end_err = gr_process_copy_end(&copy);
	if (err) {
		gr_error_destroy(end_err);
		return refuse(err);
	}
	return end_err ? refuse(end_err) : 0;
}
