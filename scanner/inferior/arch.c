// SPDX-License-Identifier: Apache-2.0
#include "inferior/arch.h"

#include <elf.h>

#include "base/bytes.h"

#define WORDS(array)                        \
	{                                   \
		array, GR_ARRAY_SIZE(array) \
	}

// struct user_regs_struct. The segments and flags in between are not used.
static const uint8_t x86_64_user[] = {
	GR_REG_R15,  GR_REG_R14,  GR_REG_R13,  GR_REG_R12,  GR_REG_RBP,
	GR_REG_RBX,  GR_REG_R11,  GR_REG_R10,  GR_REG_R9,   GR_REG_R8,
	GR_REG_RAX,  GR_REG_RCX,  GR_REG_RDX,  GR_REG_RSI,  GR_REG_RDI,
	GR_REG_NONE, GR_REG_RIP,  GR_REG_NONE, GR_REG_NONE, GR_REG_RSP,
	GR_REG_NONE, GR_REG_NONE, GR_REG_NONE, GR_REG_NONE, GR_REG_NONE,
	GR_REG_NONE, GR_REG_NONE,
};

static const uint8_t x86_64_sigcontext[] = {
	GR_REG_R8,  GR_REG_R9,	GR_REG_R10, GR_REG_R11, GR_REG_R12, GR_REG_R13,
	GR_REG_R14, GR_REG_R15, GR_REG_RDI, GR_REG_RSI, GR_REG_RBP, GR_REG_RBX,
	GR_REG_RDX, GR_REG_RAX, GR_REG_RCX, GR_REG_RSP, GR_REG_RIP,
};

static const uint8_t x86_64_preempt[] = {
	GR_REG_RAX, GR_REG_RCX, GR_REG_RDX, GR_REG_RBX, GR_REG_RSI,
	GR_REG_RDI, GR_REG_R8,	GR_REG_R9,  GR_REG_R10, GR_REG_R11,
	GR_REG_R12, GR_REG_R13, GR_REG_R14, GR_REG_R15,
};

static const char *const x86_64_names[GR_NREGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

const struct gr_arch gr_arch_x86_64 = {
	.machine = EM_X86_64,
	.name = "x86-64",
	.reg_names = x86_64_names,
	.nregs = GR_NREGS,
	.pc = GR_REG_RIP,
	.sp = GR_REG_RSP,
	.fp = GR_REG_RBP,
	.lr = GR_REG_NONE,
	.user = WORDS(x86_64_user),
	.user_fs_base = 21,
	.user_call = 15, // orig_rax
	.call_reg = GR_REG_RAX,
	.call_code = { 0x0f, 0x05 },
	.sigcontext = WORDS(x86_64_sigcontext),
	.preempt = WORDS(x86_64_preempt),
	.red_zone_bytes = 128,
	.call_pushes_bytes = 8,
};

// struct user_pt_regs and, after the fault address, struct sigcontext. pstate
// follows.
static const uint8_t arm64_user[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
};

// The first word is the pc of the interrupted instruction; x18 is reserved.
static const uint8_t arm64_preempt[] = {
	GR_REG_NONE, 0,	 1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10, 11, 12,
	13,	     14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26,
};

static const char *const arm64_names[GR_ARM64_NREGS] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",
	"x9",  "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
	"x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
	"x27", "x28", "x29", "x30", "sp",  "pc",
};

const struct gr_arch gr_arch_arm64 = {
	.machine = EM_AARCH64,
	.name = "AArch64",
	.reg_names = arm64_names,
	.nregs = GR_ARM64_NREGS,
	.pc = GR_ARM64_PC,
	.sp = GR_ARM64_SP,
	.fp = GR_ARM64_FP,
	.lr = GR_ARM64_LR,
	.user = WORDS(arm64_user),
	.user_fs_base = GR_REG_NONE,
	.user_call = GR_REG_NONE,
	.call_reg = GR_REG_NONE,
	.sigcontext = WORDS(arm64_user),
	.preempt = WORDS(arm64_preempt),
	.min_frame_bytes = 8,
	.injected_call_bytes = 16,
	.min_locals_bytes = 16,
};

const struct gr_arch *gr_arch_find(uint16_t machine)
{
	static const struct gr_arch *const all[] = { &gr_arch_x86_64,
						     &gr_arch_arm64 };

	for (size_t i = 0; i < GR_ARRAY_SIZE(all); i++)
		if (all[i]->machine == machine)
			return all[i];
	return NULL;
}

const struct gr_arch *gr_arch_native(void)
{
#if defined(__x86_64__)
	return &gr_arch_x86_64;
#elif defined(__aarch64__)
	return &gr_arch_arm64;
#else
#error "add this processor to the table above"
#endif
}

struct gr_regs gr_arch_load_user(const struct gr_arch *arch,
				 const uint8_t *words)
{
	struct gr_regs ret = { .is_in_call = false };

	for (size_t i = 0; i < arch->user.count; i++)
		if (arch->user.reg[i] != GR_REG_NONE)
			ret.value[arch->user.reg[i]] =
				gr_load_u64(words + GR_WORD_BYTES * i);
	if (arch->user_fs_base != GR_REG_NONE)
		ret.fs_base =
			gr_load_u64(words + GR_WORD_BYTES * arch->user_fs_base);
	if (arch->user_call == GR_REG_NONE)
		return ret;
	ret.call = gr_load_u64(words + GR_WORD_BYTES * arch->user_call);
	ret.is_in_call = ret.call != GR_CALL_NONE;
	return ret;
}
