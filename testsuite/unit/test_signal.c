// SPDX-License-Identifier: Apache-2.0
/* The frame of a handler on a made-up signal stack of arm64, and words above it
 * that look much like one: the registers for numbers with a fraction, which lie
 * in the frame too, have values of the program. */
#include "goruntime/sched/signal.h"

#include "fake_image.h"
#include "suite.h"

enum {
	STACK = 0xc00000,
	STACK_BYTES = 0x8000,
	SP = STACK + 0x5000,
	FRAME = STACK + 0x6000, /* its ucontext */
	OTHER = STACK + 0x7000,
	INFO_OFF = -128,
	UC_STACK_SP = 16,
	UC_STACK_SIZE = 32,
	REG_SP = 184 + 31 * 8,
	REG_PC = REG_SP + 8,
	REG_PSTATE = REG_PC + 8,
	TEXT = 0x401000,
	SIGNO = 3,
};

struct fixture {
	struct gr_image image;
	struct gr_runtime rt;
	struct gr_regs thread;
};

static void put_context(struct fixture *f, uint64_t at, uint64_t stack,
			uint64_t stack_bytes, uint64_t pc)
{
	fake_set(&f->image, at + UC_STACK_SP, stack, 8);
	fake_set(&f->image, at + UC_STACK_SIZE, stack_bytes, 8);
	fake_set(&f->image, at + REG_SP, 0x7f0000001000, 8);
	fake_set(&f->image, at + REG_PC, pc, 8);
	fake_set(&f->image, at + REG_PSTATE, 0x60000000, 8);
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	f->rt.image = &f->image;
	f->rt.arch = &gr_arch_arm64;
	f->thread.value[gr_arch_arm64.sp] = SP;
	fake_add(&f->image, STACK, STACK_BYTES);
	put_context(f, FRAME, STACK, STACK_BYTES, TEXT);
	fake_set(&f->image, FRAME + INFO_OFF, SIGNO, 4);
	return f;
}

static void teardown(struct fixture *f)
{
	fake_deinit(&f->image);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

static bool is_caught(struct fixture *f, struct gr_siginfo *info)
{
	bool found;
	assert_null(gr_signal_caught(&f->rt, STACK, STACK + STACK_BYTES,
				     &f->thread, info, &found));
	return found;
}

TEST_F(frame)
{
	struct gr_siginfo info;

	assert_true(is_caught(f, &info));
	assert_int_equal(info.number, SIGNO);
	assert_int_equal(info.pc, TEXT);
}

/* No signal stack has so many bytes. */
TEST_F(words_above_it)
{
	struct gr_siginfo info;

	put_context(f, OTHER, 0, UINT64_C(0x70ba4130dd2f6d8),
		    UINT64_C(0x70ba4130dd2f6d8));
	fake_set(&f->image, OTHER + INFO_OFF, UINT32_C(3868554783), 4);
	assert_true(is_caught(f, &info));
	assert_int_equal(info.number, SIGNO);
	assert_int_equal(info.pc, TEXT);
}

TEST_F(no_such_signal)
{
	static const uint32_t numbers[] = { 0, 65, UINT32_C(3868554783) };
	struct gr_siginfo info;

	for (size_t i = 0; i < GR_ARRAY_SIZE(numbers); i++) {
		fake_set(&f->image, FRAME + INFO_OFF, numbers[i], 4);
		assert_false(is_caught(f, &info));
	}
	fake_set(&f->image, FRAME + INFO_OFF, 64, 4);
	assert_true(is_caught(f, &info));
}

GR_SUITE("signal")
