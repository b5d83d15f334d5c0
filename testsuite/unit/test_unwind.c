// SPDX-License-Identifier: Apache-2.0
/* Unwinding stacks that were built, and which of their words live. */
#include "goruntime/sched/unwind.h"

#include "stack_builder.h"

#include "goruntime/sched/stackmask.h"

enum { STACK_BYTES = 1 << 16, BIG_STACK_BYTES = 1 << 20 };

/* Functions that every test begins with. */
enum { GOEXIT, MAIN, CALLEE };

static struct stack_fixture *begin(uint64_t stack_bytes)
{
	struct stack_fixture *f = stack_new(stack_bytes);

	put_func(f, (struct func_shape){ .name = "runtime.goexit",
					 .flag = GR_FUNC_TOP_FRAME });
	put_func(f, (struct func_shape){ .name = "main.main",
					 .frame_bytes = 64,
					 .deferreturn = 0x80 });
	put_func(f, (struct func_shape){ .name = "main.f",
					 .frame_bytes = 40,
					 .args_bytes = 16 });
	return f;
}

static const size_t plain_calls[] = { GOEXIT, MAIN, CALLEE };

TEST(frames)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	static const char *const names[] = { "main.f", "main.main",
					     "runtime.goexit" };
	uint64_t sps[3];

	put_frames(f, plain_calls, 3, sps);
	run_stack_well(f);
	assert_int_equal(f->g.nframes, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct gr_frame *frame = &f->g.frames[i];

		assert_string_equal(frame->func->name, names[i]);
		assert_int_equal(frame->pc, func_pc(plain_calls[2 - i]));
		assert_int_equal(frame->sp, sps[2 - i]);
		assert_int_equal(frame->fp, i < 2 ? sps[1 - i] : STACK_HI);
		assert_int_equal(frame->argp, frame->fp);
		assert_int_equal(frame->is_innermost, i == 0);
		assert_false(frame->is_conservative);
	}
	assert_int_equal(f->g.frames[0].varp, f->g.frames[0].fp - 16);
	assert_int_equal(f->g.unknown_start, STACK_HI);
	assert_int_equal(f->gaps.count[GR_GAP_FRAMES_NOT_UNWOUND], 0);
	stack_free(f);
}

/* Return addresses that lead nowhere: the rest is taken word by word. */
TEST(lost)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_map(f, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS, 4, 0);
	put_map(f, CALLEE, GR_FUNCDATA_ARGS_POINTER_MAPS, 2, 0);
	put_frames(f, plain_calls, 3, sps);
	fake_set(&f->image, sps[1] - 8, 0xdead, 8);
	run_stack_well(f);
	assert_int_equal(f->g.nframes, 1);
	assert_int_equal(f->g.unknown_start, sps[1]);
	assert_int_equal(f->gaps.count[GR_GAP_FRAMES_NOT_UNWOUND], 1);
	check_words(f, sps[2], "......cccccccccc");
	stack_free(f);
}

/* A frame that says that it is larger than what is left of the stack. */
TEST(frame_past_the_stack)
{
	struct stack_fixture *f = begin(STACK_BYTES);

	f->g.sp = f->g.stack.start = STACK_HI - 16;
	f->g.pc = func_pc(MAIN);
	run_stack_well(f);
	assert_int_equal(f->g.nframes, 0);
	check_words(f, STACK_HI - 16, "cc");
	stack_free(f);
}

/* A call of a nil function: begins in the caller. */
TEST(nil_call)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_frames(f, plain_calls, 2, sps);
	f->g.sp = f->g.stack.start = sps[1] - 8;
	fake_set(&f->image, f->g.sp, func_pc(MAIN), 8);
	f->g.pc = 0;
	run_stack_well(f);
	assert_int_equal(f->g.nframes, 2);
	assert_string_equal(f->g.frames[0].func->name, "main.main");
	assert_int_equal(f->g.frames[0].sp, sps[1]);
	stack_free(f);
}

/* Below a trap a frame goes on where it calls deferreturn, if anywhere. */
TEST(trap)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	size_t trap =
		put_func(f, (struct func_shape){ .name = "runtime.sigpanic",
						 .frame_bytes = 16 });
	const size_t calls[] = { GOEXIT, MAIN, CALLEE, trap };
	const size_t deferring[] = { GOEXIT, MAIN, trap };

	put_frames(f, calls, 4, NULL);
	run_stack_well(f);
	assert_int_equal(f->g.frames[1].continpc, 0);
	assert_true(f->g.frames[1].is_exact_pc);
	put_frames(f, deferring, 3, NULL);
	free(f->g.frames);
	run_stack_well(f);
	assert_int_equal(f->g.frames[1].continpc, func_entry(MAIN) + 0x81);
	stack_free(f);
}

/* A frame that was interrupted between calls, and the one of its registers. */
TEST(preempted)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	size_t preempt =
		put_func(f, (struct func_shape){ .name = "runtime.asyncPreempt",
						 .frame_bytes = 256 });
	size_t inner = put_func(
		f, (struct func_shape){ .name = "runtime.asyncPreempt2",
					.frame_bytes = 24 });
	const size_t calls[] = { GOEXIT, MAIN, CALLEE, preempt, inner };

	put_map(f, inner, GR_FUNCDATA_LOCALS_POINTER_MAPS, 2, 0);
	put_map(f, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 4, 0x5);
	put_frames(f, calls, 5, NULL);
	run_stack_well(f);
	assert_false(f->g.frames[0].is_conservative);
	assert_true(f->g.frames[1].is_conservative);
	assert_true(f->g.frames[2].is_conservative);
	assert_true(f->g.frames[2].is_preempted);
	assert_false(f->g.frames[3].is_conservative);
	assert_int_equal(f->gaps.count[GR_GAP_CONSERVATIVE_FRAMES], 2);
	stack_free(f);
}

/* A closure that runs on the system stack may be dead by its caller's map; not
 * that of a goroutine that waits, which the collector scans. */
static void check_system_stack(bool is_running)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	size_t away = put_func(
		f, (struct func_shape){ .name = "runtime.systemstack_switch" });
	const size_t calls[] = { GOEXIT, MAIN, CALLEE, away };

	f->g.status = is_running ? f->rt.layout.consts.grunning : 0;
	put_map(f, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 4, 0x5);
	put_frames(f, calls, 4, NULL);
	run_stack_well(f);
	assert_int_equal(f->g.frames[1].is_conservative, is_running);
	assert_false(f->g.frames[2].is_conservative);
	stack_free(f);
}

TEST(system_stack)
{
	check_system_stack(true);
	check_system_stack(false);
}

struct copied_case {
	const char *name;
	const char *system_function; /* that the system stack returns to */
	uint64_t off;		     /* of that word in it */
	bool is_held, is_running;
	const char *want;
};

static const struct copied_case copied_cases[] = {
	{ "by the collector", "runtime.copystack", 24, true, false, "cccc" },
	{ "by its own thread", "runtime.copystack", 24, false, true, "cccc" },
	{ "not this one", "runtime.copystack", 24, false, false, "..p." },
	{ "none", "runtime.mcall", 24, true, true, "..p." },
	{ "its thread is there itself", "runtime.copystack", 0, true, false,
	  "cccc" },
	{ "the last word that is looked at", "runtime.copystack", (1 << 14) - 8,
	  true, false, "cccc" },
	{ "the first word that is not", "runtime.copystack", 1 << 14, true,
	  false, "..p." },
};

/* A stack that a thread is copying is one of words that may be pointers. */
TEST_ROWS(copied, copied_cases, c)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	size_t copier =
		put_func(f, (struct func_shape){ .name = c->system_function });
	struct gr_regs regs = { 0 };
	struct gr_goroutine both[2];
	uint64_t sps[3];

	put_map(f, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS, 4, 0x4);
	put_map(f, CALLEE, GR_FUNCDATA_ARGS_POINTER_MAPS, 2, 0);
	put_frames(f, plain_calls, 3, sps);
	f->g.is_held = c->is_held;
	f->g.status = c->is_running ? f->rt.layout.consts.grunning : 0;
	both[0] = both[1] = f->g;
	both[1].is_g0 = true;
	both[1].sp = both[1].pc = 0;
	both[1].stack_lo = both[1].stack.start = DEFERS;
	both[1].stack_hi = both[1].stack.end = DEFERS + TABLE_BYTES;
	regs.value[f->rt.arch->pc] = func_pc(copier);
	if (c->off)
		fake_set(&f->image, DEFERS + c->off, func_pc(copier), 8);
	else
		both[1].regs = &regs;
	f->sched.goroutines = both;
	f->sched.ngoroutines = 2;
	run_stack_well(f);
	f->g = both[0];
	check_words(f, sps[2], c->want);
	free(both[1].values);
	free(both[1].frames);
	free(both[1].stack.live);
	free(both[1].stack.conservative);
	stack_free(f);
}

/* Frames of a word each, up to the end: only so many are kept, and someone
 * asks now and then whether to go on. */
TEST(endless_frames)
{
	struct stack_fixture *f = begin(BIG_STACK_BYTES);
	size_t tiny = put_func(f, (struct func_shape){ .name = "main.tiny" });

	for (uint64_t at = f->g.stack_lo; at < STACK_HI; at += 8)
		fake_set(&f->image, at, func_pc(tiny), 8);
	fake_set(&f->image, STACK_HI - 8, func_pc(GOEXIT), 8);
	f->g.sp = f->g.stack.start = f->g.stack_lo;
	f->g.pc = func_pc(tiny);
	run_stack_well(f);
	assert_int_equal(f->g.nframes, 1 << 16);
	assert_true(f->g.is_cut);
	assert_true(f->npolls >= 2 * (BIG_STACK_BYTES / 8) / 4096);
	f->polls_left = 10;
	assert_fails(run_stack(f), GR_ERROR_INTERRUPTED, NULL);
	stack_free(f);
}

TEST(maps)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_map(f, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 7, 0x51);
	put_map(f, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS, 3, 0x6);
	put_map(f, CALLEE, GR_FUNCDATA_ARGS_POINTER_MAPS, 2, 0x2);
	put_frames(f, plain_calls, 3, sps);
	run_stack_well(f);
	// Locals end below the frame pointer; arguments lie in the caller.
	check_words(f, sps[2], "..pp..");
	check_words(f, sps[1], "pp..p.p..");
	assert_int_equal(f->gaps.count[GR_GAP_CONSERVATIVE_FRAMES], 0);
	stack_free(f);
}

/* No map where there are locals: the frame and its caller, word by word. */
TEST(no_map)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_map(f, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 7, 0x51);
	put_frames(f, plain_calls, 3, sps);
	run_stack_well(f);
	check_words(f, sps[2], "cccc..");
	check_words(f, sps[1], "ccccccc..");
	assert_int_equal(f->gaps.count[GR_GAP_CONSERVATIVE_FRAMES], 2);
	stack_free(f);
}

/* Locals that do not fit into their frame. */
TEST(map_larger_than_frame)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_map(f, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS, 5, 0x1f);
	put_frames(f, plain_calls, 3, sps);
	run_stack_well(f);
	check_words(f, sps[2], "cccc..");
	stack_free(f);
}

/* Frames of a word, each of which has arguments up to the stack's end: after
 * some of them nothing that maps say is worth anything. */
TEST(maps_of_all)
{
	struct stack_fixture *f = begin(BIG_STACK_BYTES);
	size_t tiny = put_func(f, (struct func_shape){ .name = "main.tiny",
						       .args_bytes = 1 << 24 });
	size_t nwords = BIG_STACK_BYTES / 8;

	put_map(f, tiny, GR_FUNCDATA_ARGS_POINTER_MAPS, 1 << 20, 0);
	for (uint64_t at = f->g.stack_lo; at < STACK_HI; at += 8)
		fake_set(&f->image, at, func_pc(tiny), 8);
	f->g.sp = f->g.stack.start = f->g.stack_lo;
	f->g.pc = func_pc(tiny);
	run_stack_well(f);
	assert_true(f->gaps.count[GR_GAP_CONSERVATIVE_FRAMES] > 0);
	assert_int_equal(gr_bitmap_count(f->g.stack.live, 0, nwords), nwords);
	stack_free(f);
}

/* An object lives only if a live pointer leads into it. */
TEST(objects)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_map(f, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 7, 0);
	put_map(f, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS, 4, 0x1);
	put_map(f, CALLEE, GR_FUNCDATA_ARGS_POINTER_MAPS, 2, 0);
	uint64_t records = put_objects(f, MAIN, 3, 3);
	fake_set(&f->image, RODATA, 0x1, 1);
	put_object(f, records, -56, 16, 8, 0);
	put_object(f, records + RECORD_BYTES, -40, 16, 8, 0);
	put_object(f, records + 2 * RECORD_BYTES, -24, 16, 8, 0);
	put_frames(f, plain_calls, 3, sps);
	uint64_t varp = sps[0] - 16;
	// A local leads into the second one, and that to the first.
	fake_set(&f->image, sps[2], varp - 32, 8);
	fake_set(&f->image, varp - 40, varp - 56, 8);
	run_stack_well(f);
	check_words(f, sps[2], "p.....");
	check_words(f, varp - 56, "p.p....");
	stack_free(f);
}

/* Objects that all reach to the stack's end: as maps of this kind. */
TEST(objects_of_all)
{
	enum { ROOM = 2000 };
	struct stack_fixture *f = begin(BIG_STACK_BYTES);
	size_t large = put_func(
		f, (struct func_shape){ .name = "main.large",
					.frame_bytes = BIG_STACK_BYTES / 2 });
	const size_t calls[] = { GOEXIT, large };
	uint64_t sps[2];

	put_map(f, large, GR_FUNCDATA_LOCALS_POINTER_MAPS, ROOM, UINT64_MAX);
	uint64_t records = put_objects(f, large, UINT64_MAX, ROOM);
	for (uint32_t i = 0; i < ROOM; i++)
		put_object(f, records + i * RECORD_BYTES,
			   -(BIG_STACK_BYTES / 2) + 64 + 8 * i, 1 << 20,
			   1 << 20, 0);
	memset(fake_find(&f->image, RODATA, TABLE_BYTES), 0xff, TABLE_BYTES);
	put_frames(f, calls, 2, sps);
	uint64_t varp = STACK_HI - 8 - 16;
	uint64_t first = varp - BIG_STACK_BYTES / 2 + 64;
	fake_set(&f->image, varp - ROOM * 8, first, 8);
	for (uint32_t i = 0; i < ROOM; i++)
		fake_set(&f->image, first + i * 8, first + i * 8, 8);
	run_stack_well(f);
	uint64_t nwords = (STACK_HI - sps[1]) / 8;
	assert_true(f->gaps.count[GR_GAP_CONSERVATIVE_FRAMES] > 0);
	assert_int_equal(gr_bitmap_count(f->g.stack.live, 0, nwords), nwords);
	stack_free(f);
}

struct program_case {
	const char *name;
	uint8_t bytes[8];
	const char *want;
};

/* Programs for ten words (runtime.runGCProg). */
static const struct program_case program_cases[] = {
	{ "literal bits", { 10, 0x55, 0x02, 0 }, "p.p.p.p..p" },
	{ "the last two bits, four times", { 2, 1, 0x82, 4, 0 }, "p.p.p.p.p." },
	{ "more than there is room for", { 2, 3, 0x82, 100, 0 }, "pppppppppp" },
	{ "ends early", { 2, 3, 0 }, "pp........" },
	{ "repeats nothing, for ever",
	  { 2, 1, 0x82, 0, 0x82, 0, 0x82, 0 },
	  "cccccccccc" },
	{ "repeats what is not there", { 2, 1, 0x84, 4, 0 }, "cccccccccc" },
};

TEST_ROWS(program, program_cases, c)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	struct gr_area *area = &f->g.stack;

	area->live = gr_bitmap_alloc(STACK_BYTES / 8);
	area->conservative = gr_bitmap_alloc(STACK_BYTES / 8);
	memcpy(fake_find(&f->image, RODATA + 4, 8), c->bytes, 8);
	assert_null(gr_area_mark_program(&f->rt, area, area->start + 80, 10,
					 RODATA, false));
	check_words(f, area->start + 80, c->want);
	check_words(f, area->start + 72, ".");
	check_words(f, area->start + 160, ".");
	stack_free(f);
}

/* Ranges against one word after the other; what is sure stays sure. */
TEST(ranges)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	struct gr_area *area = &f->g.stack;
	uint64_t start = area->start, seed = 1;

	area->live = gr_bitmap_alloc(STACK_BYTES / 8);
	area->conservative = gr_bitmap_alloc(STACK_BYTES / 8);
	gr_area_mark(area, start + 800, false);
	for (int i = 0; i < 1000; i++) {
		char want[301] = { 0 };

		seed = seed * UINT64_C(6364136223846793005) + 1;
		uint64_t first = seed >> 33 & 0xff, n = seed >> 45 & 0x7f;
		memset(area->live, 0, 64);
		memset(area->conservative, 0, 64);
		gr_area_mark(area, start + 800, false);
		gr_area_mark_range(area, start + first * 8,
				   start + (first + n) * 8);
		for (uint64_t word = 0; word < 300; word++)
			want[word] = word == 100		       ? 'p' :
				     word >= first && word < first + n ? 'c' :
									 '.';
		check_words(f, start, want);
	}
	gr_area_mark_range(area, 0, UINT64_MAX);
	assert_int_equal(gr_bitmap_count(area->live, 0, STACK_BYTES / 8),
			 STACK_BYTES / 8);
	gr_area_mark_range(area, start + 80, start + 40);
	stack_free(f);
}

static void put_defer(struct stack_fixture *f, uint64_t at, uint64_t sp,
		      uint64_t fn, uint64_t link)
{
	fake_words(&f->image, at + 8, sp, fn, link);
}

/* Deferred calls belong to the frames that deferred them. */
TEST(defers)
{
	struct stack_fixture *f = begin(STACK_BYTES);
	uint64_t sps[3];

	put_frames(f, plain_calls, 3, sps);
	put_defer(f, DEFERS, sps[2], 0xc1, DEFERS + 100);
	put_defer(f, DEFERS + 100, sps[1], 0xc2, 0);
	f->g.defer_addr = DEFERS;
	run_stack_well(f);
	assert_int_equal(f->g.nvalues, 3);
	assert_int_equal(f->g.values[0].value, 0xc1);
	assert_int_equal(f->g.values[0].frame, 0);
	assert_int_equal(f->g.values[1].value, DEFERS + 100);
	assert_int_equal(f->g.values[2].value, 0xc2);
	assert_int_equal(f->g.values[2].frame, 1);
	assert_int_equal(f->gaps.count[GR_GAP_BROKEN_LISTS], 0);
	// Now it comes back to itself.
	put_defer(f, DEFERS + 100, sps[1], 0xc2, DEFERS);
	free(f->g.frames);
	run_stack_well(f);
	assert_int_equal(f->gaps.count[GR_GAP_BROKEN_LISTS], 1);
	assert_true(f->g.nvalues < 20);
	stack_free(f);
}

/* As many words as the vector registers of a goroutine may have; one byte more
 * is damage of the debug information. */
TEST(vector_registers)
{
	enum { BYTES = 1 << 16, REGS = 0x900000 };
	struct stack_fixture *f = stack_new(0x100);
	uint64_t defers_left = 0;

	fake_add(&f->image, REGS, BYTES + 8);
	for (uint64_t i = 0; i < BYTES / 8; i++)
		fake_set(&f->image, REGS + i * 8, STACK_HI - 8, 8);
	f->g.xregs_addr = REGS;
	f->rt.layout.xreg_state.regs = (struct gr_field){ 0, BYTES };
	assert_null(
		gr_goroutine_collect_values(&f->sched, &f->g, &defers_left));
	assert_int_equal(f->g.nvalues, BYTES / 8);
	f->rt.layout.xreg_state.regs.bytes = BYTES + 8;
	assert_null(
		gr_goroutine_collect_values(&f->sched, &f->g, &defers_left));
	assert_int_equal(f->g.nvalues, 0);
	stack_free(f);
}

GR_SUITE("stacks")
