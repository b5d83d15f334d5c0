// SPDX-License-Identifier: Apache-2.0
/* process: a process is held still and let go, whatever its threads do. */
#include "process_target.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "inferior/arch.h"
#include "process/refusal.h"

// ------------------------------------------------------- what a child may be

static void *sleep_and_tell(void *arg)
{
	struct shared *shared = arg;

	__atomic_store_n(&shared->tid, own_tid(), __ATOMIC_SEQ_CST);
	return wait_for_ever(arg);
}

/* One thread counts, one computes, some sleep. */
static void run_many(struct target *t)
{
	start_thread(count_on, t->shared);
	start_thread(compute, t->shared);
	for (int i = 0; i < 20; i++)
		start_thread(wait_for_ever, NULL);
	start_thread(sleep_and_tell, t->shared);
	target_is_ready(t);
	wait_for_ever(NULL);
}

static int wait_for_pipe(void *arg)
{
	struct target *t = arg;
	char byte;

	// Its own threads do not get signals that are for the process.
	while (read(t->pipe[0], &byte, 1) < 0 && errno == EINTR)
		;
	return (int)syscall(SYS_exit_group, 0);
}

/* The kernel lets this thread sleep until the child ends, as in vfork(). */
static void *wait_for_child(void *arg)
{
	struct target *t = arg;
	static char stack[CHILD_STACK_BYTES];

	__atomic_store_n(&t->shared->tid, own_tid(), __ATOMIC_SEQ_CST);
	if (clone(wait_for_pipe, stack + sizeof(stack),
		  CLONE_VM | CLONE_VFORK | SIGCHLD, t) < 0)
		_exit(1);
	return count_on(t->shared);
}

static void run_vfork(struct target *t)
{
	start_thread(wait_for_child, t);
	start_thread(wait_for_ever, NULL);
	target_is_ready(t);
	wait_for_ever(NULL);
}

static void run_vfork_alone(struct target *t)
{
	target_is_ready(t);
	wait_for_child(t);
}

/* The first thread ends, as by pthread_exit(); the others live on. */
static void run_without_first(struct target *t)
{
	start_thread(count_on, t->shared);
	start_thread(sleep_and_tell, t->shared);
	target_is_ready(t);
	syscall(SYS_exit, 0);
}

// ----------------------------------------------------------------- it stands

/* All threads stand still, and go on. */
TEST(hold)
{
	struct target *t = target_start(run_many);
	struct gr_process_stop stop;
	size_t count;

	struct gr_process *process = hold(t->pid, &stop);
	assert_int_equal(stop.threads, 24);
	assert_int_equal(stop.nlate, 0);
	assert_false(stop.was_stopped);
	assert_int_equal(count_tasks(t->pid, "t"), 24);
	gr_process_threads(process, &count);
	assert_int_equal(count, 24);
	uint64_t before = load(&t->shared->count);
	for (int i = 0; i < 20; i++)
		take_a_step();
	assert_int_equal(load(&t->shared->count), before);
	assert_true(gr_process_release(process) >= 20000);
	assert_false(is_traced(t->pid));
	assert_true(is_counting(t));
	WAIT_UNTIL(!count_tasks(t->pid, "tT"));
	assert_null(gr_process_threads(process, &count));
	assert_int_equal(gr_process_release(process), 0);
	gr_process_destroy(process);
	target_end(t);
}

/* The registers are those that the kernel tells of a thread in a call. */
TEST(registers)
{
	struct target *t = target_start(run_many);
	const struct gr_arch *arch = gr_arch_native();
	struct gr_process_stop stop;

	WAIT_UNTIL(t->shared->tid &&
		   gr_task_place(t->pid, t->shared->tid).is_in_call);
	struct gr_task_place place = gr_task_place(t->pid, t->shared->tid);
	struct gr_process *process = hold(t->pid, &stop);
	const struct gr_target_thread *thread =
		find_thread(process, t->shared->tid);
	assert_non_null(thread);
	assert_int_equal(thread->regs.value[arch->sp], place.sp);
	assert_int_equal(thread->regs.value[arch->pc], place.pc);
	assert_false(thread->regs.is_partial);
	if (arch->user_call != GR_REG_NONE) {
		assert_true(thread->regs.is_in_call);
		assert_int_equal(thread->regs.call, place.call);
		assert_int_not_equal(thread->regs.fs_base, 0);
	}
	gr_process_destroy(process);
	target_end(t);
}

/* It can be held again and again, and by one holder at a time. */
TEST(again)
{
	struct target *t = target_start(run_many);
	struct gr_process *other;
	struct gr_process_stop stop;

	struct gr_process *process = hold(t->pid, &stop);
	expect_error(stop_within(process, LIMIT_US, &stop), GR_ERROR_ARGUMENT);
	expect_error(gr_process_create(t->pid, &other), GR_ERROR_PROCESS);
	for (int i = 0; i < 100; i++) {
		gr_process_release(process);
		assert_null(stop_within(process, LIMIT_US, &stop));
		assert_int_equal(stop.threads, 24);
	}
	gr_process_destroy(process);
	assert_true(is_counting(t));
	target_end(t);
}

// ------------------------------------------------------ stopped by a signal

/* A signal has stopped it: it stays so, until SIGCONT. */
TEST(stopped_before)
{
	struct target *t = target_start(run_many);
	struct gr_process_stop stop;

	stop_by_signal(t, 24);
	struct gr_process *process = hold(t->pid, &stop);
	assert_true(stop.was_stopped);
	assert_int_equal(stop.threads, 24);
	gr_process_destroy(process);
	WAIT_UNTIL(count_tasks(t->pid, "T") == 24);
	assert_false(is_counting(t));
	continue_by_signal(t);
	target_end(t);
}

/* SIGCONT comes while it is held. */
TEST(continued_meanwhile)
{
	struct target *t = target_start(run_many);
	struct gr_process_stop stop;

	stop_by_signal(t, 24);
	struct gr_process *process = hold(t->pid, &stop);
	kill(t->pid, SIGCONT);
	assert_int_equal(count_tasks(t->pid, "t"), 24);
	gr_process_destroy(process);
	WAIT_UNTIL(is_counting(t));
	WAIT_UNTIL(!count_tasks(t->pid, "tT"));
	target_end(t);
}

/* SIGSTOP comes while it is held. */
TEST(stopped_meanwhile)
{
	struct target *t = target_start(run_many);
	struct gr_process_stop stop;

	struct gr_process *process = hold(t->pid, &stop);
	kill(t->pid, SIGSTOP);
	gr_process_destroy(process);
	WAIT_UNTIL(count_tasks(t->pid, "T") == 24);
	continue_by_signal(t);
	target_end(t);
}

// ------------------------------------------------------- threads that are late

static void check_late(const struct target *t,
		       const struct gr_process_stop *stop,
		       const struct gr_process *process)
{
	const struct gr_arch *arch = gr_arch_native();
	struct gr_task_place place = gr_task_place(t->pid, t->shared->tid);
	const struct gr_target_thread *thread =
		find_thread(process, t->shared->tid);

	assert_int_equal(stop->nlate, 1);
	assert_int_equal(stop->late[0].tid, t->shared->tid);
	assert_int_equal(stop->late[0].state, 'D');
	assert_true(stop->late[0].has_place);
	assert_non_null(thread);
	assert_true(thread->regs.is_partial);
	assert_int_equal(thread->regs.value[arch->sp], place.sp);
	assert_int_equal(thread->regs.value[arch->pc], place.pc);
	assert_int_equal(thread->regs.call, place.call);
	assert_int_equal(thread->regs.fs_base, 0);
}

static struct target *start_vfork(void (*run)(struct target *t))
{
	struct target *t = target_start(run);

	WAIT_UNTIL(t->shared->tid &&
		   gr_task_state(t->pid, t->shared->tid) == 'D');
	return t;
}

/* A thread waits for its child: it never stops, and the others do. */
TEST(vfork)
{
	struct target *t = start_vfork(run_vfork);
	struct gr_process_stop stop;

	struct gr_process *process = hold_within(t->pid, SHORT_US, &stop);
	assert_int_equal(stop.threads, 2);
	check_late(t, &stop, process);
	gr_process_destroy(process);
	assert_false(is_traced(t->pid));
	WAIT_UNTIL(count_tasks(t->pid, "S") == 2);
	close(t->pipe[1]);
	WAIT_UNTIL(is_counting(t));
	target_end(t);
}

/* It does stop while the process is held. */
TEST(vfork_ends_meanwhile)
{
	struct target *t = start_vfork(run_vfork);
	struct gr_process_stop stop;

	struct gr_process *process = hold_within(t->pid, SHORT_US, &stop);
	close(t->pipe[1]);
	WAIT_UNTIL(count_tasks(t->pid, "t") == 3);
	assert_false(is_counting(t));
	gr_process_destroy(process);
	WAIT_UNTIL(is_counting(t));
	target_end(t);
}

/* There is no other thread. */
TEST(vfork_alone)
{
	struct target *t = start_vfork(run_vfork_alone);
	struct gr_process_stop stop;

	struct gr_process *process = hold_within(t->pid, SHORT_US, &stop);
	assert_int_equal(stop.threads, 0);
	check_late(t, &stop, process);
	gr_process_destroy(process);
	close(t->pipe[1]);
	WAIT_UNTIL(is_counting(t));
	target_end(t);
}

static struct gr_error *give_up(void *ctx)
{
	unsigned int *polls = ctx;

	return ++*polls < 3 ? NULL :
			      gr_error_format(GR_ERROR_INTERRUPTED, "enough");
}

/* The caller gives up while a thread is late. */
TEST(cancelled)
{
	struct target *t = start_vfork(run_vfork);
	struct gr_process *process;
	struct gr_process_stop stop;
	unsigned int polls = 0;
	const struct gr_process_patience patience = {
		.limit_us = LIMIT_US,
		.poll = give_up,
		.ctx = &polls,
	};

	assert_null(gr_process_create(t->pid, &process));
	expect_error(gr_process_stop(process, &patience, &stop),
		     GR_ERROR_INTERRUPTED);
	assert_int_equal(polls, 3);
	assert_false(is_traced(t->pid));
	WAIT_UNTIL(count_tasks(t->pid, "S") == 2);
	gr_process_destroy(process);
	close(t->pipe[1]);
	WAIT_UNTIL(is_counting(t));
	target_end(t);
}

// ------------------------------------------------------ the first has ended

/* A thread that lives leads to the memory. */
TEST(first_thread_has_ended)
{
	struct target *t = target_start(run_without_first);
	struct gr_process_stop stop;
	static uint64_t word;

	WAIT_UNTIL(gr_task_state(t->pid, t->pid) == 'Z' && t->shared->tid);
	struct gr_process *process = hold(t->pid, &stop);
	assert_int_equal(stop.threads, 2);
	assert_non_null(find_thread(process, t->shared->tid));
	assert_null(find_thread(process, t->pid));
	pid_t reader = gr_process_reader(t->pid);
	assert_int_not_equal(reader, t->pid);
	word = 0x1234;
	uint64_t copy = 1;
	struct iovec local = { &copy, sizeof(copy) };
	struct iovec remote = { &word, sizeof(word) };
	assert_int_equal(process_vm_readv(reader, &local, 1, &remote, 1, 0),
			 sizeof(copy));
	assert_int_equal(copy, 0); // the child has its own
	gr_process_destroy(process);
	assert_true(is_counting(t));
	target_end(t);
}

// ------------------------------------------------------------------ refusals

static void check_refused(pid_t pid, const char *text)
{
	struct gr_error *err = gr_refusal_check(pid);

	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_PROCESS);
	if (!strstr(err->message, text))
		fail_msg("%s: not in: %s", text, err->message);
	gr_error_destroy(err);
}

TEST(refused)
{
	struct target *t = target_start(run_many);

	WAIT_UNTIL(t->shared->tid);
	check_refused((1 << 22) + 5, "there is no such process");
	check_refused(-1, "there is no such process");
	check_refused(t->shared->tid, "it is a thread: the process is");
	check_refused(getpid(), "goref itself");
	assert_int_equal(ptrace(PTRACE_SEIZE, t->pid, NULL, NULL), 0);
	check_refused(t->pid, "already traces it");
	kill(t->pid, SIGKILL);
	WAIT_UNTIL(!gr_process_reader(t->pid));
	check_refused(t->pid, "it has ended");
	target_end(t);
}

/* Another one traces a thread that is not the first. */
TEST(thread_is_traced)
{
	struct target *t = target_start(run_many);
	struct gr_process *process;
	struct gr_process_stop stop;

	WAIT_UNTIL(t->shared->tid);
	assert_int_equal(ptrace(PTRACE_SEIZE, t->shared->tid, NULL, NULL), 0);
	assert_null(gr_process_create(t->pid, &process));
	expect_error(stop_within(process, LIMIT_US, &stop), GR_ERROR_PROCESS);
	assert_false(is_traced(t->pid));
	assert_true(is_counting(t));
	gr_process_destroy(process);
	kill(t->pid, SIGKILL);
	waitpid(t->shared->tid, NULL, __WALL);
	target_end(t);
}

// ---------------------------------------------------------- our own process

/* A fork of ours holds nothing, and lets nothing go. */
TEST(fork)
{
	struct target *t = target_start(run_many);
	struct gr_process_stop stop;
	size_t count;
	int status;

	struct gr_process *process = hold(t->pid, &stop);
	pid_t child = fork();
	if (!child) {
		bool has_none = !gr_process_threads(process, &count) &&
				!gr_process_release(process);
		gr_process_destroy(process);
		_exit(!has_none);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(count_tasks(t->pid, "t"), 24);
	gr_process_destroy(process);
	assert_true(is_counting(t));
	target_end(t);
}

static bool is_over;

static void *wait_for_any(void *arg)
{
	uint64_t *reaped = arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
		if (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
			__atomic_add_fetch(reaped, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Other code of our process reaps the stops. */
TEST(stops_are_reaped)
{
	struct target *t = target_start(run_many);
	struct gr_process *process;
	struct gr_process_stop stop;
	uint64_t reaped = 0;
	pthread_t thread;

	assert_null(gr_process_create(t->pid, &process));
	is_over = false;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_any, &reaped),
			 0);
	for (int i = 0; i < 1000 && !load(&reaped); i++) {
		assert_null(stop_within(process, LIMIT_US, &stop));
		assert_int_equal(stop.threads, 24);
		assert_int_equal(stop.nlate, 0);
		gr_process_release(process);
	}
	assert_true(load(&reaped));
	__atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	assert_true(is_counting(t));
	gr_process_destroy(process);
	target_end(t);
}

/* Handlers and masks of our process stay as they are. */
TEST(signals_stay)
{
	struct target *t = target_start(run_many);
	struct sigaction before, after;
	sigset_t mask_before = { 0 }, mask_after = { 0 };
	struct gr_process_stop stop;

	sigaction(SIGCHLD, NULL, &before);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	struct gr_process *process = hold(t->pid, &stop);
	sigaction(SIGCHLD, NULL, &after);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	assert_true(before.sa_handler == after.sa_handler);
	assert_memory_equal(&mask_before, &mask_after, sizeof(mask_before));
	gr_process_destroy(process);
	// The tracing thread is gone.
	assert_int_equal(count_tasks(getpid(), "RSDt"), 1);
	target_end(t);
}

GR_SUITE("process")
