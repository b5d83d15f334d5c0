/* SPDX-License-Identifier: Apache-2.0 */
/**
 * arch: the differences between processors, as data: registers, where the
 * kernel keeps them, and the layout of Go's stack frames. Only code that reads
 * instructions has a processor's name in a condition.
 */
#ifndef GR_ARCH_H
#define GR_ARCH_H

#include "base/base.h"

/** General registers of x86-64 in the order of DWARF's numbering. */
enum gr_reg {
	GR_REG_RAX,
	GR_REG_RDX,
	GR_REG_RCX,
	GR_REG_RBX,
	GR_REG_RSI,
	GR_REG_RDI,
	GR_REG_RBP,
	GR_REG_RSP,
	GR_REG_R8,
	GR_REG_R9,
	GR_REG_R10,
	GR_REG_R11,
	GR_REG_R12,
	GR_REG_R13,
	GR_REG_R14,
	GR_REG_R15,
	GR_REG_RIP,
	GR_NREGS,
};

/** General registers of arm64: x0 to x30, then these. */
enum gr_arm64_reg {
	GR_ARM64_FP = 29,
	GR_ARM64_LR = 30,
	GR_ARM64_SP = 31,
	GR_ARM64_PC = 32, /**< DWARF has no number for it. */
	GR_ARM64_NREGS,
};

#define GR_REGS_MAX 33
#define GR_REG_NONE 0xff

/** No system call. */
#define GR_CALL_NONE UINT64_MAX

/** Registers of one thread (or of one interrupted context), by DWARF number. */
struct gr_regs {
	uint64_t value[GR_REGS_MAX];
	uint64_t fs_base; /**< 0 if not known. */
	/** Number of the system call that the thread is in, if is_in_call; else
	 * GR_CALL_NONE if it is known to be in none. */
	uint64_t call;
	bool is_in_call; /**< False: it is in none, or nobody knows. */
	/**
	 * The thread did not stop: only pc, sp and the system call are known,
	 * and not even these if sp is 0. All other registers are 0.
	 */
	bool is_partial;
};

/** Positions of registers in a record that is an array of words. */
struct gr_reg_words {
	const uint8_t *reg; /**< Register in each word; GR_REG_NONE: none. */
	size_t count;
};

struct gr_arch {
	uint16_t machine; /**< ELF's e_machine. */
	const char *name;
	const char *const *reg_names;
	uint8_t nregs, pc, sp, fp;
	uint8_t lr; /**< GR_REG_NONE: calls push the return address. */
	/** The kernel's general registers, as in NT_PRSTATUS. */
	struct gr_reg_words user;
	uint8_t user_fs_base; /**< Word in `user`; GR_REG_NONE: none. */
	/** Word in `user` with the number of a system call, or all bits set. */
	uint8_t user_call;
	/** Register that has this number before the call. GR_REG_NONE: it has
	 * the number at all times, or nobody knows. */
	uint8_t call_reg;
	uint8_t call_code[2]; /**< The instruction of the call. */
	/**
	 * The registers of the kernel's struct sigcontext, from its first
	 * register on.
	 */
	struct gr_reg_words sigcontext;
	/**
	 * Words that runtime.asyncPreempt saves, starting at its sp
	 * (runtime/preempt_*.s; the same in every release).
	 */
	struct gr_reg_words preempt;
	/** Bytes below the stack pointer of C code that are in use, too. */
	uint8_t red_zone_bytes;
	/*
	 * From internal/goarch, runtime/traceback.go and runtime/stkframe.go.
	 * All processors save the frame pointer below a frame that is not
	 * empty.
	 */
	uint8_t call_pushes_bytes;
	uint8_t min_frame_bytes;     /**< Between a frame and its arguments. */
	uint8_t injected_call_bytes; /**< Below which a signal keeps LR. */
	uint8_t min_locals_bytes;    /**< Frames so small have no locals. */
};

extern const struct gr_arch gr_arch_x86_64, gr_arch_arm64;

/** The processor with this e_machine, or NULL. */
const struct gr_arch *gr_arch_find(uint16_t machine);

/** The processor that we run on. */
const struct gr_arch *gr_arch_native(void);

/** Load registers from the kernel's record of them: gr_arch.user words. */
struct gr_regs gr_arch_load_user(const struct gr_arch *arch,
				 const uint8_t *words);

/** "rax" and so on. */
static inline const char *gr_arch_reg_name(const struct gr_arch *arch,
					   unsigned int reg)
{
	return reg < arch->nregs ? arch->reg_names[reg] : "?";
}

#endif /* GR_ARCH_H */
