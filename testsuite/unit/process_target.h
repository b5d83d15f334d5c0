/* SPDX-License-Identifier: Apache-2.0 */
/* A child with threads that a test stops, and what the kernel says of it. */
#pragma once

#include "base/base.h"

#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"
#include "process/status.h"

enum { MOST_WAIT_S = 60, STEP_NS = 1000000, CHILD_STACK_BYTES = 1 << 16 };

/** Memory that the child and the test share. */
struct shared {
	uint64_t count;	  /**< Grows while the child runs. */
	uint64_t signals; /**< SIGRTMIN that it has received. */
	pid_t tid;	  /**< The thread that the test asks for. */
	bool is_ready;
};

struct target {
	struct shared *shared;
	pid_t pid;
	int pipe[2]; /**< The child of vfork() ends when it is closed. */
};

static inline pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static inline uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void take_a_step(void)
{
	nanosleep(&(struct timespec){ 0, STEP_NS }, NULL);
}

/** Wait until @p condition, which may take long on a busy machine. */
#define WAIT_UNTIL(condition)                                                 \
	do {                                                                  \
		time_t _end = time(NULL) + MOST_WAIT_S;                       \
		while (!(condition)) {                                        \
			if (time(NULL) > _end)                                \
				fail_msg("this never comes: %s", #condition); \
			take_a_step();                                        \
		}                                                             \
	} while (0)

static inline void *count_on(void *arg)
{
	struct shared *shared = arg;

	for (;;) {
		__atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
		nanosleep(&(struct timespec){ 0, 10000 }, NULL);
	}
	return NULL;
}

static inline void *compute(void *arg)
{
	struct shared *shared = arg;

	for (;;)
		__atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static inline void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static inline void start_thread(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run, arg))
		_exit(1);
	pthread_attr_destroy(&attr);
}

/** Fork a child that calls @p run, which does not return. Returns when the child
 * has set is_ready. */
static inline struct target *target_start(void (*run)(struct target *t))
{
	struct target *t = suite_alloc(sizeof(*t));

	t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(pipe(t->pipe), 0);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (!t->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(t->pipe[1]);
		run(t);
		_exit(1);
	}
	close(t->pipe[0]);
	WAIT_UNTIL(__atomic_load_n(&t->shared->is_ready, __ATOMIC_SEQ_CST));
	return t;
}

static inline void target_is_ready(struct target *t)
{
	__atomic_store_n(&t->shared->is_ready, true, __ATOMIC_SEQ_CST);
}

/** End a child, unless its pid is 0: that one has ended. */
static inline void target_end(struct target *t)
{
	if (t->pid) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	close(t->pipe[1]);
	munmap(t->shared, sizeof(*t->shared));
	free(t);
}

/** The number of tasks of a process that are in one of @p states; those that
 * have ended are left out. */
static inline size_t count_tasks(pid_t pid, const char *states)
{
	_cleanup_closedir_ DIR *dir = gr_tasks_open(pid);
	size_t count = 0;

	for (pid_t tid; dir && (tid = gr_tasks_next(dir));) {
		char state = gr_task_state(pid, tid);

		count += strchr(states, state) != NULL;
	}
	return count;
}

/** Go on after @p n looks at the threads of a process: at some moment, on a busy
 * machine as on an idle one. */
static inline void look_at_tasks(pid_t pid, uint64_t n)
{
	_cleanup_closedir_ DIR *dir = gr_tasks_open(pid);

	for (; dir && n; n--) {
		for (pid_t tid; (tid = gr_tasks_next(dir));)
			gr_task_state(pid, tid);
		rewinddir(dir);
	}
}

static inline bool is_traced(pid_t pid)
{
	char text[32] = "0";

	gr_task_status(pid, gr_process_reader(pid), "TracerPid", text,
		       sizeof(text));
	return strcmp(text, "0") != 0;
}

/** Does the child count on? */
static inline bool is_counting(const struct target *t)
{
	uint64_t before = load(&t->shared->count);

	for (int i = 0; i < 100 && load(&t->shared->count) == before; i++)
		take_a_step();
	return load(&t->shared->count) != before;
}

static inline const struct gr_target_thread *
find_thread(const struct gr_process *process, pid_t tid)
{
	size_t count;
	const struct gr_target_thread *threads =
		gr_process_threads(process, &count);

	for (size_t i = 0; threads && i < count; i++)
		if (threads[i].lwp == tid)
			return &threads[i];
	return NULL;
}

enum { LIMIT_US = 60000000, SHORT_US = 200000 };

static inline struct gr_error *stop_within(struct gr_process *process,
					   int64_t limit_us,
					   struct gr_process_stop *ret)
{
	const struct gr_process_patience patience = { .limit_us = limit_us };

	return gr_process_stop(process, &patience, ret);
}

/** Fail unless @p err is an error of this kind, and free it. */
static inline void expect_error(struct gr_error *err, enum gr_error_code code)
{
	assert_error_code(err, code);
	gr_error_destroy(err);
}

/** Stop a process; threads that do not stop within @p limit_us are late. */
static inline struct gr_process *hold_within(pid_t pid, int64_t limit_us,
					     struct gr_process_stop *ret)
{
	struct gr_process *process;

	assert_null(gr_process_create(pid, &process));
	assert_null(stop_within(process, limit_us, ret));
	return process;
}

/** Stop a process that can be stopped. */
static inline struct gr_process *hold(pid_t pid, struct gr_process_stop *ret)
{
	return hold_within(pid, LIMIT_US, ret);
}

/** Stop a process of @p threads threads by a signal. */
static inline void stop_by_signal(const struct target *t, size_t threads)
{
	kill(t->pid, SIGSTOP);
	WAIT_UNTIL(count_tasks(t->pid, "T") == threads);
}

static inline void continue_by_signal(const struct target *t)
{
	kill(t->pid, SIGCONT);
	WAIT_UNTIL(is_counting(t));
}
