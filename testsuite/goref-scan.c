// SPDX-License-Identifier: Apache-2.0
// goref-scan: the scanner without gdb and without Python, for sanitizers,
// fuzzing and profilers of our own. Not installed.
//
//	goref-scan [OPTION]... EXE CORE
//	goref-scan [OPTION]... PID
//
//	--library FILE	another file that is loaded; may be repeated
//	--why ADDR	print the chain to an object instead of the ledger
//	--out FILE	write a profile too
//	--layout	print the resolved layout table instead
//	--nodes		print the reference tree: depth, name, objects, bytes
//	--verify	print how the walk compares with the allocator; status
//			1 if something has no explanation
//	--objects	print base address and bytes of every reached object
//	--attribution nearest|first
//	--per-goroutine	a root of its own for each goroutine
#include "scanner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "goref-scan-json.h"
#include "proto/profile_writer.h"

enum {
	MAX_DEPTH = 256,
	MAX_NODES = 1 << 20,
	MAX_DIFFERENCES = 20,
	MAX_MODULES = 16,
};

GR_VECTOR(thread_vector, struct gr_target_thread);

// What is looked at.
struct subject {
	struct gr_target target;
	struct gr_target_module modules[MAX_MODULES];
	struct thread_vector threads;
	int mem_fd;
	char exe[64];
};

struct options {
	const char *why;
	const char *out;
	bool layout;
	bool nodes;
	bool verify;
	bool objects;
	enum gr_attribution attribution;
	bool per_goroutine;
	bool cache;
};

static int fail(struct gr_error *err)
{
	fprintf(stderr, "goref-scan: %s\n", err->message);
	gr_error_destroy(err);
	return 1;
}

// ------------------------------------------------------------------ target

static struct gr_error *poll_nothing(void *ctx)
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

static bool open_subject(struct subject *s, int argc, char **argv)
{
	s->mem_fd = -1;
	s->modules[0].bias = UINT64_MAX;
	s->target.modules = s->modules;
	s->target.nmodules++;
	s->target.ops.read = read_mem;
	s->target.ops.poll = poll_nothing;
	s->target.ctx = s;
	if (argc == 1)
		return open_process(s, atoi(argv[0]));
	s->modules[0].path = argv[0];
	s->target.kind = GR_TARGET_CORE;
	s->target.core_path = argv[1];
	return true;
}

static void close_subject(struct subject *s)
{
	for (size_t i = 0; i < s->threads.size; i++)
		ptrace(PTRACE_DETACH, s->threads.data[i].lwp, NULL, NULL);
	thread_vector_deinit(&s->threads);
	if (s->mem_fd >= 0)
		close(s->mem_fd);
}

// --------------------------------------------------------------------- run

static int put_nodes(const struct gr_result *result)
{
	size_t count;
	const struct gr_node *nodes = gr_result_nodes(result, &count);
	_cleanup_free_ uint32_t *depth = calloc(count + 1, sizeof(*depth));

	if (!depth)
		return fail(&gr_enomem);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].parent < i)
			depth[i] = depth[nodes[i].parent] + 1;
		printf("%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\n", depth[i],
		       nodes[i].name, nodes[i].objects, nodes[i].bytes);
	}
	return 0;
}

static int run_verify(struct gr_scan *scan)
{
	struct gr_verdict *verdict;
	struct gr_error *err = gr_scan_verify(scan, MAX_DIFFERENCES, &verdict);

	if (err)
		return fail(err);
	put_verdict(gr_scan_info(scan), verdict);
	int rc = verdict->unexplained != 0;
	gr_verdict_destroy(verdict);
	return rc;
}

static struct gr_error *put_object(void *ctx, uint64_t addr, uint64_t bytes)
{
	(void)ctx;
	printf("0x%" PRIx64 " %" PRIu64 "\n", addr, bytes);
	return NULL;
}

static int run_objects(struct gr_scan *scan)
{
	struct gr_error *err = gr_scan_objects(scan, put_object, NULL);

	return err ? fail(err) : 0;
}

static int write_profile(struct gr_scan *scan, struct gr_result *result,
			 const char *path)
{
	const struct gr_scan_info *info = gr_scan_info(scan);
	struct gr_profile_stats stats;
	struct gr_profile profile = {
		.ledger = gr_result_ledger(result),
		.tool_version = PACKAGE_VERSION,
		.go_version = info->go_version,
		.exe_path = info->exe_path,
		.build_id = info->build_id,
		.max_samples = GR_PROFILE_MAX_SAMPLES,
	};

	profile.nodes = gr_result_nodes(result, &profile.nnodes);
	profile.roots = gr_result_roots(result, &profile.nroots);
	struct gr_error *err = gr_profile_write(&profile, path, &stats);
	return err ? fail(err) : 0;
}

static int run_why(struct gr_scan *scan, const struct gr_walk_options *walk,
		   const char *text)
{
	struct gr_place place;
	struct gr_why *why;
	struct gr_error *err = gr_scan_resolve(scan, text, &place);

	if (!err)
		err = gr_scan_why(scan, walk, place.addr, &why);
	if (err)
		return fail(err);
	if (!why->is_object)
		printf("%s\n", why->description ? why->description : "nothing");
	else if (!why->is_reachable)
		printf("0x%" PRIx64 " %s: not reachable\n", why->base_addr,
		       why->type);
	for (size_t i = 0; i < why->nhops; i++)
		printf("%s\t%s\t0x%" PRIx64 "\n", why->hops[i].name,
		       why->hops[i].type, why->hops[i].addr);
	gr_why_destroy(why);
	return 0;
}

static int run_walk(struct gr_scan *scan, const struct gr_walk_options *walk,
		    const struct options *o)
{
	struct gr_result *result;
	struct gr_error *err = gr_scan_walk(scan, walk, &result);
	int rc = 0;

	if (err)
		return fail(err);
	if (o->nodes)
		rc = put_nodes(result);
	else
		put_result(gr_scan_info(scan), result);
	if (o->out && !rc)
		rc = write_profile(scan, result, o->out);
	gr_result_destroy(result);
	return rc;
}

static int run(const struct subject *s, const struct options *o)
{
	struct gr_walk_options walk = { .max_depth = MAX_DEPTH,
					.max_nodes = MAX_NODES,
					.attribution = o->attribution,
					.per_goroutine = o->per_goroutine };
	struct gr_scan *scan = NULL;
	struct gr_error *err = gr_scan_create(&s->target, &scan);
	int rc = 0;

	if (err)
		return fail(err);
	const char *const *warning = gr_scan_info(scan)->warnings;
	for (; warning && *warning; warning++)
		fprintf(stderr, "warning: %s\n", *warning);
	if (o->layout) {
		_cleanup_free_ char *text = gr_scan_layout_text(scan);

		rc = text ? fputs(text, stdout) < 0 : 1;
	} else if (o->why) {
		rc = run_why(scan, &walk, o->why);
	} else if (o->verify) {
		rc = run_verify(scan);
	} else if (o->objects) {
		rc = run_objects(scan);
	} else {
		rc = run_walk(scan, &walk, o);
	}
	gr_scan_destroy(scan);
	return rc;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: goref-scan [--why ADDR] [--out FILE] [--layout] "
		"[--nodes] [--verify]\n\t[--library FILE]... [--objects] [--attribution "
		"nearest|first] [--per-goroutine] [--cache] EXE CORE | PID\n");
	return 2;
}

static bool parse_attribution(const char *text, enum gr_attribution *ret)
{
	bool is_first = !strcmp(text, "first");

	*ret = is_first ? GR_ATTRIBUTION_FIRST : GR_ATTRIBUTION_NEAREST;
	return is_first || !strcmp(text, "nearest");
}

// Before the executable is known: it comes first.
static bool add_library(struct subject *s, const char *path)
{
	if (s->target.nmodules + 1 == MAX_MODULES)
		return false;
	s->modules[++s->target.nmodules] =
		(struct gr_target_module){ .path = path, .bias = UINT64_MAX };
	return true;
}

static bool parse_options(int argc, char **argv, struct options *o,
			  struct subject *s)
{
	static const struct option longs[] = {
		{ "why", required_argument, NULL, 'w' },
		{ "out", required_argument, NULL, 'o' },
		{ "layout", no_argument, NULL, 'l' },
		{ "nodes", no_argument, NULL, 'n' },
		{ "verify", no_argument, NULL, 'v' },
		{ "objects", no_argument, NULL, 'b' },
		{ "attribution", required_argument, NULL, 'a' },
		{ "per-goroutine", no_argument, NULL, 'g' },
		{ "cache", no_argument, NULL, 'c' },
		{ "library", required_argument, NULL, 'L' },
		{ NULL, 0, NULL, 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) >= 0;) {
		if (c == 'w')
			o->why = optarg;
		else if (c == 'o')
			o->out = optarg;
		else if (c == 'l')
			o->layout = true;
		else if (c == 'n')
			o->nodes = true;
		else if (c == 'v')
			o->verify = true;
		else if (c == 'b')
			o->objects = true;
		else if (c == 'g')
			o->per_goroutine = true;
		else if (c == 'c')
			o->cache = true;
		else if (c == 'L' && add_library(s, optarg))
			continue;
		else if (c != 'a' ||
			 !parse_attribution(optarg, &o->attribution))
			return false;
	}
	return argc - optind == 1 || argc - optind == 2;
}

int main(int argc, char **argv)
{
	struct options o = { .why = NULL };
	struct subject s = { .mem_fd = -1 };
	int rc = 1;

	if (!parse_options(argc, argv, &o, &s))
		return usage();
	s.target.use_cache = o.cache;
	if (open_subject(&s, argc - optind, argv + optind))
		rc = run(&s, &o);
	close_subject(&s);
	return rc;
}
