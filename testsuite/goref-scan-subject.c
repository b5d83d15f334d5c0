// SPDX-License-Identifier: Apache-2.0
// What goref-scan looks at: a process that it stops, a core, a saved file.
#include "goref-scan-subject.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void note_poll(struct subject *s)
{
	uint64_t now = clock_us(CLOCK_THREAD_CPUTIME_ID);

	if (now - s->polled_us > s->longest_us)
		s->longest_us = now - s->polled_us;
	s->polled_us = now;
}

static struct gr_error *poll_target(void *ctx)
{
	struct subject *s = ctx;

	s->npolls++;
	if (s->has_clock)
		note_poll(s);
	if (s->last_poll && s->npolls >= s->last_poll)
		return gr_error_format(GR_ERROR_INTERRUPTED,
				       "poll has ended it");
	if (s->end_ms && clock_us(CLOCK_MONOTONIC) / 1000 > s->end_ms)
		return gr_error_format(GR_ERROR_INTERRUPTED, "timed out");
	return NULL;
}

static struct gr_error *read_mem(void *ctx, uint64_t addr, void *buf,
				 size_t bytes)
{
	const struct subject *s = ctx;

	if (s->mem_fd < 0 ||
	    pread(s->mem_fd, buf, bytes, (off_t)addr) != (ssize_t)bytes)
		return gr_error_fault(addr, bytes);
	return NULL;
}

static bool add_thread(struct subject *s, pid_t tid)
{
	struct user_regs_struct u;
	struct gr_target_thread thread = { .lwp = tid };

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	if (waitpid(tid, NULL, __WALL) < 0 ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return false;
	thread.regs = (struct gr_regs){
		.value = { u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp,
			   u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14,
			   u.r15, u.rip },
		.fs_base = u.fs_base,
		.call = u.orig_rax,
		.is_in_call = u.orig_rax != UINT64_MAX,
	};
	return thread_vector_append(&s->threads, thread);
}

static bool has_thread(const struct subject *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads.size; i++) {
		if (s->threads.data[i].lwp == tid)
			return true;
	}
	return false;
}

// Stop every thread; new ones may come until all are stopped.
static bool stop_all(struct subject *s, pid_t pid)
{
	char path[64];
	bool is_new = true;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	while (is_new) {
		DIR *dir = opendir(path);

		if (!dir)
			return false;
		is_new = false;
		for (struct dirent *d; (d = readdir(dir));) {
			pid_t tid = atoi(d->d_name);

			if (isdigit((unsigned char)d->d_name[0]) &&
			    !has_thread(s, tid) && add_thread(s, tid))
				is_new = true;
		}
		closedir(dir);
	}
	return s->threads.size > 0;
}

static bool open_process(struct subject *s, pid_t pid)
{
	char path[64];

	if (!stop_all(s, pid)) {
		fprintf(stderr, "goref-scan: cannot stop process %d: %s\n",
			(int)pid, strerror(errno));
		return false;
	}
	snprintf(s->exe, sizeof(s->exe), "/proc/%d/exe", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	s->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	s->modules[0].path = s->exe;
	s->target.kind = GR_TARGET_NATIVE;
	s->target.pid = pid;
	s->target.threads = s->threads.data;
	s->target.nthreads = s->threads.size;
	return s->mem_fd >= 0;
}

bool open_subject(struct subject *s, int argc, char **argv)
{
	s->mem_fd = -1;
	s->modules[0].bias = UINT64_MAX;
	s->target.modules = s->modules;
	s->target.nmodules++;
	s->target.ops.read = read_mem;
	s->target.ops.poll = poll_target;
	s->target.ctx = s;
	if (argc == 1 && strspn(argv[0], "0123456789") == strlen(argv[0]))
		return open_process(s, atoi(argv[0]));
	if (argc == 1) {
		s->target.nmodules = 0;
		s->target.kind = GR_TARGET_SAVED;
		s->target.saved_path = argv[0];
		return true;
	}
	s->modules[0].path = argv[0];
	s->target.kind = GR_TARGET_CORE;
	s->target.core_path = argv[1];
	return true;
}

void close_subject(struct subject *s)
{
	for (size_t i = 0; i < s->threads.size; i++)
		ptrace(PTRACE_DETACH, s->threads.data[i].lwp, NULL, NULL);
	thread_vector_deinit(&s->threads);
	if (s->mem_fd >= 0)
		close(s->mem_fd);
}
