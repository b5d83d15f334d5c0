// SPDX-License-Identifier: Apache-2.0
#include "process/tasks.h"

#include <errno.h>
#include <time.h>

#include "process/refusal.h"
#include "process/status.h"

enum {
	/* Each pass finds tasks that were created during the last one. */
	MAX_PASSES = 1000,
	/* Lists that lack a new task although the count has it. */
	MAX_TRIES = 10,
	SPARE_TASKS = 64,
	/* The pauses between two looks. */
	LEAST_NAP_NS = 20000,
	MOST_NAP_NS = 1000000,
	/* After this time without a stop, look whether the task has ended. */
	SUSPICIOUS_US = 5000,
	REAP_US = 20000,
	/* The least time for the tasks of one pass. */
	PASS_US = 20000,
	/* How long after the limit new tasks may still appear. */
	STORM_US = 1000000,
};

void gr_tasks_deinit(struct gr_tasks *tasks)
{
	gr_task_vector_deinit(&tasks->list);
	gr_number_set_deinit(&tasks->known);
	*tasks = (struct gr_tasks){ .pid = tasks->pid,
				    .is_nested = tasks->is_nested };
}

static bool is_cancelled(const struct gr_tasks_patience *patience)
{
	return patience->is_cancelled &&
	       __atomic_load_n(patience->is_cancelled, __ATOMIC_RELAXED);
}

// ------------------------------------------------------------------- seizing

/* Seize a task; *@p is_there is false if it has ended. */
static struct gr_error *seize(struct gr_tasks *tasks, struct gr_task *t,
			      const struct gr_tasks_patience *patience,
			      bool *is_there)
{
	bool *flag = patience->is_seizing;

	if (flag)
		__atomic_store_n(flag, true, __ATOMIC_RELAXED);
	int number = gr_task_seize(t);
	// The first task may have ended, and another one may have taken its ID
	// by execve().
	if (number == EPERM && t->tid == tasks->pid)
		number = gr_task_seize(t);
	if (flag)
		__atomic_store_n(flag, false, __ATOMIC_RELAXED);
	*is_there = !number;
	if (!number || number == ESRCH)
		return NULL;
	// A zombie cannot be traced, either; this is not an error.
	char state = gr_task_state(tasks->pid, t->tid);
	if (state == 'Z' && t->tid == tasks->pid)
		tasks->is_first_zombie = true;
	return state == 'Z' || state == 'X' || state == 'x' ?
		       NULL :
		       gr_refusal_of(tasks->pid, t->tid, number);
}

/* Seize the tasks from number @p first on. Those that have ended, and all after
 * an error, are dropped from the list. */
static struct gr_error *seize_listed(struct gr_tasks *tasks, size_t first,
				     const struct gr_tasks_patience *patience)
{
	struct gr_task_vector *list = &tasks->list;
	struct gr_error *err = NULL;
	size_t end = first;
	bool is_there;

	for (size_t i = first; i < list->size && !err; i++) {
		err = seize(tasks, &list->data[i], patience, &is_there);
		if (is_there)
			list->data[end++] = list->data[i];
	}
	list->size = end;
	return err;
}

struct gr_error *gr_tasks_seize(struct gr_tasks *tasks, pid_t tid,
				const struct gr_tasks_patience *patience)
{
	struct gr_task t = { .tid = tid, .own_tid = tid };

	if (!gr_task_vector_append(&tasks->list, t))
		return &gr_enomem;
	return seize_listed(tasks, tasks->list.size - 1, patience);
}

/* List the tasks that are not known yet. */
static struct gr_error *list_new(struct gr_tasks *tasks)
{
	bool is_new;

	_cleanup_closedir_ DIR *dir = gr_tasks_open(tasks->pid);
	if (!dir)
		return gr_error_format(GR_ERROR_PROCESS, "it has ended");
	for (pid_t tid; (tid = gr_tasks_next(dir));) {
		struct gr_task t = { .tid = tid, .own_tid = tid };

		if (!gr_number_set_add(&tasks->known, (uint64_t)tid, &is_new))
			return &gr_enomem;
		if (!is_new)
			continue;
		if (tasks->is_nested)
			t.own_tid = gr_task_own_tid(tasks->pid, tid);
		if (!gr_task_vector_append(&tasks->list, t))
			return &gr_enomem;
	}
	return NULL;
}

/* Seize the tasks that are not known yet. All are listed before the first one
 * is seized, because a seized task stops for each signal. */
static struct gr_error *seize_new(struct gr_tasks *tasks,
				  const struct gr_tasks_patience *patience)
{
	size_t first = tasks->list.size;
	struct gr_error *err = list_new(tasks);

	if (err)
		tasks->list.size = first;
	return err ? err : seize_listed(tasks, first, patience);
}

// ------------------------------------------------------------------ stopping

/* Look at a task, and read its registers if it has stopped. */
static void look(struct gr_tasks *tasks, struct gr_task *t, bool is_suspicious)
{
	enum gr_task_stop stop = gr_task_look(t);

	if (stop == GR_STOP_NONE && is_suspicious)
		stop = gr_task_look_reaped(t);
	// The kernel does not report the end of the first task as long as other
	// tasks live.
	if (stop == GR_STOP_NONE && is_suspicious && t->tid == tasks->pid &&
	    gr_task_state(tasks->pid, t->tid) == 'Z') {
		tasks->is_first_zombie = true;
		stop = t->stop = GR_STOP_ENDED;
	}
	if (stop == GR_STOP_ENDED)
		gr_task_reap(t, tasks->pid);
	else if (stop != GR_STOP_NONE && !gr_task_read_registers(t) &&
		 t->stop != GR_STOP_ENDED)
		tasks->has_32_bits = true;
}

/* Look at all running tasks from number @p first on. */
static void look_at_all(struct gr_tasks *tasks, size_t first)
{
	for (size_t i = first; i < tasks->list.size; i++)
		if (tasks->list.data[i].stop == GR_STOP_NONE)
			look(tasks, &tasks->list.data[i], true);
}

static void nap(int64_t *ns)
{
	const struct timespec time = { 0, *ns };

	nanosleep(&time, NULL);
	*ns = *ns * 2 < MOST_NAP_NS ? *ns * 2 : MOST_NAP_NS;
}

/* The time at which to stop waiting for tasks. */
static int64_t find_end(const struct gr_tasks *tasks, int64_t now_us,
			const struct gr_tasks_patience *patience)
{
	int64_t end_us = tasks->begin_us + patience->limit_us;

	return end_us > now_us + PASS_US ? end_us : now_us + PASS_US;
}

/* Wait for one task until @p end_us. Return false when the time is over. */
static bool await(struct gr_tasks *tasks, struct gr_task *t, int64_t end_us,
		  const struct gr_tasks_patience *patience)
{
	int64_t now_us = gr_now_us(), begin_us = now_us;
	int64_t nap_ns = LEAST_NAP_NS, reap_us = now_us + REAP_US;

	for (;; now_us = gr_now_us()) {
		look(tasks, t, now_us - begin_us > SUSPICIOUS_US);
		if (t->stop != GR_STOP_NONE)
			return true;
		if (is_cancelled(patience) || now_us > end_us ||
		    now_us - begin_us > patience->quiet_us)
			return false;
		// A task in execve() waits until the other ones are reaped.
		if (now_us > reap_us) {
			look_at_all(tasks, 0);
			gr_tasks_reap_ended(tasks->pid);
			reap_us = now_us + REAP_US;
		}
		nap(&nap_ns);
	}
}

void gr_tasks_stop_listed(struct gr_tasks *tasks, size_t first,
			  const struct gr_tasks_patience *patience)
{
	if (!tasks->begin_us)
		tasks->begin_us = gr_now_us();
	for (size_t i = first; i < tasks->list.size; i++)
		gr_task_interrupt(&tasks->list.data[i]);
	// All stop at the same time, so the order does not matter.
	int64_t end_us = find_end(tasks, gr_now_us(), patience);
	for (size_t i = first; i < tasks->list.size; i++)
		if (tasks->list.data[i].stop == GR_STOP_NONE &&
		    !await(tasks, &tasks->list.data[i], end_us, patience))
			break;
	look_at_all(tasks, first);
}

/* Are all tasks of the process known? A task of the list stays until we reap
 * it, so it is enough to compare the numbers. */
static bool knows_all(const struct gr_tasks *tasks)
{
	size_t alive = 0;

	for (size_t i = 0; i < tasks->list.size; i++)
		alive += tasks->list.data[i].stop != GR_STOP_ENDED;
	return gr_tasks_count(tasks->pid) == alive + tasks->is_first_zombie;
}

/* Look again at a task that has stopped: since then, execve() of another one
 * may have ended it, or have given it the ID of the first task. */
static void look_again(const struct gr_tasks *tasks, struct gr_task *t)
{
	struct gr_task now = { .tid = t->tid };

	if (t->stop == GR_STOP_ENDED || t->stop == GR_STOP_NONE)
		return;
	gr_task_look(&now);
	if (now.stop == GR_STOP_ENDED)
		gr_task_reap(&now, tasks->pid);
	if (now.stop == GR_STOP_ENDED || now.stop == GR_STOP_EXEC)
		t->stop = now.stop;
}

/* Look again at the first task, or at all of them. */
static void look_again_at(struct gr_tasks *tasks, bool is_all)
{
	for (size_t i = 0; i < tasks->list.size; i++) {
		struct gr_task *t = &tasks->list.data[i];

		if (is_all || t->tid == tasks->pid)
			look_again(tasks, t);
	}
}

static struct gr_error *begun_another(void)
{
	return gr_error_format(GR_ERROR_PROCESS,
			       "it has just begun another program: try again");
}

/* Check the tasks, once no more of them appear. */
static struct gr_error *check_all(const struct gr_tasks *tasks)
{
	bool is_alive = false;

	if (tasks->has_32_bits)
		return gr_error_format(GR_ERROR_PROCESS,
				       "it is not a 64-bit program");
	for (size_t i = 0; i < tasks->list.size; i++) {
		if (tasks->list.data[i].stop == GR_STOP_EXEC)
			return begun_another();
		if (tasks->list.data[i].stop != GR_STOP_ENDED)
			is_alive = true;
	}
	if (is_alive)
		return NULL;
	// After execve(), the only task has the ID of the first one, but it may
	// be a task that we have not seized.
	return gr_process_reader(tasks->pid) ?
		       begun_another() :
		       gr_error_format(GR_ERROR_PROCESS, "it has ended");
}

static struct gr_error *too_fast(void)
{
	return gr_error_format(GR_ERROR_PROCESS,
			       "it creates threads faster than they can be "
			       "stopped: try again");
}

/* Have new tasks appeared for far too long? */
static bool is_late(const struct gr_tasks *tasks,
		    const struct gr_tasks_patience *patience)
{
	return tasks->begin_us &&
	       gr_now_us() - tasks->begin_us - STORM_US > patience->limit_us;
}

/* Stop the tasks that are seized and those that appear meanwhile. */
static struct gr_error *stop_seized(struct gr_tasks *tasks,
				    const struct gr_tasks_patience *patience)
{
	int64_t nap_ns = LEAST_NAP_NS;
	struct gr_error *err = NULL;
	size_t first = 0;
	int tries = 0;

	for (int i = 0; !err && i < MAX_PASSES && !is_late(tasks, patience);
	     i++) {
		gr_tasks_stop_listed(tasks, first, patience);
		if (is_cancelled(patience))
			return gr_error_format(GR_ERROR_INTERRUPTED,
					       "interrupted");
		look_again_at(tasks, false);
		if (knows_all(tasks))
			return check_all(tasks);
		first = tasks->list.size;
		err = seize_new(tasks, patience);
		if (err || first < tasks->list.size)
			continue;
		// The kernel cuts off the list at a task that ends. Such tasks
		// are not traced, but count until they are gone.
		if (++tries > MAX_TRIES) {
			look_again_at(tasks, true);
			return check_all(tasks);
		}
		nap(&nap_ns);
	}
	return err ? err : too_fast();
}

static struct gr_error *stop_all(struct gr_tasks *tasks,
				 const struct gr_tasks_patience *patience)
{
	size_t count = gr_tasks_count(tasks->pid);

	if (!gr_task_vector_reserve(&tasks->list, count + SPARE_TASKS))
		return &gr_enomem;
	// The tasks still run while the first ones are being seized.
	struct gr_error *err = seize_new(tasks, patience);
	return err ? err : stop_seized(tasks, patience);
}

struct gr_error *gr_tasks_stop(struct gr_tasks *tasks,
			       const struct gr_tasks_patience *patience)
{
	gr_tasks_deinit(tasks);
	struct gr_error *err = stop_all(tasks, patience);

	tasks->end_us = gr_now_us();
	return err;
}

void gr_tasks_pass_signals(struct gr_tasks *tasks)
{
	for (size_t i = 0; i < tasks->list.size; i++)
		if (tasks->list.data[i].stop == GR_STOP_SIGNAL)
			gr_task_detach(&tasks->list.data[i]);
}

bool gr_tasks_release(struct gr_tasks *tasks)
{
	bool are_all = true;

	for (size_t i = 0; i < tasks->list.size; i++)
		if (!gr_task_detach(&tasks->list.data[i]))
			are_all = false;
	return are_all;
}
