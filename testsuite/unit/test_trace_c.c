// SPDX-License-Identifier: Apache-2.0
/* Stacks of C code without frame pointers, against the unwinder of libgcc. */
#include "helpers/trace/unwinder.h"

#include <alloca.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

#include "suite.h"

#include "base/cleanup.h"
#include "helpers/trace/places.h"
#include "testsuite/unit/trace_self.h"

#define NOINLINE __attribute__((noinline, noclone))
/* No call is the last one: that would be a jump. */
#define AFTER __asm__ volatile("" : : : "memory")

enum {
	SAMPLES = 1000,
	PATIENCE = 100000000, // Walks until the mappings are read again.
	KEEP_NUMBERS = 64,
};

static volatile unsigned int sink;

/** The last one of all calls. */
typedef void leaf_function(void);

NOINLINE static void leaf_now(void)
{
	self_sample_now();
	AFTER;
}

NOINLINE static void call_plain(leaf_function *leaf, int depth)
{
	if (depth)
		call_plain(leaf, depth - 1);
	else
		leaf();
	AFTER;
}

NOINLINE static void call_alloca(leaf_function *leaf, unsigned int bytes)
{
	volatile char *p = alloca(bytes);

	p[0] = 1;
	call_plain(leaf, 3);
	sink += p[0];
}

NOINLINE static void call_realigned(leaf_function *leaf)
{
	volatile char wide[128] __attribute__((aligned(64)));

	memset((char *)wide, 1, sizeof(wide));
	call_alloca(leaf, 100 + wide[0]);
	sink += wide[1];
}

static leaf_function *qsort_leaf;

NOINLINE static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (qsort_leaf)
		call_realigned(qsort_leaf);
	AFTER;
	return (x > y) - (x < y);
}

NOINLINE static void call_qsort(leaf_function *leaf)
{
	int numbers[] = { 2, 1 };

	qsort_leaf = leaf;
	qsort(numbers, GR_ARRAY_SIZE(numbers), sizeof(*numbers), compare);
	sink += numbers[0];
}

static leaf_function *signal_leaf;

static void on_usr1(int signal)
{
	(void)signal;
	call_qsort(signal_leaf);
	AFTER;
}

NOINLINE static void call_signal(leaf_function *leaf)
{
	signal_leaf = leaf;
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	AFTER;
}

NOINLINE static void call_fault(leaf_function *leaf)
{
	/* A trap: the interrupted pc is that of no call. */
	signal_leaf = leaf;
	signal(SIGTRAP, on_usr1);
	__asm__ volatile("int3");
	AFTER;
}

static struct gr_unwinder *create(void)
{
	struct gr_unwinder *u;

	self_start();
	assert_null(gr_unwinder_new(getpid(), &u));
	return u;
}

#define FIXTURE struct gr_unwinder *u, create, gr_unwinder_destroy

static void assert_walk(struct gr_unwinder *u)
{
	struct gr_walked walked;

	assert_true(self.is_taken);
	gr_unwinder_walk(u, &self.sample, &walked);
	if (!self_is_true(&walked, false))
		self_print(&walked);
	assert_true(self_is_true(&walked, false));
	assert_true(walked.is_finished);
}

static void call_shallow(leaf_function *leaf)
{
	call_plain(leaf, 0);
	AFTER;
}

static void call_deep(leaf_function *leaf)
{
	call_plain(leaf, 60);
	AFTER;
}

static const struct {
	const char *name;
	void (*call)(leaf_function *leaf);
} paths[] = {
	{ "shallow", call_shallow },
	{ "deep", call_deep },
	{ "alloca and aligned", call_realigned },
	{ "qsort", call_qsort },
	{ "signal", call_signal },
	{ "trap", call_fault },
};

TEST_F_ROWS(path, paths, row)
{
	row->call(leaf_now);
	assert_walk(u);
}

static void *run_thread(void *u)
{
	self_stack_end();
	call_signal(leaf_now);
	assert_walk(u);
	return NULL;
}

TEST_F(thread)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_thread, u), 0);
	pthread_join(thread, NULL);
}

/* Part of a stack gives the first frames, and is never said to be all. */
TEST_F(cut_stack)
{
	struct gr_walked walked;

	call_signal(leaf_now);
	assert_walk(u);
	struct gr_sample cut = self.sample;
	size_t all = cut.chunks[0].bytes, finished = 0;
	for (size_t bytes = 0; bytes < all; bytes += 8) {
		cut.chunks[0].bytes = bytes;
		gr_unwinder_walk(u, &cut, &walked);
		assert_true(walked.count && self_is_true(&walked, true));
		assert_int_equal(walked.is_finished,
				 self_is_true(&walked, false));
		finished += walked.is_finished;
	}
	// The last word that is needed lies before the arguments of main.
	assert_true(finished && finished < all / 8 / 2);
}

/* ---------------------------------------------------------- random moments */

static volatile bool is_stopped;

NOINLINE static void leaf_work(void)
{
	for (int i = 0; i < 200; i++)
		sink = sink * 7 + i;
	AFTER;
}

NOINLINE static void work(void)
{
	static int keep[KEEP_NUMBERS];
	struct timespec now;
	char text[64];

	call_realigned(leaf_work);
	call_qsort(leaf_work);
	call_signal(leaf_work);
	qsort_leaf = NULL;
	for (int i = 0; i < KEEP_NUMBERS; i++)
		keep[i] = (i * 37) % KEEP_NUMBERS;
	qsort(keep, KEEP_NUMBERS, sizeof(*keep), compare);
	snprintf(text, sizeof(text), "%d %f", keep[3], 1.5 + sink);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += text[0] + now.tv_nsec + strlen(text);
}

/* A signal comes while the stack is anywhere in this work: in prologues and
 * epilogues, in the entries of PLT, in libc and in the vdso. */
TEST_F(random_moments)
{
	struct itimerspec every = { { 0, 50021 }, { 0, 50021 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGPROF };
	timer_t timer;

	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
	uint64_t pcs[SAMPLES];
	size_t npcs = 0;

	for (int i = 0; i < SAMPLES; i++) {
		self.is_taken = 0;
		self.is_wanted = 1;
		while (!self.is_taken)
			work();
		assert_walk(u);
		uint64_t pc = self.sample.regs[GR_REG_RIP];
		size_t same = 0;
		while (same < npcs && pcs[same] != pc)
			same++;
		pcs[same] = pc;
		npcs += same == npcs;
	}
	timer_delete(timer);
	print_message("%d stacks at %zu places\n", SAMPLES, npcs);
	assert_true(npcs >= SAMPLES / 20);
}

/* -------------------------------------------------------------- libraries */

/** Two libraries of one size, whose frames have different ones. */
static void compile(const char *path, const char *size)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cc -x c -O2 -fPIC -shared -fomit-frame-pointer -o %s -",
		 path);
	FILE *cc = popen(command, "w");
	assert_non_null(cc);
	fprintf(cc,
		"static volatile int n;\n"
		"__attribute__((noinline)) static void inner(void (*f)(void))"
		"{ volatile char b[%s]; b[0] = 1; f(); n += b[0]; }\n"
		"void outer(void (*f)(void)) { inner(f); n++; }\n",
		size);
	assert_int_equal(pclose(cc), 0);
}

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*outer)(void (*f)(void));

	assert_non_null(library);
	*(void **)&outer = dlsym(library, "outer");
	assert_non_null(outer);
	outer(leaf_now);
	return library;
}

/* The mappings are read again after a while: the first walks may lack frames,
 * but have no wrong one. */
static void assert_walk_soon(struct gr_unwinder *u, bool is_part)
{
	struct gr_walked walked = { .count = 0 };

	for (int i = 0; i < PATIENCE && !walked.is_finished; i++) {
		gr_unwinder_walk(u, &self.sample, &walked);
		assert_true(!is_part || self_is_true(&walked, true));
	}
	assert_true(walked.is_finished && self_is_true(&walked, false));
}

/* Forget the old code, as its place has new one. */
static void await_generation(struct gr_unwinder *u, uint64_t old)
{
	struct gr_walked walked;

	for (int i = 0; i < PATIENCE && gr_unwinder_generation(u) == old; i++) {
		gr_unwinder_forget_maps(u);
		gr_unwinder_walk(u, &self.sample, &walked);
	}
	assert_true(gr_unwinder_generation(u) != old);
}

static void assert_place(struct gr_unwinder *u, void *pc, const char *path)
{
	struct gr_places *places;
	struct gr_trace_place place;

	assert_null(gr_places_new(u, &places));
	gr_places_find(places, (uint64_t)pc, &place);
	assert_true(place.is_new && place.is_new_file);
	assert_string_equal(place.name, "outer");
	assert_string_equal(place.path, path);
	gr_places_find(places, (uint64_t)pc, &place);
	assert_false(place.is_new || place.is_new_file);
	assert_int_equal(place.id, 1);
	gr_places_destroy(places);
}

/* A file that was removed is still the one that is mapped, and one that has its
 * name now is not. */
static void assert_removed(const char *path, const char *other)
{
	struct gr_unwinder *u;
	struct gr_walked walked;

	assert_int_equal(rename(other, path), 0);
	assert_null(gr_unwinder_new(getpid(), &u));
	gr_unwinder_walk(u, &self.sample, &walked);
	// The links of mappings need rights.
	assert_true(self_is_true(&walked, geteuid() != 0));
	assert_int_equal(walked.is_finished, self_is_true(&walked, false));
	gr_unwinder_destroy(u);
}

TEST_F(libraries_come_and_go)
{
	char folder[] = "/tmp/trace-XXXXXX", a[64], b[64];

	assert_non_null(mkdtemp(folder));
	snprintf(a, sizeof(a), "%s/liba.so", folder);
	snprintf(b, sizeof(b), "%s/libb.so", folder);
	compile(a, "40");
	compile(b, "4000");
	call_deep(leaf_now);
	assert_walk(u);
	void *library = open_library(a);
	assert_walk_soon(u, true);
	uint64_t generation = gr_unwinder_generation(u);
	dlclose(library);
	library = open_library(b);
	await_generation(u, generation);
	assert_walk(u);
	assert_place(u, dlsym(library, "outer"), b);
	assert_removed(b, a);
	dlclose(library);
	unlink(b);
	rmdir(folder);
}

GR_SUITE("stacks of C code")
