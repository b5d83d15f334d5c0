// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "helpers/snapshot/inject.h"
#include "helpers/snapshot/tracee.h"
#include "process/status.h"

enum {
	/* A call that does not copy the memory. */
	SHORT_CALL_US = 1000000,
	/*
	 * Limits of tries in which no thread is fit for a call or a thread is
	 * late.
	 */
	MAX_TRIES = 30,
	MAX_LATE = 3,
	BETWEEN_TRIES_US = 2000,
	/* Limit of tries to end the zombies. */
	MAX_END_TRIES = 500,
	/*
	 * The first tries accept only a thread in a futex wait. A thread in
	 * another call would get a wrong result if we were killed. Each try to
	 * copy stops the process; each try to end the zombies, only one thread.
	 */
	FUTEX_TRIES = 5,
	FUTEX_END_TRIES = 100,
	/* Stack address of B. If B ever runs by itself, it faults at once. */
	NO_STACK = 16,
	/* Minimum time to copy one page of page tables. */
	TABLE_PAGE_US = 30,
};

static struct gr_error *clone_failed(int64_t result)
{
	if (result == -EAGAIN)
		return gr_error_format(GR_ERROR_LIMIT,
				       "a limit on processes forbids another "
				       "one (RLIMIT_NPROC, or pids.max of its "
				       "control group)");
	if (result == -ENOMEM)
		return gr_error_format(GR_ERROR_NO_MEMORY,
				       "there is no memory for a copy "
				       "(vm.overcommit_memory, or its control "
				       "group)");
	return gr_error_format(GR_ERROR_IO, "it cannot be copied: %s",
			       strerror((int)-result));
}

/*
 * Let @p by create a process. *@p child is that process, stopped; it ends with
 * us.
 */
static struct gr_error *make_child(struct gr_task *by, uint64_t flags,
				   uint64_t stack, int64_t deadline_us,
				   struct gr_task *child)
{
	const uint64_t args[GR_CALL_ARGS] = { flags, stack };
	struct gr_call call;
	struct gr_error *err;

	err = gr_inject_call(by, SYS_clone, args, deadline_us, &call);
	// The new process must be killed even if the call did not return.
	child->tid = call.child;
	child->has_filter = by->has_filter;
	if (err)
		return err;
	if (call.result < 0)
		return clone_failed(call.result);
	if (!call.child)
		return gr_error_format(GR_ERROR_IO,
				       "its new process cannot be traced");
	child->own_tid = (pid_t)call.result;
	return NULL;
}

static struct gr_error *make_between(struct gr_process_copy *copy,
				     struct gr_task *t)
{
	struct gr_error *err, *end_err;
	int64_t begin_us = gr_now_us();
	int64_t deadline_us = begin_us + SHORT_CALL_US;
	uint64_t mask;

	err = gr_inject_begin(t, &mask);
	if (err)
		return err;
	err = make_child(t, CLONE_VM | CLONE_FILES, NO_STACK, deadline_us,
			 &copy->between);
	if (copy->between.tid) {
		// Without this, B may wait for a processor while the process is
		// stopped.
		gr_set_urgent(copy->between.tid, true);
		struct gr_error *adopt_err =
			gr_inject_adopt(&copy->between, deadline_us);
		if (err)
			gr_error_destroy(adopt_err);
		else
			err = adopt_err;
	}
	end_err = gr_inject_end(t, mask);
	copy->altered_us = gr_now_us() - begin_us;
	if (!err)
		return end_err;
	gr_error_destroy(end_err);
	return err;
}

/*
 * Make the copy while all threads are stopped. The threads go on after this
 * function, whether it succeeds or not.
 */
static struct gr_error *copy_stopped(struct gr_process_copy *copy,
				     int64_t max_pause_us,
				     enum gr_fitness least)
{
	struct gr_threads *threads = &copy->threads;
	struct gr_task *t = gr_threads_pick(threads, least);
	struct gr_error *err = NULL;

	if (t)
		err = make_between(copy, t);
	if (t && !err)
		err = make_child(&copy->between, CLONE_PARENT | CLONE_FILES, 0,
				 threads->tasks.begin_us + max_pause_us,
				 &copy->copy);
	gr_threads_release(threads);
	copy->pause_us = gr_now_us() - threads->tasks.begin_us;
	if (copy->pause_us > max_pause_us && err && !copy->copy.tid &&
	    copy->between.tid) {
		gr_error_destroy(err);
		return gr_error_format(GR_ERROR_LIMIT,
				       "copying its page tables took longer "
				       "than the pause of %" PRIi64
				       " ms that is allowed",
				       max_pause_us / 1000);
	}
	return err;
}

static enum gr_fitness least_fitness(int try, int futex_tries)
{
	return try < futex_tries ? GR_FITNESS_FUTEX : GR_FITNESS_CALL;
}

static bool may_try_again(const struct gr_error *err, int *late)
{
	return !err || err->code == GR_ERROR_INTERRUPTED ||
	       (err->code == GR_ERROR_LIMIT && ++*late < MAX_LATE);
}

static struct gr_error *stop_and_copy(struct gr_process_copy *copy,
				      int64_t max_pause_us)
{
	struct gr_error *err;
	int late = 0;

	for (int i = 0; i < MAX_TRIES; i++) {
		err = gr_threads_stop(&copy->threads);
		if (!err)
			err = copy_stopped(copy, max_pause_us,
					   least_fitness(i, FUTEX_TRIES));
		if (copy->between.tid || !may_try_again(err, &late))
			return err;
		gr_error_destroy(err);
		usleep(BETWEEN_TRIES_US);
	}
	return gr_error_format(
		GR_ERROR_LIMIT,
		"none of its threads waits in the kernel, where "
		"goref could inject a call: try again, or attach "
		"without a snapshot");
}

/* Estimate the pause from the size of the page tables and check it. */
static struct gr_error *check_pause(pid_t pid, int64_t max_pause_us)
{
	char text[64];

	if (!gr_task_status(pid, pid, "VmPTE", text, sizeof(text)))
		return NULL;
	int64_t us = strtoll(text, NULL, 10) / 4 * TABLE_PAGE_US;
	if (us <= max_pause_us)
		return NULL;
	return gr_error_format(GR_ERROR_LIMIT,
			       "it would be stopped for more than %" PRIi64
			       " ms to copy its page tables, and %" PRIi64
			       " ms are allowed",
			       us / 1000, max_pause_us / 1000);
}

/* Make the kernel kill the copy, not the original, when memory is short. */
static void offer_to_oom_killer(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/oom_score_adj", pid);
	_cleanup_close_ int fd = open(name, O_WRONLY | O_CLOEXEC);
	// A failure here is harmless.
	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return;
}

/*
 * Close the files of the copy: a connection that the process closes must not
 * stay open in the copy. Until this call the copy shares the table of files of
 * the process, so it keeps nothing open. Kernels before 5.9 lack the call; the
 * table stays shared.
 */
static struct gr_error *let_files_go(struct gr_task *t)
{
	const uint64_t args[GR_CALL_ARGS] = { 0, UINT32_MAX,
					      CLOSE_RANGE_UNSHARE };
	struct gr_call call;

	return gr_inject_call(t, SYS_close_range, args,
			      gr_now_us() + SHORT_CALL_US, &call);
}

struct gr_error *gr_process_copy_make(struct gr_process_copy *copy, pid_t pid,
				      int64_t max_pause_us)
{
	struct gr_error *err = check_pause(pid, max_pause_us);

	if (!err)
		err = gr_threads_init(&copy->threads, pid);
	if (err)
		return err;
	gr_set_urgent(0, true);
	err = stop_and_copy(copy, max_pause_us);
	gr_set_urgent(0, false);
	gr_tracee_kill(&copy->between);
	if (err)
		return err;
	offer_to_oom_killer(copy->copy.tid);
	err = gr_inject_adopt(&copy->copy, gr_now_us() + SHORT_CALL_US);
	return err ? err : let_files_go(&copy->copy);
}

// ----------------------------------------------------------------- the ending

static struct gr_error *wait_in(struct gr_task *t, const pid_t own_tids[2])
{
	struct gr_error *err;
	struct gr_call call;
	uint64_t mask;

	err = gr_inject_begin(t, &mask);
	if (err)
		return err;
	for (int i = 0; !err && i < 2; i++) {
		// Its result is 0, and not a process ID as that of wait4.
		const uint64_t args[GR_CALL_ARGS] = { P_PID,
						      (uint64_t)own_tids[i], 0,
						      WEXITED | __WALL |
							      WNOHANG };
		if (own_tids[i])
			err = gr_inject_call(t, SYS_waitid, args,
					     gr_now_us() + SHORT_CALL_US,
					     &call);
	}
	struct gr_error *end_err = gr_inject_end(t, mask);
	if (!err)
		return end_err;
	gr_error_destroy(end_err);
	return err;
}

/* Let the process, if it still exists, wait for its dead children. */
static struct gr_error *end_zombies(struct gr_process_copy *copy)
{
	const pid_t own_tids[2] = { copy->between.own_tid, copy->copy.own_tid };
	struct gr_threads *threads = &copy->threads;
	char state[32];
	size_t nth = 0;

	for (int i = 0; i < MAX_END_TRIES; i++) {
		struct gr_task *t = gr_threads_stop_one(
			threads, least_fitness(i, FUTEX_END_TRIES), &nth);
		struct gr_error *err = t ? wait_in(t, own_tids) : NULL;
		if (t)
			gr_threads_release(threads);
		if (t && !err)
			return NULL;
		gr_error_destroy(err);
		if (!gr_task_status(threads->pid, threads->pid, "State", state,
				    sizeof(state)) ||
		    *state == 'Z' || *state == 'X')
			return NULL;
		usleep(BETWEEN_TRIES_US);
	}
	return gr_error_format(GR_ERROR_IO,
			       "two ended processes stay in the list of its "
			       "children until it ends: no thread could wait "
			       "for them");
}

struct gr_error *gr_process_copy_end(struct gr_process_copy *copy)
{
	struct gr_error *err = NULL;

	gr_tracee_kill(&copy->copy);
	gr_tracee_kill(&copy->between);
	gr_set_urgent(0, true);
	if (copy->between.own_tid)
		err = end_zombies(copy);
	gr_set_urgent(0, false);
	if (copy->threads.pid)
		gr_threads_deinit(&copy->threads);
	return err;
}
