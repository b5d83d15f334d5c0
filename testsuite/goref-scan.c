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

// -------------------------------------------------------------------- JSON

static void put_string(const char *text)
{
	if (!text) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_field(const char *key, const char *value)
{
	printf("\"%s\": ", key);
	put_string(value);
}

static void put_total(const char *prefix, const struct gr_total *total)
{
	printf("\"%sobjects\": %" PRIu64 ", \"%sbytes\": %" PRIu64, prefix,
	       total->objects, prefix, total->bytes);
}

static void put_gaps(const struct gr_gaps *gaps)
{
	printf("\"gaps\": {");
	for (size_t i = 0; i < GR_NGAPS; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "",
		       gr_gap_name((enum gr_gap)i), gaps->count[i]);
	printf("}");
}

static void put_ledger(const struct gr_ledger *l)
{
	printf("\"heap\": {");
	put_total("allocated_", &l->allocated);
	printf("},\n\"reached\": {");
	put_total("", &l->reached);
	printf(", ");
	put_total("typed_", &l->typed);
	printf(", ");
	put_total("runtime_type_", &l->runtime_type);
	printf(", ");
	put_total("header_", &l->header);
	printf(", ");
	put_total("masked_", &l->masked);
	printf("},\n\"unreached\": {");
	put_total("", &l->unreached);
	printf("},\n");
	put_gaps(&l->gaps);
	printf(",\n");
}

static void put_phases(const struct gr_ledger *l)
{
	static const char *const names[] = {
#define X(name) #name,
		GR_PHASES(X)
#undef X
	};

	printf("\"phases_ms\": {");
	for (size_t i = 0; i < GR_NPHASES; i++)
		printf("%s\"%s\": %.3f", i ? ", " : "", names[i],
		       (double)l->phases_us[i] / 1000);
	printf("},\n\"peak_private_bytes\": %" PRIu64 "\n",
	       l->peak_private_bytes);
}

static void put_roots(const struct gr_result *result)
{
	size_t count;
	const struct gr_root_total *roots = gr_result_roots(result, &count);

	printf("\"roots\": [");
	for (size_t i = 0; i < count; i++) {
		printf("%s\n {", i ? "," : "");
		put_field("name", roots[i].name);
		printf(", ");
		put_field("kind", gr_root_kind_name(roots[i].kind));
		printf(", ");
		if (roots[i].goroutine_id)
			printf("\"goroutine_id\": %" PRIu64 ", ",
			       roots[i].goroutine_id);
		put_total("", &roots[i].total);
		printf("}");
	}
	printf("],\n");
}

static void put_types(const struct gr_result *result)
{
	size_t count;
	const struct gr_type_total *types = gr_result_types(result, &count);

	printf("\"types\": [");
	for (size_t i = 0; i < count; i++) {
		printf("%s\n {", i ? "," : "");
		put_field("type", types[i].type);
		printf(", ");
		put_total("", &types[i].total);
		printf("}");
	}
	printf("],\n");
}

static void put_result(const struct gr_scan_info *info,
		       const struct gr_result *result)
{
	printf("{");
	put_field("tool_version", PACKAGE_VERSION);
	printf(",\n");
	put_field("go_version", info->go_version);
	printf(",\n");
	put_field("gc_phase", info->gc_phase);
	printf(",\n\"target\": {");
	put_field("exe", info->exe_path);
	printf(", ");
	put_field("core", info->core_path);
	printf(", \"pid\": %d},\n", (int)info->pid);
	put_ledger(gr_result_ledger(result));
	put_roots(result);
	put_types(result);
	put_phases(gr_result_ledger(result));
	printf("}\n");
}

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

static void put_classes(const struct gr_verdict *v)
{
	printf("\"classes\": [");
	for (size_t i = 0; i < v->nclasses; i++) {
		const struct gr_class_total *class = &v->classes[i];

		printf("%s\n {\"spanclass\": %u, \"slot_bytes\": %" PRIu64 ", ",
		       i ? "," : "", class->spanclass, class->elem_bytes);
		put_total("allocated_", &class->allocated);
		printf(", ");
		put_total("reached_", &class->reached);
		printf("}");
	}
	printf("],\n");
}

static void put_differences(const struct gr_verdict *v)
{
	printf("\"differences\": [");
	for (size_t i = 0; i < v->ndifferences; i++) {
		const struct gr_difference *d = &v->differences[i];

		printf("%s\n {\"address\": \"0x%" PRIx64
		       "\", \"bytes\": %" PRIu64 ", ",
		       i ? "," : "", d->addr, d->bytes);
		put_field("type", *d->type ? d->type : NULL);
		printf(", ");
		put_field("reason", d->reason);
		printf("}");
	}
	printf("],\n");
}

static void put_figure(const char *key, bool has_stats, uint64_t read,
		       uint64_t rebuilt)
{
	printf("\"%s\": {\"read\": ", key);
	if (has_stats)
		printf("%" PRIu64, read);
	else
		printf("null");
	printf(", \"rebuilt\": %" PRIu64 "},\n", rebuilt);
}

static void put_free_slots(const struct gr_verdict *v)
{
	printf("\"free_slots\": [");
	for (size_t i = 0; i < v->nfree_slots; i++) {
		const struct gr_free_slot *slot = &v->free_slots[i];

		printf("%s{\"address\": \"0x%" PRIx64 "\", \"held_by\": ",
		       i ? ", " : "", slot->addr);
		if (slot->held_by)
			printf("\"0x%" PRIx64 "\"}", slot->held_by);
		else
			printf("null}");
	}
	printf("],\n");
}

static void put_verdict(const struct gr_scan_info *info,
			const struct gr_verdict *v)
{
	printf("{");
	put_field("go_version", info->go_version);
	printf(",\n");
	put_field("gc_phase", info->gc_phase);
	printf(",\n");
	put_total("allocated_", &v->allocated);
	printf(",\n");
	put_total("reached_", &v->reached);
	printf(",\n");
	put_figure("heap_alloc", v->has_stats, v->stats.bytes,
		   v->rebuilt.bytes);
	put_figure("heap_objects", v->has_stats, v->stats.objects,
		   v->rebuilt.objects);
	put_classes(v);
	put_differences(v);
	put_gaps(&v->gaps);
	printf(",\n");
	put_free_slots(v);
	printf("\"free_slot_pointers\": %" PRIu64
	       ", \"missed_pointers\": %" PRIu64 ", \"unexplained\": %" PRIu64
	       "}\n",
	       v->free_slot_pointers, v->missed_pointers, v->unexplained);
}

// --------------------------------------------------------------------- run

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
