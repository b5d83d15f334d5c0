// SPDX-License-Identifier: Apache-2.0
/* process: the process, or who holds it, ends or changes at any moment. */
#include "process_target.h"

#include <sys/syscall.h>

#include "suite.h"

enum {
	KILLS = 200,
	STOPS = 200,
	SIGNALS_A_ROUND = 4,
	CHAINS = 10,
	THREADS = 8,
};

static struct shared *handler_shared;

static void count_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&handler_shared->signals, 1, __ATOMIC_SEQ_CST);
}

/* Go on after fewer than @p most looks. */
static void look_on(pid_t pid, uint64_t *seed, unsigned int most)
{
	look_at_tasks(pid, suite_random(seed) % most);
}

// ------------------------------------------------------- what a child may be

/* Threads that count, compute and sleep, and a signal that each may get. */
static void run_signalled(struct target *t)
{
	struct sigaction action = { .sa_handler = count_signal,
				    .sa_flags = SA_RESTART };

	handler_shared = t->shared;
	sigaction(SIGRTMIN, &action, NULL);
	start_thread(count_on, t->shared);
	start_thread(compute, t->shared);
	start_thread(wait_for_ever, NULL);
	target_is_ready(t);
	wait_for_ever(NULL);
}

/* A thread that starts another one and ends. */
static void *go_on_in_another(void *arg)
{
	struct shared *shared = arg;

	__atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
	start_thread(go_on_in_another, arg);
	return NULL;
}

static void run_storm(struct target *t)
{
	for (int i = 0; i < CHAINS; i++)
		start_thread(go_on_in_another, t->shared);
	target_is_ready(t);
	wait_for_ever(NULL);
}

/* It ends soon, with threads in all states. */
static void run_short(struct target *t)
{
	uint64_t seed = (uint64_t)getpid();

	for (int i = 0; i < THREADS; i++)
		start_thread(i % 2 ? count_on : wait_for_ever, t->shared);
	target_is_ready(t);
	look_on(getpid(), &seed, 50);
	_exit(7);
}

static struct shared *map_shared(int fd)
{
	return mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
}

/* This program as it begins itself again and again: not from its first thread,
 * and while others run. */
static void *begin_again(void *arg)
{
	char *name = arg;
	char *const args[] = { "/proc/self/exe", name, NULL };
	uint64_t seed = (uint64_t)time(NULL) ^ (uint64_t)getpid();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	seed ^= (uint64_t)now.tv_nsec;
	look_on(getpid(), &seed, 25);
	execv(args[0], args);
	_exit(1);
}

static int run_again(char *name)
{
	struct shared *shared = map_shared(atoi(name));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	__atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < THREADS; i++)
		start_thread(wait_for_ever, NULL);
	start_thread(begin_again, name);
	__atomic_store_n(&shared->is_ready, true, __ATOMIC_SEQ_CST);
	wait_for_ever(NULL);
	return 1;
}

// ------------------------------------------------------- a tracer is killed

/* Stop and release a process for ever. */
static pid_t start_tracer(pid_t pid)
{
	pid_t tracer = fork();

	assert_true(tracer >= 0);
	if (tracer)
		return tracer;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct gr_process *process;
		struct gr_process_stop stop;

		if (gr_process_create(pid, &process))
			continue;
		if (stop_within(process, LIMIT_US, &stop))
			_exit(1);
		gr_process_destroy(process);
	}
}

/* The child has its state and each signal once, whenever its tracer is
 * killed. */
TEST(killed)
{
	struct target *t = target_start(run_signalled);
	uint64_t sent = 0, seed = 0x5eed;

	for (int i = 0; i < KILLS; i++) {
		pid_t tracer = start_tracer(t->pid);

		for (int j = 0; j < SIGNALS_A_ROUND; j++) {
			look_on(t->pid, &seed, 25);
			sent += !sigqueue(t->pid, SIGRTMIN,
					  (union sigval){ 0 });
		}
		kill(tracer, SIGKILL);
		assert_int_equal(waitpid(tracer, NULL, 0), tracer);
		assert_false(is_traced(t->pid));
	}
	WAIT_UNTIL(load(&t->shared->signals) == sent);
	WAIT_UNTIL(is_counting(t));
	WAIT_UNTIL(!count_tasks(t->pid, "tT"));
	assert_int_equal(load(&t->shared->signals), sent);
	target_end(t);
}

/* A process that a signal has stopped stays so. */
TEST(killed_of_stopped)
{
	struct target *t = target_start(run_signalled);
	uint64_t seed = 0x5eed;

	stop_by_signal(t, 4);
	for (int i = 0; i < KILLS / 4; i++) {
		pid_t tracer = start_tracer(t->pid);

		look_on(t->pid, &seed, 100);
		kill(tracer, SIGKILL);
		assert_int_equal(waitpid(tracer, NULL, 0), tracer);
		WAIT_UNTIL(count_tasks(t->pid, "T") == 4);
	}
	assert_false(is_counting(t));
	continue_by_signal(t);
	target_end(t);
}

/* Signals come while it is held, and reach it. */
TEST(signals)
{
	struct target *t = target_start(run_signalled);
	uint64_t sent = 0;

	for (int i = 0; i < STOPS; i++) {
		struct gr_process_stop stop;
		// One before the stop, one within it.
		sent += !sigqueue(t->pid, SIGRTMIN, (union sigval){ 0 });
		struct gr_process *process = hold(t->pid, &stop);
		sent += !sigqueue(t->pid, SIGRTMIN, (union sigval){ 0 });
		gr_process_destroy(process);
	}
	WAIT_UNTIL(load(&t->shared->signals) == sent);
	WAIT_UNTIL(is_counting(t));
	assert_int_equal(load(&t->shared->signals), sent);
	target_end(t);
}

// ----------------------------------------------------------- it does not keep

/* Threads come and go: all that there are stand still. */
TEST(storm)
{
	struct target *t = target_start(run_storm);

	for (int i = 0; i < STOPS / 4; i++) {
		struct gr_process_stop stop;
		struct gr_process *process = hold(t->pid, &stop);
		size_t count;

		assert_int_equal(stop.nlate, 0);
		assert_int_equal(count_tasks(t->pid, "t"), stop.threads);
		assert_int_equal(count_tasks(t->pid, "RSDT"), 0);
		assert_non_null(gr_process_threads(process, &count));
		assert_int_equal(count, stop.threads);
		gr_process_destroy(process);
	}
	WAIT_UNTIL(is_counting(t));
	target_end(t);
}

/* Stop a process again and again while it ends. Each time it is held, or there is
 * one clear error. */
static void stop_until_it_ends(pid_t pid)
{
	struct gr_process *process;
	struct gr_process_stop stop;
	struct gr_error *err;

	for (;;) {
		err = gr_process_create(pid, &process);
		if (err)
			break;
		err = stop_within(process, LIMIT_US, &stop);
		gr_process_destroy(process);
		if (err)
			break;
	}
	expect_error(err, GR_ERROR_PROCESS);
}

/* It ends while it is stopped or held: its parent, which we are, learns how. */
TEST(ends)
{
	int status;

	for (int i = 0; i < STOPS; i++) {
		struct target *t = target_start(run_short);

		stop_until_it_ends(t->pid);
		assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
		t->pid = 0;
		target_end(t);
	}
}

/* It is killed while it is held: nothing remains of it. */
TEST(killed_while_held)
{
	int status;

	for (int i = 0; i < STOPS / 4; i++) {
		struct target *t = target_start(run_signalled);
		struct gr_process_stop stop;
		struct gr_process *process = hold(t->pid, &stop);

		kill(t->pid, SIGKILL);
		if (i % 2)
			gr_process_release(process);
		// Else, the tracing thread notices that.
		assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
		assert_int_equal(WTERMSIG(status), SIGKILL);
		gr_process_destroy(process);
		t->pid = 0;
		target_end(t);
	}
}

static pid_t start_again(int fd)
{
	char name[16];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	snprintf(name, sizeof(name), "%d", fd);
	execl("/proc/self/exe", "again", name, NULL);
	_exit(1);
}

/* It begins another program, from a thread that is not the first: it is held, or
 * there is one clear error, and it always goes on. */
TEST(exec)
{
	int fd = memfd_create("shared", 0);
	struct target t = { .pid = 0 };
	uint64_t held = 0;

	assert_int_equal(ftruncate(fd, sizeof(*t.shared)), 0);
	t.shared = map_shared(fd);
	t.pid = start_again(fd);
	WAIT_UNTIL(__atomic_load_n(&t.shared->is_ready, __ATOMIC_SEQ_CST));
	for (int i = 0; i < STOPS; i++) {
		struct gr_process *process;
		struct gr_process_stop stop;

		assert_null(gr_process_create(t.pid, &process));
		struct gr_error *err = stop_within(process, LIMIT_US, &stop);
		if (err)
			expect_error(err, GR_ERROR_PROCESS);
		else if (count_tasks(t.pid, "t") == stop.threads)
			held++;
		gr_process_destroy(process);
	}
	assert_true(held);
	for (int i = 0; i < 3; i++)
		WAIT_UNTIL(is_counting(&t));
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	munmap(t.shared, sizeof(*t.shared));
	close(fd);
}

int main(int argc, char **argv)
{
	return argc > 1 ? run_again(argv[1]) :
			  suite_run("process killed", NULL, NULL);
}
