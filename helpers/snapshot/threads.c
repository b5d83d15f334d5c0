// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cleanup.h"
#include "helpers/snapshot/tracee.h"
#include "process/status.h"

enum {
	STOP_US = 50000,     // time for a thread to stop, after the last one
	THREAD_US = 20,	     // additional time for each thread
	LIMIT_US = 60000000, // time for all of them
	LET_GO_US = 5000000, // time for a late thread
};

// True if the thread has a seccomp filter, or if this is not known.
static bool has_filter(pid_t pid, pid_t tid)
{
	char text[32];

	return !gr_task_status(pid, tid, "Seccomp", text, sizeof(text)) ||
	       strcmp(text, "0") != 0;
}

/* A copy belongs to the user of the process. Ending it takes the right to send
 * signals to that user's processes, which ptrace does not need. */
static struct gr_error *check_right_to_end(pid_t pid)
{
	if (!kill(pid, 0) || errno != EPERM)
		return NULL;
	return gr_error_format(GR_ERROR_IO,
			       "its copy could not be ended: CAP_KILL is "
			       "needed for a process of another user");
}

struct gr_error *gr_threads_init(struct gr_threads *threads, pid_t pid)
{
	char text[128];

	*threads = (struct gr_threads){ .pid = pid, .mem_fd = -1 };
	threads->is_filtered = has_filter(pid, pid);
	threads->tasks.pid = pid;
	threads->tasks.is_nested = gr_process_is_nested(pid);
	snprintf(text, sizeof(text), "/proc/%d/mem", pid);
	threads->mem_fd = open(text, O_RDONLY | O_CLOEXEC);
	if (threads->mem_fd >= 0)
		return check_right_to_end(pid);
	return gr_error_format(GR_ERROR_IO,
			       "not permitted to read it: %s (run as root or "
			       "with CAP_SYS_PTRACE)",
			       strerror(errno));
}

void gr_threads_deinit(struct gr_threads *threads)
{
	if (threads->pid && threads->mem_fd >= 0)
		close(threads->mem_fd);
	gr_tasks_deinit(&threads->tasks);
	memset(threads, 0, sizeof(*threads));
}

// ------------------------------------------------------------------ stopping

static struct gr_tasks_patience patience_for(size_t count)
{
	return (struct gr_tasks_patience){
		.limit_us = LIMIT_US,
		.quiet_us = STOP_US + (int64_t)count * THREAD_US,
	};
}

// The error for the first thread that has not stopped; NULL if all have
// stopped.
static struct gr_error *check_stopped(const struct gr_threads *threads)
{
	const struct gr_task_vector *list = &threads->tasks.list;
	size_t i = 0;

	while (i < list->size && list->data[i].stop != GR_STOP_NONE)
		i++;
	if (i == list->size)
		return NULL;
	pid_t tid = list->data[i].tid;
	return gr_error_format(GR_ERROR_LIMIT,
			       "its thread %d does not stop (state %c): try "
			       "again later, or attach without a snapshot",
			       (int)tid, gr_task_state(threads->pid, tid));
}

struct gr_error *gr_threads_stop(struct gr_threads *threads)
{
	const struct gr_tasks_patience patience =
		patience_for(gr_tasks_count(threads->pid));
	struct gr_error *err = gr_tasks_stop(&threads->tasks, &patience);

	if (!err)
		err = check_stopped(threads);
	// A thread that is still traced cannot be seized in another try.
	if (err && !gr_threads_release(threads) && err->code == GR_ERROR_LIMIT)
		err->code = GR_ERROR_IO;
	return err;
}

bool gr_threads_release(struct gr_threads *threads)
{
	struct gr_task_vector *list = &threads->tasks.list;
	bool are_all = true;

	if (gr_tasks_release(&threads->tasks))
		return true;
	// A thread that has not stopped yet is detached once it stops.
	int64_t deadline_us = gr_now_us() + LET_GO_US;
	for (size_t i = 0; i < list->size; i++) {
		if (list->data[i].stop != GR_STOP_NONE)
			continue;
		gr_task_interrupt(&list->data[i]);
		gr_tracee_wait(&list->data[i], deadline_us);
		if (!gr_task_detach(&list->data[i]))
			are_all = false;
	}
	return are_all;
}

// ------------------------------------------------------------------ choosing

// If only some threads have a filter, the others are fit.
static enum gr_fitness fitness_of(const struct gr_threads *threads,
				  struct gr_task *t)
{
	uint8_t code[GR_CALL_BYTES];

	if (t->stop != GR_STOP_TRAP)
		return GR_FITNESS_NONE;
	enum gr_fitness fitness = gr_arch_fitness(&t->regs);
	t->has_filter = has_filter(threads->pid, t->tid);
	if (fitness == GR_FITNESS_NONE ||
	    (t->has_filter && !threads->is_filtered) ||
	    pread(threads->mem_fd, code, sizeof(code),
		  (off_t)gr_arch_call_addr(&t->regs)) != sizeof(code) ||
	    !gr_arch_is_call(code))
		return GR_FITNESS_NONE;
	return fitness;
}

struct gr_task *gr_threads_pick(struct gr_threads *threads,
				enum gr_fitness least)
{
	enum gr_fitness best = least - 1;
	struct gr_task *ret = NULL;

	for (size_t i = 0;
	     i < threads->tasks.list.size && best != GR_FITNESS_FUTEX; i++) {
		struct gr_task *t = &threads->tasks.list.data[i];
		// The cheap check comes first: nothing is read for a thread
		// that is not better.
		if (gr_arch_fitness(&t->regs) <= best)
			continue;
		enum gr_fitness fitness = fitness_of(threads, t);
		if (fitness > best) {
			best = fitness;
			ret = t;
		}
	}
	return ret;
}

static bool try_one(struct gr_threads *threads, pid_t tid,
		    enum gr_fitness least)
{
	const struct gr_tasks_patience patience = patience_for(1);
	struct gr_error *err;

	gr_tasks_deinit(&threads->tasks);
	err = gr_tasks_seize(&threads->tasks, tid, &patience);
	gr_error_destroy(err);
	if (!threads->tasks.list.size)
		return false;
	gr_tasks_stop_listed(&threads->tasks, 0, &patience);
	err = check_stopped(threads);
	gr_error_destroy(err);
	// The thread may have gone on to another call since it was chosen.
	if (!err && fitness_of(threads, &threads->tasks.list.data[0]) >= least)
		return true;
	gr_threads_release(threads);
	return false;
}

/* Return the thread of number *@p nth among those in a call of that fitness. If
 * these are fewer, return 0 and reduce *@p nth by their number. */
static pid_t find_in_call(const struct gr_threads *threads,
			  enum gr_fitness fitness, size_t *nth)
{
	_cleanup_closedir_ DIR *dir = gr_tasks_open(threads->pid);

	for (pid_t tid; dir && (tid = gr_tasks_next(dir));) {
		struct gr_task_place place = gr_task_place(threads->pid, tid);

		if (!place.is_in_call ||
		    gr_arch_call_fitness((long)place.call) != fitness)
			continue;
		if (!*nth)
			return tid;
		--*nth;
	}
	return 0;
}

struct gr_task *gr_threads_stop_one(struct gr_threads *threads,
				    enum gr_fitness least, size_t *nth)
{
	size_t left = *nth;
	pid_t tid = find_in_call(threads, GR_FITNESS_FUTEX, &left);

	if (!tid && least <= GR_FITNESS_CALL)
		tid = find_in_call(threads, GR_FITNESS_CALL, &left);
	*nth = tid ? *nth + 1 : 0;
	if (!tid || !try_one(threads, tid, least))
		return NULL;
	return &threads->tasks.list.data[0];
}
