// SPDX-License-Identifier: Apache-2.0
#include "process/process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "process/refusal.h"
#include "process/status.h"
#include "process/tasks.h"

enum {
	/* How often the caller polls while the process is being stopped. */
	POLL_US = 10000,
	/* How often the tracing thread looks whether the process has ended. */
	PROBE_US = 100000,
	/* How long a thread that is told to end may take. */
	END_US = 2000000,
	/* How much longer than its limit a stop may take on a busy machine. */
	SLOW_US = 10000000,
	END_NAP_NS = 50000,
};

/** Phases of the tracing thread. */
enum phase {
	PHASE_STOPPING,
	PHASE_HOLDING,
	PHASE_ENDED, /**< It calls ptrace no more. */
};

/**
 * One stop, shared by the tracing thread and the caller. The last user frees
 * it: a tracing thread may hang in the kernel for longer than its caller waits.
 */
struct stop {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned int users;
	enum phase phase; /**< Written atomically, with the mutex. */
	bool is_release_wanted;
	bool is_cancelled; /**< Atomic; without the mutex. */
	bool is_seizing;   /**< Atomic; without the mutex. */
	pid_t owner;	   /**< Our process, which holds the other. */
	pid_t tracer;	   /**< The tracing thread. */
	int64_t limit_us;
	int64_t release_us;
	struct gr_error *err;
	/** Only the tracing thread uses it before PHASE_HOLDING. */
	struct gr_tasks tasks;
};

GR_VECTOR(thread_vector, struct gr_target_thread);
GR_VECTOR(late_vector, struct gr_process_late);

struct gr_process {
	int32_t pid;
	struct stop *stop; /**< NULL: it is not held. */
	struct thread_vector threads;
	struct late_vector late;
};

// ---------------------------------------------------------- what both share

static void make_deadline(struct timespec *ret, int64_t us)
{
	clock_gettime(CLOCK_MONOTONIC, ret);
	int64_t ns = ret->tv_nsec + us % 1000000 * 1000;
	ret->tv_sec += us / 1000000 + ns / 1000000000;
	ret->tv_nsec = ns % 1000000000;
}

static bool init_condition(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr))
		return false;
	bool is_made = !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) &&
		       !pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return is_made;
}

static struct stop *stop_create(pid_t pid, bool is_nested, int64_t limit_us)
{
	struct stop *stop = calloc(1, sizeof(*stop));

	if (!stop)
		return NULL;
	stop->tasks.pid = pid;
	stop->tasks.is_nested = is_nested;
	stop->limit_us = limit_us;
	stop->owner = getpid();
	stop->users = 1;
	if (pthread_mutex_init(&stop->mutex, NULL)) {
		free(stop);
		return NULL;
	}
	if (!init_condition(&stop->changed)) {
		pthread_mutex_destroy(&stop->mutex);
		free(stop);
		return NULL;
	}
	return stop;
}

static void stop_leave(struct stop *stop)
{
	pthread_mutex_lock(&stop->mutex);
	bool is_last = !--stop->users;
	pthread_mutex_unlock(&stop->mutex);
	if (!is_last)
		return;
	pthread_cond_destroy(&stop->changed);
	pthread_mutex_destroy(&stop->mutex);
	gr_error_destroy(stop->err);
	gr_tasks_deinit(&stop->tasks);
	free(stop);
}

/* Wait until the other side signals a change, at most for @p us. */
static void wait_for_change(struct stop *stop, int64_t us)
{
	struct timespec until;

	make_deadline(&until, us);
	pthread_cond_timedwait(&stop->changed, &stop->mutex, &until);
}

// -------------------------------------------------------- the tracing thread

static void enter_phase(struct stop *stop, enum phase phase)
{
	pthread_mutex_lock(&stop->mutex);
	__atomic_store_n(&stop->phase, phase, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&stop->changed);
	pthread_mutex_unlock(&stop->mutex);
}

/* The task whose end shows that a held process has ended; NULL: no task stands
 * still. It is not the first task if there is another one: the kernel reports
 * the end of the first task only after we have reaped all others. */
static const struct gr_task *find_witness(const struct gr_tasks *tasks)
{
	const struct gr_task *ret = NULL;

	for (size_t i = 0; i < tasks->list.size; i++) {
		const struct gr_task *t = &tasks->list.data[i];

		if (t->stop == GR_STOP_NONE || t->stop == GR_STOP_ENDED)
			continue;
		ret = t;
		if (t->tid != tasks->pid)
			break;
	}
	return ret;
}

/* Has a held process ended, or begun another program? Either ends all tasks
 * that stand still. */
static bool is_gone(const struct gr_task *witness)
{
	struct gr_task now = { .tid = witness ? witness->tid : 0 };

	return witness && (gr_task_look(&now) == GR_STOP_ENDED ||
			   now.stop == GR_STOP_EXEC);
}

/* Hold the process until its release. If it ends or begins another program,
 * stop tracing it: its parent, or its execve(), waits until we have reaped its
 * tasks. */
static void hold(struct stop *stop)
{
	const struct gr_task *witness = find_witness(&stop->tasks);
	bool is_over = false;

	pthread_mutex_lock(&stop->mutex);
	while (!stop->is_release_wanted && !is_over) {
		wait_for_change(stop, PROBE_US);
		if (stop->is_release_wanted)
			break;
		pthread_mutex_unlock(&stop->mutex);
		is_over = is_gone(witness);
		pthread_mutex_lock(&stop->mutex);
	}
	pthread_mutex_unlock(&stop->mutex);
	if (is_over)
		gr_tasks_reap_ended(stop->tasks.pid);
}

static void set_up_thread(struct stop *stop)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	// These settings are the thread's own. With the usual slack of timers,
	// each short nap would take 50 us longer.
	prctl(PR_SET_TIMERSLACK, 1);
	prctl(PR_SET_NAME, "goref-tracer");
	gr_set_urgent(0, true);

	stop->tracer = (pid_t)syscall(SYS_gettid);
}

static void *trace(void *arg)
{
	struct stop *stop = arg;
	const struct gr_tasks_patience patience = {
		.limit_us = stop->limit_us,
		.quiet_us = INT64_MAX,
		.is_cancelled = &stop->is_cancelled,
		.is_seizing = &stop->is_seizing,
	};

	set_up_thread(stop);
	stop->err = gr_tasks_stop(&stop->tasks, &patience);
	if (!stop->err) {
		enter_phase(stop, PHASE_HOLDING);
		hold(stop);
	}
	// With the end of this thread, all tasks go on at once.
	gr_tasks_pass_signals(&stop->tasks);
	stop->release_us = gr_now_us();
	enter_phase(stop, PHASE_ENDED);
	stop_leave(stop);
	return NULL;
}

static struct gr_error *start(struct stop *stop)
{
	pthread_t thread;

	stop->users++;
	if (gr_thread_start(&thread, trace, stop)) {
		pthread_detach(thread);
		return NULL;
	}
	stop->users--;
	return gr_error_format(GR_ERROR_LIMIT, "cannot start a thread");
}

// ---------------------------------------------------------------- the caller

/* Wait until the tracing thread no longer exists for the kernel. The kernel
 * detaches the tasks that the thread still traces before that, but after the
 * thread's last instruction. */
static void await_end(const struct stop *stop)
{
	int64_t end_us = gr_now_us() + END_US;
	const struct timespec nap = { 0, END_NAP_NS };

	while (!syscall(SYS_tgkill, stop->owner, stop->tracer, 0) &&
	       gr_now_us() < end_us)
		nanosleep(&nap, NULL);
}

/* Reap ended tasks until the tracing thread ends. It may hang: it waits for a
 * task in execve(), which waits until all traced tasks are reaped. */
static void *help_out(void *arg)
{
	struct stop *stop = arg;

	pthread_mutex_lock(&stop->mutex);
	while (stop->phase != PHASE_ENDED) {
		wait_for_change(stop, PROBE_US);
		pthread_mutex_unlock(&stop->mutex);
		gr_tasks_reap_ended(stop->tasks.pid);
		pthread_mutex_lock(&stop->mutex);
	}
	pthread_mutex_unlock(&stop->mutex);
	stop_leave(stop);
	return NULL;
}

static void start_helper(struct stop *stop)
{
	pthread_t thread;

	stop->users++;
	if (gr_thread_start(&thread, help_out, stop))
		pthread_detach(thread);
	else
		stop->users--;
}

/* Tell the tracing thread to end, and wait until it does. */
static void end_tracing(struct stop *stop)
{
	int64_t end_us = gr_now_us() + END_US;

	__atomic_store_n(&stop->is_cancelled, true, __ATOMIC_RELAXED);
	pthread_mutex_lock(&stop->mutex);
	stop->is_release_wanted = true;
	pthread_cond_broadcast(&stop->changed);
	while (stop->phase != PHASE_ENDED && gr_now_us() < end_us)
		wait_for_change(stop, POLL_US);
	bool has_ended = stop->phase == PHASE_ENDED;
	if (!has_ended)
		start_helper(stop);
	pthread_mutex_unlock(&stop->mutex);
	if (has_ended)
		await_end(stop);
}

/* Wait until the tracing thread holds the process or has failed. */
static struct gr_error *await_stop(struct stop *stop,
				   const struct gr_process_patience *patience)
{
	int64_t end_us = gr_now_us() + patience->limit_us + SLOW_US;
	struct gr_error *err = NULL;

	pthread_mutex_lock(&stop->mutex);
	while (!err && stop->phase == PHASE_STOPPING) {
		wait_for_change(stop, POLL_US);
		if (stop->phase != PHASE_STOPPING)
			break;
		pthread_mutex_unlock(&stop->mutex);
		if (__atomic_load_n(&stop->is_seizing, __ATOMIC_RELAXED))
			gr_tasks_reap_ended(stop->tasks.pid);
		if (patience->poll)
			err = patience->poll(patience->ctx);
		if (!err && gr_now_us() > end_us)
			err = gr_error_format(GR_ERROR_PROCESS,
					      "it did not stop in time: it "
					      "begins another program, or "
					      "this machine is too busy");
		pthread_mutex_lock(&stop->mutex);
	}
	pthread_mutex_unlock(&stop->mutex);
	if (!err)
		err = steal_ptr(stop->err);
	return err;
}

static bool add_late(struct gr_process *process, const struct gr_task *t,
		     struct gr_target_thread *thread)
{
	struct gr_task_place place = gr_task_place(process->pid, t->tid);
	const struct gr_arch *arch = gr_arch_native();
	const struct gr_process_late late = {
		.tid = t->tid,
		.state = gr_task_state(process->pid, t->tid),
		.has_place = place.is_known,
	};

	thread->regs = (struct gr_regs){ .is_partial = true };
	if (place.is_known) {
		thread->regs.value[arch->sp] = place.sp;
		thread->regs.value[arch->pc] = place.pc;
		thread->regs.call = place.call;
		thread->regs.is_in_call = place.is_in_call;
	}
	return late_vector_append(&process->late, late);
}

static bool add_thread(struct gr_process *process, const struct gr_task *t)
{
	struct gr_target_thread thread = { .lwp = t->own_tid };

	if (t->stop == GR_STOP_ENDED)
		return true;
	if (t->stop != GR_STOP_NONE)
		thread.regs = gr_task_registers(t);
	else if (!add_late(process, t, &thread))
		return false;
	return thread_vector_append(&process->threads, thread);
}

static struct gr_error *does_not_stop(const struct gr_process *process)
{
	const struct gr_process_late *late = &process->late.data[0];

	return gr_error_format(GR_ERROR_PROCESS,
			       "it does not stop: its thread %d is in state "
			       "%c, and no other thread stops: try again later",
			       (int)late->tid, late->state);
}

/* Describe a stop that the tracing thread no longer changes. */
static struct gr_error *describe(struct gr_process *process,
				 struct gr_process_stop *ret)
{
	const struct gr_tasks *tasks = &process->stop->tasks;
	bool has_place = false;

	*ret = (struct gr_process_stop){
		.stop_us = (uint64_t)(tasks->end_us - tasks->begin_us),
	};
	for (size_t i = 0; i < tasks->list.size; i++) {
		if (!add_thread(process, &tasks->list.data[i]))
			return &gr_enomem;
		if (tasks->list.data[i].is_group_stop)
			ret->was_stopped = true;
	}
	for (size_t i = 0; i < process->late.size; i++)
		has_place |= process->late.data[i].has_place;
	ret->late = process->late.data;
	ret->nlate = process->late.size;
	ret->threads = process->threads.size - process->late.size;
	return ret->threads || has_place ? NULL : does_not_stop(process);
}

/* Forget a stop of our parent process, which fork() has copied. */
static void forget_after_fork(struct gr_process *process)
{
	if (process->stop && process->stop->owner != getpid())
		process->stop = NULL;
}

struct gr_error *gr_process_create(int32_t pid, struct gr_process **ret)
{
	struct gr_error *err = gr_refusal_check(pid);

	if (err)
		return err;
	struct gr_process *process = calloc(1, sizeof(*process));
	if (!process)
		return &gr_enomem;
	process->pid = pid;
	*ret = process;
	return NULL;
}

void gr_process_destroy(struct gr_process *process)
{
	if (!process)
		return;
	gr_process_release(process);
	thread_vector_deinit(&process->threads);
	late_vector_deinit(&process->late);
	free(process);
}

struct gr_error *gr_process_stop(struct gr_process *process,
				 const struct gr_process_patience *patience,
				 struct gr_process_stop *ret)
{
	forget_after_fork(process);
	if (process->stop)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the process is held already");
	process->threads.size = process->late.size = 0;
	struct gr_error *err = gr_refusal_check(process->pid);
	if (err)
		return err;
	process->stop = stop_create(process->pid,
				    gr_process_is_nested(process->pid),
				    patience->limit_us);
	if (!process->stop)
		return &gr_enomem;
	err = start(process->stop);
	if (err) {
		stop_leave(steal_ptr(process->stop));
		return err;
	}
	err = await_stop(process->stop, patience);
	if (!err)
		err = describe(process, ret);
	if (err)
		gr_process_release(process);
	return err;
}

int64_t gr_process_release(struct gr_process *process)
{
	forget_after_fork(process);
	if (!process->stop)
		return 0;
	struct stop *stop = steal_ptr(process->stop);
	end_tracing(stop);
	int64_t held_us =
		stop->release_us ? stop->release_us - stop->tasks.begin_us : 0;
	stop_leave(stop);
	return held_us;
}

bool gr_process_is_held(const struct gr_process *process)
{
	// Without the mutex: another thread may have had it at a fork.
	return process->stop &&
	       __atomic_load_n(&process->stop->phase, __ATOMIC_RELAXED) ==
		       PHASE_HOLDING;
}

const struct gr_target_thread *
gr_process_threads(const struct gr_process *process, size_t *count)
{
	*count = process->threads.size;
	return process->stop && process->stop->owner == getpid() ?
		       process->threads.data :
		       NULL;
}
