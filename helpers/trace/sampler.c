// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "helpers/trace/event.h"
#include "helpers/trace/trace.skel.h"

enum {
	TRACE_UPROBE_MULTI = 48,   // enum bpf_attach_type, since 6.6
	TRACE_UPROBE_SESSION = 57, // since 6.13
	MULTI_RETURN = 1,	   // BPF_F_UPROBE_MULTI_RETURN
	MAPS_MAX = 1 << 20,	   // lines
};

/** The part of union bpf_attr for uprobe.multi, which older headers lack. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, unused;
};

// ------------------------------------------------------------------ the place

bool gr_sampler_parse_map(const char *line, struct gr_sampler_map *ret)
{
	char rights[5];

	*ret = (struct gr_sampler_map){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64,
		   &ret->start, &ret->end, rights, &ret->offset,
		   &ret->inode) != 5)
		return false;
	ret->is_code = rights[2] == 'x';
	return ret->start < ret->end;
}

/* The path is behind five words and their spaces. */
static bool copy_path(const char *line, char path[static PATH_MAX])
{
	int at = -1;

	if (sscanf(line, "%*s %*s %*s %*s %*s %n", &at) < 0 || at < 0)
		return false;
	snprintf(path, PATH_MAX, "%s", line + at);
	path[strcspn(path, "\n")] = '\0';
	return true;
}

/** Find the mapping of an address, and its path, which is not to be trusted. */
static bool find_map(pid_t pid, uint64_t addr, struct gr_sampler_map *ret,
		     char path[static PATH_MAX])
{
	char line[PATH_MAX + 128];

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	_cleanup_fclose_ FILE *file = fopen(line, "re");
	for (int i = 0; file && i < MAPS_MAX && fgets(line, sizeof(line), file);
	     i++)
		if (gr_sampler_parse_map(line, ret) && addr >= ret->start &&
		    addr < ret->end)
			return ret->is_code && ret->inode &&
			       copy_path(line, path);
	return false;
}

/* A link in map_files takes a capability more than the path in the process's own
 * root, where another file may be by now. */
static bool find_by_path(pid_t pid, const struct gr_sampler_map *map,
			 const char *path, struct gr_sampler_place *ret)
{
	struct stat st;
	int n = snprintf(ret->path, sizeof(ret->path), "/proc/%d/root%s", pid,
			 path);

	return *path == '/' && n > 0 && (size_t)n < sizeof(ret->path) &&
	       !stat(ret->path, &st) && S_ISREG(st.st_mode) &&
	       st.st_ino == map->inode;
}

struct gr_error *gr_sampler_find(pid_t pid, uint64_t addr,
				 struct gr_sampler_place *ret)
{
	struct gr_sampler_map map;
	char path[PATH_MAX];
	struct stat st;

	if (!find_map(pid, addr, &map, path))
		return gr_error_format(
			GR_ERROR_PROCESS,
			"no file has its code mapped at 0x%" PRIx64, addr);
	ret->offset = addr - map.start + map.offset;
	// These links lead to the file itself, in any mount namespace, and also
	// if its name is gone. The latter takes more rights.
	snprintf(ret->path, sizeof(ret->path), "/proc/%d/exe", pid);
	if (stat(ret->path, &st) || st.st_ino != map.inode)
		snprintf(ret->path, sizeof(ret->path),
			 "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 map.start, map.end);
	int number = stat(ret->path, &st) ? errno : 0;
	if (!number || find_by_path(pid, &map, path, ret))
		return NULL;
	return gr_error_format(GR_ERROR_PROCESS,
			       "cannot open the file at 0x%" PRIx64 ": %s",
			       addr, strerror(number));
}

// ---------------------------------------------------------------------- links

void gr_sampler_prepare(struct bpf_program *program, enum gr_sampler_way way)
{
	if (way != GR_SAMPLER_PERF)
		gr_sampler_prepare_many(program, GR_SAMPLER_ENTRY);
}

static enum bpf_attach_type type_of(enum gr_sampler_when when)
{
	return (enum bpf_attach_type)(when == GR_SAMPLER_SESSION ?
					      TRACE_UPROBE_SESSION :
					      TRACE_UPROBE_MULTI);
}

void gr_sampler_prepare_many(struct bpf_program *program,
			     enum gr_sampler_when when)
{
	bpf_program__set_expected_attach_type(program, type_of(when));
}

int gr_sampler_attach_many(const struct bpf_program *program,
			   enum gr_sampler_when when, pid_t pid,
			   const struct gr_sampler_places *places)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = (uint32_t)type_of(when),
		.path = (uintptr_t)places->path,
		.offsets = (uintptr_t)places->offsets,
		.cookies = (uintptr_t)places->cookies,
		.count = (uint32_t)places->count,
		.multi_flags = when == GR_SAMPLER_RETURN ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int attach_multi(const struct bpf_program *program, pid_t pid,
			const struct gr_sampler_place *place)
{
	const struct gr_sampler_places places = {
		.path = place->path,
		.offsets = &place->offset,
		.count = 1,
	};

	return gr_sampler_attach_many(program, GR_SAMPLER_ENTRY, pid, &places);
}

/** The number of the kind of events that uprobes are, or -1. */
static int uprobe_type(void)
{
	int type = -1;

	_cleanup_fclose_ FILE *file =
		fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	return file && fscanf(file, "%d", &type) == 1 ? type : -1;
}

/* An event of one process would be one of its first thread alone. */
static int attach_perf(int program, const struct gr_sampler_place *place)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)uprobe_type(),
		.uprobe_path = (uintptr_t)place->path,
		.probe_offset = place->offset,
	};

	if (uprobe_type() < 0)
		return -ENOENT;
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1,
			      PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		int number = errno;
		close(fd);
		return -number;
	}
	return fd;
}

int gr_sampler_attach(const struct bpf_program *program,
		      enum gr_sampler_way way, pid_t pid,
		      const struct gr_sampler_place *place)
{
	if (way == GR_SAMPLER_PERF)
		return attach_perf(bpf_program__fd(program), place);
	return attach_multi(program, way == GR_SAMPLER_MULTI ? pid : 0, place);
}

// ----------------------------------------------------------- the test of ways

__attribute__((__noinline__, __noclone__)) static void *
called_by_a_thread(void *arg)
{
	__asm__ volatile("" : : "r"(arg) : "memory");
	return arg;
}

/** Wait for a byte, and call the function in a second thread. */
static void run_child(int fd)
{
	pthread_t thread;
	char byte;

	if (read(fd, &byte, 1) == 1 &&
	    !pthread_create(&thread, NULL, called_by_a_thread, NULL))
		pthread_join(thread, NULL);
	_exit(0);
}

/** Does a link see the second thread of a process? */
static bool sees_threads(struct gr_trace *s, enum gr_sampler_way way, pid_t pid,
			 int go_fd)
{
	struct gr_sampler_place place;
	struct gr_error *err =
		gr_sampler_find(pid, (uintptr_t)called_by_a_thread, &place);

	if (err) {
		gr_error_destroy(err);
		return false;
	}
	_cleanup_close_ int link =
		gr_sampler_attach(s->progs.test_filter, way, pid, &place);
	if (link < 0 || write(go_fd, "g", 1) != 1)
		return false;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return s->bss->tests_seen > 0;
}

static bool test_child(struct gr_trace *s, enum gr_sampler_way way)
{
	int fds[2];

	if (pipe(fds))
		return false;
	pid_t pid = fork();
	if (!pid) {
		close(fds[1]);
		run_child(fds[0]);
	}
	close(fds[0]);
	bool ret = pid > 0 && sees_threads(s, way, pid, fds[1]);
	close(fds[1]); // the child ends, if it has not begun
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return ret;
}

/* Kernels without uprobe.multi may also load a program for it. */
static bool works(enum gr_sampler_way way)
{
	struct gr_trace *s = gr_trace__open();
	struct bpf_program *program;

	if (!s)
		return false;
	bpf_object__for_each_program(program, s->obj) bpf_program__set_autoload(
		program, program == s->progs.test_filter);
	gr_sampler_prepare(s->progs.test_filter, way);
	bool ret = !gr_trace__load(s) && test_child(s, way);
	gr_trace__destroy(s);
	return ret;
}

enum gr_sampler_way gr_sampler_test(void)
{
	enum gr_sampler_way way = GR_SAMPLER_MULTI;

	while (way != GR_SAMPLER_PERF && !works(way))
		way++;
	return way;
}
