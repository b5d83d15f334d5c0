// SPDX-License-Identifier: Apache-2.0
/*
 * goref-unwind PID ROUNDS MODULEDATA NAME=OFFSET...
 *
 * Stop all threads of a process at random moments, take samples as the tracer
 * does, and print a line for each stack: the thread, whether the stack is
 * finished, the pc, and the functions, innermost first. Tests compare them.
 * MODULEDATA is the address of runtime.firstmoduledata, or 0; offsets are those
 * of the protocol of goref-trace, and tls_g.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "helpers/trace/places.h"

enum { MAX_THREADS = 256, STEP = 1024, CHUNK_BYTES = 64 << 10 };

/** Offsets of the runtime's fields. */
static struct offset {
	const char *name;
	int64_t value;
} offsets[] = {
	{ "tls_g", -8 },     { "g_m", 0 },	  { "g_stack_hi", 0 },
	{ "g_sched_sp", 0 }, { "g_sched_pc", 0 }, { "g_sched_bp", 0 },
	{ "m_g0", 0 },	     { "m_curg", 0 },
};

enum { TLS_G, G_M, G_STACK_HI, G_SP, G_PC, G_BP, M_G0, M_CURG };

static pid_t pid, threads[MAX_THREADS];
static size_t nthreads;
static uint8_t stacks[2][CHUNK_BYTES];

static bool get(uint64_t addr, void *data, size_t bytes)
{
	struct iovec local = { data, bytes }, remote = { (void *)addr, bytes };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) ==
	       (ssize_t)bytes;
}

static uint64_t word(uint64_t addr)
{
	uint64_t value = 0;

	get(addr, &value, sizeof(value));
	return value;
}

static void stop_all(void)
{
	char path[64];

	nthreads = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		pid_t tid = atoi(d->d_name);
		int status;

		if (!tid || nthreads == MAX_THREADS ||
		    ptrace(PTRACE_SEIZE, tid, NULL, NULL))
			continue;
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		if (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
			threads[nthreads++] = tid;
	}
	if (dir)
		closedir(dir);
}

static void copy_stack(uint64_t start, uint64_t end, uint8_t *to,
		       struct gr_sample_chunk *ret)
{
	ret->start = start;
	ret->data = to;
	ret->bytes = 0;
	// Bounded by the size of the copy.
	while (ret->bytes < CHUNK_BYTES && start < end) {
		size_t n = end - start < STEP ? end - start : STEP;

		if (!get(start, to + ret->bytes, n))
			break;
		ret->bytes += n;
		start += n;
	}
}

static bool take(pid_t tid, struct gr_sample *s)
{
	struct user_regs_struct r;

	memset(s, 0, sizeof(*s));
	if (ptrace(PTRACE_GETREGS, tid, NULL, &r))
		return false;
	const uint64_t regs[] = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
				  r.rbp, r.rsp, r.r8,  r.r9,  r.r10, r.r11,
				  r.r12, r.r13, r.r14, r.r15, r.rip };
	memcpy(s->regs, regs, sizeof(regs));
	uint64_t end = UINT64_MAX, g = word(r.fs_base + offsets[TLS_G].value);
	uint64_t m = g ? word(g + offsets[G_M].value) : 0;
	uint64_t g0 = m ? word(m + offsets[M_G0].value) : 0;
	uint64_t curg = m ? word(m + offsets[M_CURG].value) : 0;
	if (g && g == curg)
		end = word(g + offsets[G_STACK_HI].value);
	if (g && g == g0 && curg) {
		s->resume_pc = word(curg + offsets[G_PC].value);
		s->resume_sp = word(curg + offsets[G_SP].value);
		s->resume_bp = word(curg + offsets[G_BP].value);
		copy_stack(s->resume_sp, word(curg + offsets[G_STACK_HI].value),
			   stacks[1], &s->chunks[1]);
	}
	copy_stack(r.rsp - GR_RED_ZONE_BYTES, end, stacks[0], &s->chunks[0]);
	return true;
}

static void print(struct gr_places *places, pid_t tid,
		  const struct gr_sample *s, const struct gr_walked *walked)
{
	static char names[1 << 20][64];
	struct gr_trace_place place;

	printf("%d %d %#" PRIx64, tid, walked->is_finished,
	       s->regs[GR_REG_RIP]);
	for (size_t i = 0; i < walked->count; i++) {
		gr_places_find(places, walked->pc[i], &place);
		if (place.is_new)
			snprintf(names[place.id], sizeof(*names), "%s",
				 *place.name ? place.name : "?");
		printf(" %s", names[place.id]);
	}
	printf("\n");
}

static struct gr_error *add_module(struct gr_unwinder *u, uint64_t data)
{
	const struct gr_go_module module = {
		.pclntable = word(data + 104),
		.pclntable_bytes = word(data + 112),
		.ftab = word(data + 128),
		.ftab_count = word(data + 136),
		.text = word(data + 176),
		.etext = word(data + 184),
		.text_start = word(data + 176),
	};

	return gr_unwinder_add_go_module(u, &module);
}

static void look(struct gr_unwinder *u, struct gr_places *places)
{
	struct gr_walked walked;
	struct gr_sample sample;

	stop_all();
	for (size_t i = 0; i < nthreads; i++) {
		if (!take(threads[i], &sample))
			continue;
		gr_unwinder_walk(u, &sample, &walked);
		print(places, threads[i], &sample, &walked);
	}
	for (size_t i = 0; i < nthreads; i++)
		ptrace(PTRACE_DETACH, threads[i], NULL, NULL);
}

int main(int argc, char **argv)
{
	struct gr_unwinder *u = NULL;
	struct gr_places *places = NULL;
	struct gr_error *err = NULL;

	if (argc < 4)
		return 2;
	pid = atoi(argv[1]);
	for (int i = 4; i < argc; i++)
		for (size_t k = 0; k < GR_ARRAY_SIZE(offsets); k++) {
			size_t n = strlen(offsets[k].name);

			if (!strncmp(argv[i], offsets[k].name, n) &&
			    argv[i][n] == '=')
				offsets[k].value = atoll(argv[i] + n + 1);
		}
	err = gr_unwinder_new(pid, &u);
	if (!err)
		err = gr_places_new(u, &places);
	uint64_t data = strtoull(argv[3], NULL, 0);
	if (!err && data)
		err = add_module(u, data);
	for (int i = 0; !err && i < atoi(argv[2]); i++) {
		struct timespec pause = { 0, 1000 + random() % 2000000 };

		nanosleep(&pause, NULL);
		look(u, places);
	}
	if (err)
		fprintf(stderr, "%s\n", err->message);
	int code = err != NULL;
	gr_error_destroy(err);
	gr_places_destroy(places);
	gr_unwinder_destroy(u);
	return code;
}
