// SPDX-License-Identifier: Apache-2.0
/* native: is a thread in an allocator, by its pc and its system call? */
#include "native/motion.h"

#include "inferior/elf.h"

#include "fake_image.h"
#include "suite.h"

enum {
	CODE = 0x401000, /* of a file that has an allocator */
	CODE_BYTES = 0x1000,
	CALL = CODE + 0x100, /* the instruction of a system call */
	BEHIND = CALL + 2,
	ELSEWHERE = CODE + 0x200,
	GO_CODE = CODE + 0x800,
	SYSCALL = 0x050f,
	WAIT = 0x80, /* commands of futex: private, as libraries use it */
	WAKE = 0x81,
	NR_MMAP = 9,
	NR_PAUSE = 34,
	NR_FUTEX = 202,
};

struct motion_case {
	const char *name;
	uint64_t pc, call, command;
	bool is_in_call, is_partial, has_no_file;
	bool is_moving, is_at_work;
};

static const struct motion_case cases[] = {
	{ .name = "waits", .pc = BEHIND, .call = NR_PAUSE, .is_in_call = true },
	{ .name = "waits for a lock",
	  .pc = BEHIND,
	  .call = NR_FUTEX,
	  .command = WAIT,
	  .is_in_call = true,
	  .is_at_work = true },
	{ .name = "wakes another one",
	  .pc = BEHIND,
	  .call = NR_FUTEX,
	  .command = WAKE,
	  .is_in_call = true,
	  .is_moving = true,
	  .is_at_work = true },
	{ .name = "maps memory",
	  .pc = BEHIND,
	  .call = NR_MMAP,
	  .is_in_call = true,
	  .is_moving = true,
	  .is_at_work = true },
	{ .name = "was behind a call, perhaps in it", .pc = BEHIND },
	{ .name = "was before a call, perhaps in it", .pc = CALL },
	{ .name = "is behind a call",
	  .pc = BEHIND,
	  .call = GR_CALL_NONE,
	  .is_moving = true,
	  .is_at_work = true },
	{ .name = "is before a call",
	  .pc = CALL,
	  .call = GR_CALL_NONE,
	  .is_moving = true,
	  .is_at_work = true },
	{ .name = "was at no call",
	  .pc = ELSEWHERE,
	  .is_moving = true,
	  .is_at_work = true },
	{ .name = "runs Go code", .pc = GO_CODE, .call = GR_CALL_NONE },
	{ .name = "runs code of no file",
	  .pc = ELSEWHERE,
	  .call = GR_CALL_NONE,
	  .has_no_file = true,
	  .is_at_work = true },
	{ .name = "did not stop",
	  .pc = GO_CODE,
	  .is_partial = true,
	  .is_moving = true,
	  .is_at_work = true },
};

TEST_ROWS(thread, cases, c)
{
	static const struct gr_elf file;
	const struct gr_native_range structure = { ELSEWHERE, ELSEWHERE + 8 };
	struct gr_module go = { .text = GO_CODE, .etext = GO_CODE + 0x100 };
	struct gr_image image = { .elf = c->has_no_file ? NULL : &file };
	struct gr_native native = { 0 };
	struct gr_runtime rt = { .image = &image,
				 .arch = &gr_arch_x86_64,
				 .modules = &go,
				 .nmodules = 1 };
	struct gr_regs regs = { .call = c->call,
				.is_in_call = c->is_in_call,
				.is_partial = c->is_partial };
	bool is_moving, is_at_work;

	fake_add(&image, CODE, CODE_BYTES);
	fake_set(&image, CALL, SYSCALL, 2);
	assert_true(
		gr_native_range_vector_append(&native.structures, structure));
	regs.value[GR_REG_RIP] = c->pc;
	regs.value[GR_REG_RSI] = c->command;
	assert_null(gr_native_is_moving(&rt, &regs, &native, &is_moving));
	assert_null(gr_native_is_at_work(&rt, &regs, &native, &is_at_work));
	assert_int_equal(is_moving, c->is_moving);
	assert_int_equal(is_at_work, c->is_at_work);
	gr_native_deinit(&native);
	fake_deinit(&image);
}

/* A saved file has these bits of registers, beside addresses. */
TEST(call_bits)
{
	const struct gr_arch *arch = &gr_arch_x86_64;
	struct gr_regs regs = { .is_in_call = true, .call = NR_FUTEX };

	assert_int_equal(gr_native_call_bits(arch, &regs, GR_REG_RSI), 127);
	assert_int_equal(gr_native_call_bits(arch, &regs, GR_REG_RDX), 0);
	regs.is_in_call = false;
	assert_int_equal(gr_native_call_bits(arch, &regs, GR_REG_RSI), 0);
	regs = (struct gr_regs){ .is_in_call = true, .call = 98 };
	assert_int_equal(gr_native_call_bits(arch, &regs, GR_REG_RSI), 0);
	assert_int_equal(gr_native_call_bits(&gr_arch_arm64, &regs, 1), 127);
}

GR_SUITE("native motion")
