// SPDX-License-Identifier: Apache-2.0
#include "goruntime/signal.h"

#include "base/cleanup.h"

enum {
	/** Signal stacks are 32 KiB; a C library's may be larger. */
	MAX_SIGNAL_STACK_BYTES = 1 << 20,
	/** The kernel puts a frame so that the ucontext is aligned to this. */
	CONTEXT_ALIGN = 16,
	USER_CS = 0x33,
	EFLAGS_ALWAYS_SET = 2,
	EFLAGS_BITS = 22,
	MAX_UC_FLAGS = 0xff,
};

/** struct rt_sigframe: the return address, then the ucontext. */
enum {
	PRETCODE = 0,
	UC_FLAGS = 8,
	UC_LINK = 16,
	UC_STACK_SP = 24,
	UC_STACK_SIZE = 40,
	SIGCONTEXT = 48,
	SIGCONTEXT_EFLAGS = SIGCONTEXT + 136,
	SIGCONTEXT_CS = SIGCONTEXT + 144,
	SIGCONTEXT_FPSTATE = SIGCONTEXT + 184,
	FRAME_BYTES = SIGCONTEXT + 256,
};

/** The order of registers in struct sigcontext. */
static const enum gr_reg sigcontext_regs[] = {
	GR_REG_R8,  GR_REG_R9,	GR_REG_R10, GR_REG_R11, GR_REG_R12, GR_REG_R13,
	GR_REG_R14, GR_REG_R15, GR_REG_RDI, GR_REG_RSI, GR_REG_RBP, GR_REG_RBX,
	GR_REG_RDX, GR_REG_RAX, GR_REG_RCX, GR_REG_RSP, GR_REG_RIP,
};

/* Whether the bytes at frame, of target address addr, look like what the
 * kernel writes. Each field alone could be chance; all of them cannot. */
static bool is_signal_frame(const uint8_t *frame, uint64_t addr, uint64_t hi)
{
	uint64_t stack_sp = gr_load_u64(frame + UC_STACK_SP);
	uint64_t stack_bytes = gr_load_u64(frame + UC_STACK_SIZE);
	uint64_t fpstate = gr_load_u64(frame + SIGCONTEXT_FPSTATE);
	uint64_t eflags = gr_load_u64(frame + SIGCONTEXT_EFLAGS);

	return gr_load_u64(frame + PRETCODE) &&
	       gr_load_u64(frame + UC_FLAGS) <= MAX_UC_FLAGS &&
	       !gr_load_u64(frame + UC_LINK) && stack_sp <= addr &&
	       addr - stack_sp < stack_bytes &&
	       gr_load_u16(frame + SIGCONTEXT_CS) == USER_CS &&
	       eflags & EFLAGS_ALWAYS_SET && !(eflags >> EFLAGS_BITS) &&
	       (!fpstate || (fpstate > addr && fpstate < hi));
}

static void load_context(const uint8_t *frame, const struct gr_regs *thread,
			 struct gr_regs *ret)
{
	*ret = *thread;
	for (size_t i = 0; i < GR_ARRAY_SIZE(sigcontext_regs); i++)
		ret->value[sigcontext_regs[i]] =
			gr_load_u64(frame + SIGCONTEXT + i * GR_WORD_BYTES);
}

struct gr_error *gr_signal_interrupted(struct gr_runtime *rt, uint64_t lo,
				       uint64_t hi,
				       const struct gr_regs *thread,
				       struct gr_regs *ret, bool *found)
{
	struct gr_error *err;
	uint64_t sp = thread->value[GR_REG_RSP] & ~UINT64_C(7);

	*found = false;
	if (sp < lo || sp >= hi || hi - sp < FRAME_BYTES ||
	    hi - sp > MAX_SIGNAL_STACK_BYTES)
		return NULL;
	_cleanup_free_ uint8_t *stack = malloc(hi - sp);
	if (!stack)
		return &gr_enomem;
	err = gr_image_read(rt->image, sp, stack, hi - sp);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (err)
		return err;
	/* The outermost handler's frame has the highest address. */
	uint64_t addr = (hi - FRAME_BYTES) & ~(uint64_t)(CONTEXT_ALIGN - 1);
	for (addr -= UC_FLAGS; addr >= sp && addr < hi; addr -= CONTEXT_ALIGN) {
		if (!is_signal_frame(stack + (addr - sp), addr, hi))
			continue;
		load_context(stack + (addr - sp), thread, ret);
		*found = true;
		return NULL;
	}
	return NULL;
}
