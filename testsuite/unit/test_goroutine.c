// SPDX-License-Identifier: Apache-2.0
/* The list of goroutines, and where each of them stands, on made-up records. */
#include "goruntime/sched/goroutine.h"

#include "fake_image.h"
#include "suite.h"

enum {
	ALLGS = 0x1000, /* the variables */
	ALLM = 0x1020,
	ALLP = 0x1040,
	REASONS = 0x2000,
	TEXTS = 0x3000,
	LIST = 0x10000,
	GS = 0x20000,
	MS = 0x40000,
	G_BYTES = 128,
	M_BYTES = 64,
	MAX_GS = 1024,
	STACK = 0x800000,
	STACK_BYTES = 0x1000,
	RUNNABLE = 1,
	RUNNING,
	SYSCALL,
	WAITING,
	DEAD = 6,
	LEAKED = 10,
	SCAN = 0x1000,
};

struct fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_arena arena;
	struct gr_runtime rt;
	struct gr_sched sched;
	struct gr_target_thread threads[2];
	uint64_t ngs, nms;
};

static void set_layout(struct gr_layout *l)
{
	l->vars.allgs = ALLGS;
	l->vars.allm = ALLM;
	l->vars.allp = ALLP;
	l->vars.wait_reasons = REASONS;
	l->g.size_bytes = G_BYTES;
	l->g.stack_lo = (struct gr_field){ 0, 8 };
	l->g.stack_hi = (struct gr_field){ 8, 8 };
	l->g.sched_sp = (struct gr_field){ 16, 8 };
	l->g.sched_pc = (struct gr_field){ 24, 8 };
	l->g.atomicstatus = (struct gr_field){ 32, 4 };
	l->g.waitreason = (struct gr_field){ 36, 1 };
	l->g.goid = (struct gr_field){ 40, 8 };
	l->g.m = (struct gr_field){ 48, 8 };
	l->g.syscallsp = (struct gr_field){ 56, 8 };
	l->g.syscallpc = (struct gr_field){ 64, 8 };
	l->g.sched_ctxt = (struct gr_field){ 72, 8 };
	l->m.size_bytes = M_BYTES;
	l->m.procid = (struct gr_field){ 0, 8 };
	l->m.curg = (struct gr_field){ 8, 8 };
	l->m.g0 = (struct gr_field){ 16, 8 };
	l->m.gsignal = (struct gr_field){ 24, 8 };
	l->m.p = (struct gr_field){ 32, 8 };
	l->m.alllink = (struct gr_field){ 40, 8 };
	l->consts.grunnable = RUNNABLE;
	l->consts.grunning = RUNNING;
	l->consts.gsyscall = SYSCALL;
	l->consts.gwaiting = WAITING;
	l->consts.gdead = DEAD;
	l->consts.gleaked = LEAKED;
	l->consts.gcopystack = 8;
	l->consts.gscan = SCAN;
	l->has.gleaked = true;
}

/* runtime.waitReasonStrings: 1 is "chan receive", 2 "sleep". */
static void put_reasons(struct fixture *f)
{
	static const char *const texts[] = { "", "chan receive", "sleep" };

	for (size_t i = 0; i < GR_ARRAY_SIZE(texts); i++) {
		uint64_t at = TEXTS + i * 32;

		fake_words(&f->image, REASONS + i * 16, at, strlen(texts[i]));
		memcpy(fake_find(&f->image, at, 32), texts[i],
		       strlen(texts[i]));
	}
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->sched.rt = &f->rt;
	f->rt.arena = &f->arena;
	f->rt.arch = &gr_arch_x86_64;
	set_layout(&f->rt.layout);
	fake_add(&f->image, ALLGS, 0x100);
	fake_add(&f->image, REASONS, 256 * 16);
	fake_add(&f->image, TEXTS, 0x100);
	fake_add(&f->image, LIST, MAX_GS * 8);
	fake_add(&f->image, GS, MAX_GS * G_BYTES);
	fake_add(&f->image, MS, 16 * M_BYTES);
	put_reasons(f);
	f->threads[0].lwp = 70;
	f->threads[1].lwp = 50;
	f->image.threads = f->threads;
	f->image.nthreads = 2;
	return f;
}

static void teardown(struct fixture *f)
{
	gr_goroutines_deinit(&f->sched);
	gr_arena_deinit(&f->arena);
	fake_deinit(&f->image);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

/* A goroutine with a stack of its own; its address. */
static uint64_t put_g(struct fixture *f, uint32_t status, uint8_t reason)
{
	const typeof(f->rt.layout.g) *l = &f->rt.layout.g;
	uint64_t i = f->ngs++, addr = GS + i * G_BYTES;
	uint64_t lo = STACK + i * STACK_BYTES;

	fake_set(&f->image, LIST + i * 8, addr, 8);
	fake_words(&f->image, ALLGS, LIST, f->ngs, MAX_GS);
	fake_set(&f->image, addr + l->goid.off, i + 1, 8);
	fake_set(&f->image, addr + l->stack_lo.off, lo, 8);
	fake_set(&f->image, addr + l->stack_hi.off, lo + STACK_BYTES, 8);
	fake_set(&f->image, addr + l->sched_sp.off, lo + 0x800, 8);
	fake_set(&f->image, addr + l->sched_pc.off, 0x400100, 8);
	fake_set(&f->image, addr + l->atomicstatus.off, status, 4);
	fake_set(&f->image, addr + l->waitreason.off, reason, 1);
	return addr;
}

/* A thread's m, which runs that goroutine. */
static uint64_t put_m(struct fixture *f, uint64_t lwp, uint64_t curg)
{
	const typeof(f->rt.layout.m) *l = &f->rt.layout.m;
	uint64_t addr = MS + f->nms * M_BYTES;

	fake_set(&f->image, f->nms++ ? addr - M_BYTES + l->alllink.off : ALLM,
		 addr, 8);
	fake_set(&f->image, addr + l->procid.off, lwp, 8);
	fake_set(&f->image, addr + l->curg.off, curg, 8);
	if (curg)
		fake_set(&f->image, curg + f->rt.layout.g.m.off, addr, 8);
	return addr;
}

static void read_well(struct fixture *f)
{
	assert_null(gr_goroutines_read(&f->sched));
}

struct status_case {
	const char *name;
	uint32_t status;
	uint8_t reason;
	const char *state, *want_reason;
};

static const struct status_case status_cases[] = {
	{ "waits", WAITING, 1, "waiting", "chan receive" },
	{ "waits, and is being scanned", WAITING | SCAN, 2, "waiting",
	  "sleep" },
	{ "is leaked, and still waits", LEAKED, 1, "leaked", "chan receive" },
	{ "runs: its reason is stale", RUNNABLE, 1, "runnable", "" },
	{ "in a system call", SYSCALL, 2, "syscall", "" },
	{ "waits for nothing", WAITING, 0, "waiting", "" },
	{ "no such status", 77, 1, "unknown", "" },
};

TEST_F_ROWS(status, status_cases, c)
{
	put_g(f, c->status, c->reason);
	read_well(f);
	assert_int_equal(f->sched.ngoroutines, 1);
	assert_string_equal(f->sched.goroutines[0].state, c->state);
	assert_string_equal(f->sched.goroutines[0].wait_reason, c->want_reason);
	assert_int_equal(f->sched.goroutines[0].goid, 1);
}

TEST_F(dead)
{
	put_g(f, DEAD, 0);
	put_g(f, RUNNABLE, 0);
	read_well(f);
	assert_int_equal(f->sched.ngoroutines, 1);
	assert_int_equal(f->sched.goroutines[0].goid, 2);
}

/* Where it left its stack, or in the system call. */
TEST_F(places)
{
	const typeof(f->rt.layout.g) *l = &f->rt.layout.g;
	uint64_t away = put_g(f, WAITING, 1), call = put_g(f, SYSCALL, 0);

	put_g(f, RUNNABLE, 0);
	fake_set(&f->image, away + l->sched_sp.off, 0x1234, 8);
	fake_set(&f->image, call + l->syscallsp.off,
		 STACK + STACK_BYTES + 0x400, 8);
	read_well(f);
	const struct gr_goroutine *g = f->sched.goroutines;
	// Nobody knows where: all of the stack.
	assert_int_equal(g[0].sp, 0);
	assert_int_equal(g[0].stack.start, STACK);
	assert_int_equal(g[1].stack.start, STACK + STACK_BYTES + 0x400);
	assert_int_equal(g[2].stack.start, STACK + 2 * STACK_BYTES + 0x800);
	assert_int_equal(f->image.planned_bytes,
			 STACK_BYTES + 0xc00 + (STACK_BYTES - 0x800));
}

/* A thread runs one goroutine, whatever their records say. */
TEST_F(one_of_a_thread)
{
	uint64_t first = put_g(f, RUNNING, 0), second = put_g(f, RUNNING, 0);

	put_m(f, 50, first);
	put_m(f, 50, second);
	f->threads[1].regs.value[GR_REG_RSP] = STACK + 0xf00;
	f->threads[1].regs.value[GR_REG_RIP] = 0x400200;
	read_well(f);
	const struct gr_goroutine *g = f->sched.goroutines;
	assert_non_null(g[0].regs);
	assert_int_equal(g[0].pc, 0x400200);
	assert_int_equal(g[0].stack.start, STACK + 0xf00);
	assert_null(g[1].regs);
}

/* A thread did not stop. Its goroutine is where its stack pointer is; if that is
 * not known, it may be anywhere on its stack. */
TEST_F(not_stopped)
{
	uint64_t known = put_g(f, RUNNING, 0), unknown = put_g(f, RUNNING, 0);

	fake_set(&f->image, unknown + f->rt.layout.g.sched_sp.off,
		 STACK + STACK_BYTES + 0x800, 8);
	put_m(f, 50, known);
	put_m(f, 51, unknown);
	f->threads[0].lwp = 50;
	f->threads[1].lwp = 51;
	f->threads[0].regs = (struct gr_regs){ .is_partial = true };
	f->threads[0].regs.value[GR_REG_RSP] = STACK + 0xf00;
	f->threads[0].regs.value[GR_REG_RIP] = 0x400200;
	f->threads[1].regs = (struct gr_regs){ .is_partial = true };
	read_well(f);
	const struct gr_goroutine *g = f->sched.goroutines;
	assert_int_equal(g[0].stack.start, STACK + 0xf00);
	assert_int_equal(g[0].pc, 0x400200);
	assert_true(g[0].regs->is_partial);
	assert_null(g[1].regs);
	assert_int_equal(g[1].sp, 0);
	assert_int_equal(g[1].stack.start, STACK + STACK_BYTES);
	assert_int_equal(f->gaps.count[GR_GAP_THREADS_NOT_STOPPED], 2);
}

/* One stack is one goroutine's. */
TEST_F(same_stack)
{
	const typeof(f->rt.layout.g) *l = &f->rt.layout.g;

	put_g(f, WAITING, 1);
	uint64_t within = put_g(f, WAITING, 1);
	put_g(f, WAITING, 1);
	fake_set(&f->image, within + l->stack_lo.off, STACK + 0x800, 8);
	fake_set(&f->image, within + l->stack_hi.off, STACK + 0x1800, 8);
	fake_set(&f->image, within + l->sched_sp.off, STACK + 0xf00, 8);
	read_well(f);
	const struct gr_goroutine *g = f->sched.goroutines;
	assert_int_equal(f->sched.ngoroutines, 3);
	assert_true(g[0].stack.start < g[0].stack.end);
	assert_int_equal(g[1].stack.start, g[1].stack.end);
	assert_true(g[2].stack.start < g[2].stack.end);
}

TEST_F(same_goroutine)
{
	uint64_t addr = put_g(f, WAITING, 1);

	for (uint64_t i = 0; i < MAX_GS; i++)
		fake_set(&f->image, LIST + i * 8, addr, 8);
	fake_set(&f->image, ALLGS + 8, MAX_GS, 8);
	read_well(f);
	assert_int_equal(f->image.planned_bytes, 0x800);
}

TEST_F(threads_in_a_loop)
{
	put_m(f, 50, 0);
	uint64_t last = put_m(f, 70, 0);
	fake_set(&f->image, last + f->rt.layout.m.alllink.off, MS, 8);
	put_g(f, WAITING, 1);
	read_well(f);
	assert_true(f->sched.nms < 8);
	assert_true(f->gaps.count[GR_GAP_BROKEN_LISTS] > 0);
	assert_string_equal(f->gaps.broken_list, "runtime.allm");
}

TEST_F(too_many)
{
	put_g(f, WAITING, 1);
	fake_words(&f->image, ALLGS + 8, UINT64_C(1) << 27, UINT64_C(1) << 27);
	read_well(f);
	assert_int_equal(f->sched.ngoroutines, 0);
	assert_true(f->gaps.count[GR_GAP_BROKEN_LISTS] > 0);
}

/* A thread's stack with bounds that make no sense. */
TEST(system_stack_from_nowhere)
{
	struct gr_goroutine g = { .stack_lo = 0x3d8, .stack_hi = STACK };

	gr_goroutine_bound_g0(&g, STACK_BYTES);
	assert_int_equal(g.stack_lo, STACK - STACK_BYTES);
	gr_goroutine_bound_g0(&g, 2 * STACK_BYTES);
	assert_int_equal(g.stack_lo, STACK - STACK_BYTES);
	g.stack_lo = STACK + 8;
	gr_goroutine_bound_g0(&g, STACK_BYTES);
	assert_int_equal(g.stack_lo, STACK + 8);
}

GR_SUITE("goroutines")
