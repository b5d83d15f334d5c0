// SPDX-License-Identifier: Apache-2.0
// The target of goref-scan: a process that it stops, a core, a saved file.
#include "goref-scan-subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_US = 10 * 1000 * 1000 };

static struct gr_error *poll_target(void *ctx)
{
	(void)ctx;
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

static struct gr_error *open_process(struct subject *s, pid_t pid)
{
	const struct gr_process_patience patience = { .limit_us = PATIENCE_US };
	struct gr_process_stop stop;
	char path[64];
	struct gr_error *err = gr_process_create(pid, &s->process);

	if (!err)
		err = gr_process_stop(s->process, &patience, &stop);
	if (err)
		return err;
	snprintf(s->exe, sizeof(s->exe), "/proc/%d/exe", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	s->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->mem_fd < 0)
		return gr_error_format(GR_ERROR_IO, "%s: %s", path,
				       strerror(errno));
	s->modules[0].path = s->exe;
	s->target.kind = GR_TARGET_NATIVE;
	s->target.pid = pid;
	s->target.threads = gr_process_threads(s->process, &s->target.nthreads);
	return NULL;
}

struct gr_error *open_subject(struct subject *s, int argc, char **argv)
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
		return NULL;
	}
	s->modules[0].path = argv[0];
	s->target.kind = GR_TARGET_CORE;
	s->target.core_path = argv[1];
	return NULL;
}

void close_subject(struct subject *s)
{
	gr_process_destroy(s->process);
	if (s->mem_fd >= 0)
		close(s->mem_fd);
}
