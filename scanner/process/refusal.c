// SPDX-License-Identifier: Apache-2.0
#include "process/refusal.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "process/status.h"

enum { TRIES = 5, TRY_NS = 1000000 };

#define SCOPE_FILE "/proc/sys/kernel/yama/ptrace_scope"

static struct gr_error *refuse(const char *text)
{
	return gr_error_format(GR_ERROR_PROCESS, "%s", text);
}

/* An error if a task has a tracer that we can see. */
static struct gr_error *check_tracer(pid_t pid, pid_t tid)
{
	char text[64], name[64] = "";

	if (!gr_task_status(pid, tid, "TracerPid", text, sizeof(text)))
		return NULL;
	pid_t tracer = atoi(text);
	if (!tracer)
		return NULL;
	gr_task_status(tracer, tracer, "Name", name, sizeof(name));
	return gr_error_format(GR_ERROR_PROCESS,
			       "process %d (%s) already traces it", (int)tracer,
			       name);
}

/* The task by which the memory is read; 0: there is none. During execve(), the
 * tasks that end are seen without memory: wait until one has memory. */
static pid_t find_reader(pid_t pid)
{
	const struct timespec nap = { 0, TRY_NS };
	char text[64];

	for (int i = 0; i < TRIES; i++) {
		pid_t reader = gr_process_reader(pid);

		if (!reader)
			return 0;
		if (gr_task_status(pid, reader, "VmSize", text, sizeof(text)))
			return reader;
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* Signal 0 finds processes that /proc does not show. */
static struct gr_error *not_seen(pid_t pid)
{
	if (pid > 0 && (!kill(pid, 0) || errno == EPERM))
		return refuse("/proc does not show it (mounted with hidepid, "
			      "or for other PIDs): run as root or with "
			      "CAP_SYS_PTRACE");
	return refuse("there is no such process");
}

struct gr_error *gr_refusal_check(pid_t pid)
{
	char text[64];

	if (!gr_task_status(pid, pid, "Tgid", text, sizeof(text)))
		return not_seen(pid);
	if (atoi(text) != pid)
		return gr_error_format(GR_ERROR_PROCESS,
				       "it is a thread: the process is %s",
				       text);
	if (pid == getpid())
		return refuse("it is the process that goref itself runs in");
	pid_t reader = find_reader(pid);
	if (reader)
		return check_tracer(pid, reader);
	return refuse(gr_process_reader(pid) ? "it has no memory of its own" :
					       "it has ended");
}

static int read_scope(void)
{
	int scope = 0;

	_cleanup_fclose_ FILE *file = fopen(SCOPE_FILE, "re");
	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	return scope;
}

static struct gr_error *not_permitted(void)
{
	const char *help = "run as root or with CAP_SYS_PTRACE (in a "
			   "container: --cap-add=SYS_PTRACE)";
	int scope = read_scope();

	if (scope == 3)
		return refuse("kernel.yama.ptrace_scope=3 forbids it until "
			      "reboot");
	if (!scope)
		return refuse(help);
	return gr_error_format(GR_ERROR_PROCESS,
			       "%s; kernel.yama.ptrace_scope is %d", help,
			       scope);
}

struct gr_error *gr_refusal_of(pid_t pid, pid_t tid, int number)
{
	struct gr_error *err = check_tracer(pid, tid);

	if (err)
		return err;
	if (number == EPERM || number == EACCES)
		return not_permitted();
	return gr_error_format(GR_ERROR_PROCESS,
			       "its thread %d cannot be traced: %s", (int)tid,
			       strerror(number));
}
