// SPDX-License-Identifier: Apache-2.0
#include "goruntime/signal.h"

#include "base/cleanup.h"

enum {
	/** Signal stacks are 32 KiB; a C library's may be larger. */
	MAX_SIGNAL_STACK_BYTES = 1 << 20,
	/** The kernel puts a frame so that the ucontext is aligned to this. */
	CONTEXT_ALIGN = 16,
	MAX_UC_FLAGS = 0xff,
	/* struct ucontext, its first part alike everywhere. */
	UC_FLAGS = 0,
	UC_LINK = 8,
	UC_STACK_SP = 16,
	UC_STACK_SIZE = 32,
};

/** What follows in the ucontext. */
struct context_shape {
	const struct gr_arch *arch;
	uint32_t regs_off; /**< Of gr_arch.sigcontext. */
	uint32_t bytes;	   /**< Of all that is looked at. */
	bool (*is_sound)(const uint8_t *context, uint64_t addr, uint64_t hi);
};

/* struct sigcontext of x86-64. The restorer's address is below. */
static bool is_sound_x86_64(const uint8_t *context, uint64_t addr, uint64_t hi)
{
	enum {
		USER_CS = 0x33,
		EFLAGS_ALWAYS_SET = 2,
		EFLAGS_BITS = 22,
		EFLAGS = 40 + 136,
		CS = 40 + 144,
		FPSTATE = 40 + 184,
	};
	uint64_t fpstate = gr_load_u64(context + FPSTATE);
	uint64_t eflags = gr_load_u64(context + EFLAGS);

	return gr_load_u16(context + CS) == USER_CS &&
	       eflags & EFLAGS_ALWAYS_SET && !(eflags >> EFLAGS_BITS) &&
	       (!fpstate || (fpstate > addr && fpstate < hi));
}

/* struct sigcontext of arm64: x0 to x30, sp, pc, pstate of user mode. */
static bool is_sound_arm64(const uint8_t *context, uint64_t addr, uint64_t hi)
{
	enum { SP = 184 + 31 * 8, PC = SP + 8, PSTATE = PC + 8 };
	uint64_t pc = gr_load_u64(context + PC);
	uint64_t pstate = gr_load_u64(context + PSTATE);

	(void)addr;
	(void)hi;
	return pc && pc % 4 == 0 && gr_load_u64(context + SP) % 16 == 0 &&
	       !(pstate & 0x1f) && !(pstate >> 32);
}

static const struct context_shape shapes[] = {
	{ &gr_arch_x86_64, 40, 40 + 256, is_sound_x86_64 },
	{ &gr_arch_arm64, 184, 184 + 34 * 8, is_sound_arm64 },
};

static const struct context_shape *find_shape(const struct gr_arch *arch)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(shapes); i++)
		if (shapes[i].arch == arch)
			return &shapes[i];
	return NULL;
}

/* Whether the bytes at @context, of target address @addr, look like what the
 * kernel writes. Each field alone could be chance; all of them cannot. */
static bool is_context(const struct context_shape *shape,
		       const uint8_t *context, uint64_t addr, uint64_t hi)
{
	uint64_t stack_sp = gr_load_u64(context + UC_STACK_SP);
	uint64_t stack_bytes = gr_load_u64(context + UC_STACK_SIZE);

	return gr_load_u64(context + UC_FLAGS) <= MAX_UC_FLAGS &&
	       !gr_load_u64(context + UC_LINK) && stack_sp <= addr &&
	       addr - stack_sp < stack_bytes &&
	       shape->is_sound(context, addr, hi);
}

static void load_context(const struct context_shape *shape,
			 const uint8_t *context, const struct gr_regs *thread,
			 struct gr_regs *ret)
{
	const struct gr_reg_words *words = &shape->arch->sigcontext;

	*ret = *thread;
	for (size_t i = 0; i < words->count; i++)
		ret->value[words->reg[i]] = gr_load_u64(
			context + shape->regs_off + i * GR_WORD_BYTES);
}

struct gr_error *gr_signal_interrupted(struct gr_runtime *rt, uint64_t lo,
				       uint64_t hi,
				       const struct gr_regs *thread,
				       struct gr_regs *ret, bool *found)
{
	struct gr_error *err;
	const struct context_shape *shape = find_shape(rt->arch);
	uint64_t sp = thread->value[rt->arch->sp] & ~UINT64_C(7);

	*found = false;
	if (!shape || sp < lo || sp >= hi || hi - sp < shape->bytes ||
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
	uint64_t addr = (hi - shape->bytes) & ~(uint64_t)(CONTEXT_ALIGN - 1);
	for (; addr >= sp && addr < hi; addr -= CONTEXT_ALIGN) {
		if (!is_context(shape, stack + (addr - sp), addr, hi))
			continue;
		load_context(shape, stack + (addr - sp), thread, ret);
		*found = true;
		return NULL;
	}
	return NULL;
}
