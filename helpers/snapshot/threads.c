// SPDX-License-Identifier: Apache-2.0
#include "helpers/snapshot/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cleanup.h"

enum {
	STOP_US = 50000,     // time for a thread to stop
	THREAD_US = 20,	     // additional time for each thread
	LET_GO_US = 5000000, // time for a late thread
	MAX_PASSES = 1000,
};

bool gr_thread_status(pid_t pid, pid_t tid, const char *key, char *buf,
		      size_t bytes)
{
	size_t key_bytes = strlen(key);
	char line[512];

	snprintf(line, sizeof(line), "/proc/%d/task/%d/status", pid, tid);
	_cleanup_fclose_ FILE *file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, key_bytes) || line[key_bytes] != ':')
			continue;
		char *value = line + key_bytes + 1;
		value += strspn(value, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(buf, bytes, "%s", value);
		return true;
	}
	return false;
}

// True if the thread has a seccomp filter, or if this is not known.
static bool has_filter(pid_t pid, pid_t tid)
{
	char text[32];

	return !gr_thread_status(pid, tid, "Seccomp", text, sizeof(text)) ||
	       strcmp(text, "0") != 0;
}

/* A copy is as the process is: who may not end the one may not end the other.
 * ptrace needs another right. */
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
	threads->is_nested =
		gr_thread_status(pid, pid, "NSpid", text, sizeof(text)) &&
		strpbrk(text, " \t");
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
	gr_tracees_deinit(&threads->list);
	memset(threads, 0, sizeof(*threads));
}

// ------------------------------------------------------------------ stopping

// Threads are listed in the order of their creation, so *@p hint only grows.
static bool is_known(const struct gr_threads *threads, pid_t tid, size_t *hint)
{
	const struct gr_tracees *list = &threads->list;

	if (*hint < list->size && list->data[*hint].tid == tid) {
		++*hint;
		return true;
	}
	for (size_t i = 0; i < list->size; i++) {
		if (list->data[i].tid == tid) {
			*hint = i + 1;
			return true;
		}
	}
	return false;
}

static struct gr_error *seize_one(struct gr_threads *threads, pid_t tid)
{
	struct gr_tracee t = { .tid = tid, .own_tid = tid };
	char state[32] = "";
	bool is_there;

	if (!gr_tracees_reserve(&threads->list, threads->list.size + 1))
		return &gr_enomem;
	struct gr_error *err = gr_tracee_seize(&t, &is_there);
	if (err) {
		// A zombie cannot be traced, either; this is not an error.
		gr_thread_status(threads->pid, tid, "State", state,
				 sizeof(state));
		if (*state && *state != 'Z' && *state != 'X')
			return err;
		gr_error_destroy(err);
		return NULL;
	}
	if (is_there)
		threads->list.data[threads->list.size++] = t;
	return NULL;
}

static struct gr_error *seize_new(struct gr_threads *threads)
{
	struct gr_error *err = NULL;
	size_t hint = 0;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/task", threads->pid);
	_cleanup_closedir_ DIR *dir = opendir(name);
	if (!dir)
		return gr_error_format(GR_ERROR_IO, "it has ended");
	for (struct dirent *d; !err && (d = readdir(dir));) {
		pid_t tid = atoi(d->d_name);
		if (isdigit((unsigned char)d->d_name[0]) &&
		    !is_known(threads, tid, &hint))
			err = seize_one(threads, tid);
	}
	return err;
}

static struct gr_error *does_not_stop(const struct gr_threads *threads,
				      const struct gr_tracee *t)
{
	char state[32] = "unknown";

	gr_thread_status(threads->pid, t->tid, "State", state, sizeof(state));
	return gr_error_format(GR_ERROR_LIMIT,
			       "its thread %d does not stop (state %s): try "
			       "again later, or attach without a snapshot",
			       t->tid, state);
}

// Stop the threads from number @p first on.
static struct gr_error *stop_from(struct gr_threads *threads, size_t first)
{
	struct gr_tracees *list = &threads->list;
	int64_t stop_us = STOP_US + (int64_t)list->size * THREAD_US;

	for (size_t i = first; i < list->size; i++)
		gr_tracee_interrupt(&list->data[i]);
	for (size_t i = first; i < list->size; i++) {
		struct gr_tracee *t = &list->data[i];
		if (gr_tracee_wait(t, gr_now_us() + stop_us) == GR_STOP_NONE)
			return does_not_stop(threads, t);
		if (t->stop != GR_STOP_ENDED)
			gr_tracee_read_registers(t);
	}
	return NULL;
}

static void read_own_tids(struct gr_threads *threads)
{
	char text[128];

	for (size_t i = 0; threads->is_nested && i < threads->list.size; i++) {
		struct gr_tracee *t = &threads->list.data[i];
		if (!gr_thread_status(threads->pid, t->tid, "NSpid", text,
				      sizeof(text)))
			continue;
		const char *last = strrchr(text, '\t');
		if (last)
			t->own_tid = atoi(last + 1);
	}
}

struct gr_error *gr_threads_stop(struct gr_threads *threads)
{
	size_t first = 0;

	threads->list.size = 0;
	// The threads still run during the first pass.
	struct gr_error *err = seize_new(threads);
	threads->stopped_us = gr_now_us();
	for (int i = 0; !err && i < MAX_PASSES; i++) {
		err = stop_from(threads, first);
		first = threads->list.size;
		if (!err)
			err = seize_new(threads);
		if (!err && first == threads->list.size)
			break;
	}
	read_own_tids(threads);
	if (!err && !threads->list.size)
		err = gr_error_format(GR_ERROR_IO, "it has ended");
	if (err)
		gr_threads_release(threads);
	return err;
}

void gr_threads_release(struct gr_threads *threads)
{
	struct gr_tracees *list = &threads->list;
	bool is_late = false;

	for (size_t i = 0; i < list->size; i++) {
		if (list->data[i].stop == GR_STOP_NONE)
			is_late = true;
		gr_tracee_detach(&list->data[i]);
	}
	if (!is_late)
		return;
	// A thread that has not stopped yet is detached once it stops.
	int64_t deadline_us = gr_now_us() + LET_GO_US;
	for (size_t i = 0; i < list->size; i++) {
		gr_tracee_interrupt(&list->data[i]);
		gr_tracee_wait(&list->data[i], deadline_us);
		gr_tracee_detach(&list->data[i]);
	}
}

// ------------------------------------------------------------------ choosing

// If only some threads have a filter, the others are fit.
static enum gr_fitness fitness_of(const struct gr_threads *threads,
				  struct gr_tracee *t)
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

struct gr_tracee *gr_threads_pick(struct gr_threads *threads)
{
	enum gr_fitness best = GR_FITNESS_NONE;
	struct gr_tracee *ret = NULL;

	for (size_t i = 0; i < threads->list.size && best != GR_FITNESS_FUTEX;
	     i++) {
		struct gr_tracee *t = &threads->list.data[i];
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

// Return the system call in which a running thread waits, or -1.
static long waits_in(pid_t pid, pid_t tid)
{
	char name[64];
	long number;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/syscall", pid, tid);
	_cleanup_fclose_ FILE *file = fopen(name, "re");
	return file && fscanf(file, "%ld", &number) == 1 ? number : -1;
}

static bool try_one(struct gr_threads *threads, pid_t tid)
{
	struct gr_error *err;

	threads->list.size = 0;
	err = seize_one(threads, tid);
	gr_error_destroy(err);
	if (!threads->list.size)
		return false;
	err = stop_from(threads, 0);
	gr_error_destroy(err);
	if (!err && fitness_of(threads, &threads->list.data[0]))
		return true;
	gr_threads_release(threads);
	return false;
}

/* Return the thread of number *@p nth among those in a call of that fitness. If
 * these are fewer, return 0 and reduce *@p nth by their number. */
static pid_t find_in_call(const struct gr_threads *threads,
			  enum gr_fitness fitness, size_t *nth)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/task", threads->pid);
	_cleanup_closedir_ DIR *dir = opendir(name);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		pid_t tid = atoi(d->d_name);
		long number = tid ? waits_in(threads->pid, tid) : -1;

		if (!tid || gr_arch_call_fitness(number) != fitness)
			continue;
		if (!*nth)
			return tid;
		--*nth;
	}
	return 0;
}

struct gr_tracee *gr_threads_stop_one(struct gr_threads *threads, size_t *nth)
{
	size_t left = *nth;
	pid_t tid = find_in_call(threads, GR_FITNESS_FUTEX, &left);

	if (!tid)
		tid = find_in_call(threads, GR_FITNESS_CALL, &left);
	*nth = tid ? *nth + 1 : 0;
	return tid && try_one(threads, tid) ? &threads->list.data[0] : NULL;
}
