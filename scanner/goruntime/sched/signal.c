// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/signal.h"

#include "base/cleanup.h"
#include "inferior/recorder.h"

enum {
	/** Go's signal stacks have 32 KiB; those of C code may be larger. */
	MAX_SIGNAL_STACK_BYTES = 1 << 20,
	/** The kernel aligns the ucontext in a frame to this. */
	CONTEXT_ALIGN = 16,
	MAX_UC_FLAGS = 0xff,
	/* Start of struct ucontext, the same on all architectures. */
	UC_FLAGS = 0,
	UC_LINK = 8,
	UC_STACK_SP = 16,
	UC_STACK_SIZE = 32,
};

/** The architecture's part of the ucontext. */
struct context_shape {
	const struct gr_arch *arch;
	uint32_t regs_off; /**< Offset of gr_arch.sigcontext. */
	uint32_t bytes;	   /**< Size of the part that is read. */
	/** From the ucontext to the siginfo in the same struct rt_sigframe. */
	int32_t info_off;
	bool (*is_sound)(const uint8_t *context, uint64_t addr, uint64_t hi);
};

/* Check struct sigcontext of x86-64. The restorer's address lies below it. */
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

/* Check struct sigcontext of arm64: x0 to x30, sp, pc, pstate of user mode. */
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

/* The kernel does not write the last 64 bytes of the sigcontext of x86-64: they
 * have what the stack had before, and are not read. */
static const struct context_shape shapes[] = {
	{ &gr_arch_x86_64, 40, 40 + 192, 304, is_sound_x86_64 },
	{ &gr_arch_arm64, 184, 184 + 34 * 8, -128, is_sound_arm64 },
};

static const struct context_shape *find_shape(const struct gr_arch *arch)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(shapes); i++)
		if (shapes[i].arch == arch)
			return &shapes[i];
	return NULL;
}

/* Return true if the bytes at @context, of target address @addr, look like a
 * ucontext that the kernel wrote. A single field may match by chance, but not
 * all of them together. */
static bool is_context(const struct context_shape *shape,
		       const uint8_t *context, uint64_t addr, uint64_t hi)
{
	uint64_t stack_sp = gr_load_u64(context + UC_STACK_SP);
	uint64_t stack_bytes = gr_load_u64(context + UC_STACK_SIZE);

	return gr_load_u64(context + UC_FLAGS) <= MAX_UC_FLAGS &&
	       !gr_load_u64(context + UC_LINK) &&
	       stack_bytes <= MAX_SIGNAL_STACK_BYTES && stack_sp <= addr &&
	       addr - stack_sp < stack_bytes &&
	       shape->is_sound(context, addr, hi);
}

static void load_context(const struct context_shape *shape,
			 const uint8_t *context, const struct gr_regs *thread,
			 struct gr_regs *ret)
{
	const struct gr_reg_words *words = &shape->arch->sigcontext;

	*ret = *thread;
	ret->is_partial = false;
	ret->is_in_call = false;
	ret->call = 0; // the frame does not tell
	for (size_t i = 0; i < words->count; i++)
		ret->value[words->reg[i]] = gr_load_u64(
			context + shape->regs_off + i * GR_WORD_BYTES);
}

/* Is a thread before the instruction of a system call, which the kernel repeats?
 * Then a register has the number of the call. */
static bool repeats_call(struct gr_runtime *rt, uint64_t pc)
{
	uint8_t code[sizeof(rt->arch->call_code)];

	if (rt->arch->call_reg == GR_REG_NONE)
		return false;
	struct gr_error *err = gr_image_read(rt->image, pc, code, sizeof(code));
	bool is_read = !err;
	gr_error_destroy(err);
	return is_read && !memcmp(code, rt->arch->call_code, sizeof(code));
}

static uint64_t context_pc(const struct context_shape *shape,
			   const uint8_t *context)
{
	const struct gr_regs none = { 0 };
	struct gr_regs regs;

	load_context(shape, context, &none, &regs);
	return regs.value[shape->arch->pc];
}

/* Keep the words of a context in a saved file. Only registers with addresses or
 * the number of a system call are kept: others may have values. */
static void note_context(struct gr_runtime *rt,
			 const struct context_shape *shape,
			 const uint8_t *context)
{
	const struct gr_reg_words *words = &shape->arch->sigcontext;
	uint64_t end = shape->regs_off + words->count * GR_WORD_BYTES;

	if (!rt->recorder)
		return;
	bool is_call = repeats_call(rt, context_pc(shape, context));
	gr_recorder_note(rt->recorder, context, shape->regs_off);
	if (end < shape->bytes)
		gr_recorder_note(rt->recorder, context + end,
				 shape->bytes - end);
	for (size_t i = 0; i < words->count; i++) {
		const uint8_t *at =
			context + shape->regs_off + i * GR_WORD_BYTES;

		if ((is_call && words->reg[i] == rt->arch->call_reg) ||
		    gr_image_is_mapped(rt->image, gr_load_u64(at)))
			gr_recorder_note(rt->recorder, at, GR_WORD_BYTES);
	}
}

/* Find the address of the outermost ucontext; its bytes are loaded to @p ret.
 * *@p context is 0 if there is none. */
static struct gr_error *find_context(struct gr_runtime *rt, uint64_t lo,
				     uint64_t hi, const struct gr_regs *thread,
				     struct gr_regs *ret, uint64_t *context)
{
	struct gr_error *err;
	const struct context_shape *shape = find_shape(rt->arch);
	uint64_t sp = thread->value[rt->arch->sp] & ~UINT64_C(7);

	*context = 0;
	if (!shape || sp < lo || sp >= hi || hi - sp < shape->bytes ||
	    hi - sp > MAX_SIGNAL_STACK_BYTES)
		return NULL;
	// The rest of the stack is not for saved files.
	const uint8_t *stack;
	gr_recorder_pause(rt->recorder);
	err = gr_image_map(rt->image, sp, hi - sp, &stack);
	gr_recorder_resume(rt->recorder);
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
		note_context(rt, shape, stack + (addr - sp));
		*context = addr;
		return NULL;
	}
	return NULL;
}

struct gr_error *gr_signal_interrupted(struct gr_runtime *rt, uint64_t lo,
				       uint64_t hi,
				       const struct gr_regs *thread,
				       struct gr_regs *ret, bool *found)
{
	uint64_t context;
	struct gr_error *err = find_context(rt, lo, hi, thread, ret, &context);

	*found = context != 0;
	return err;
}

struct gr_error *gr_signal_caught(struct gr_runtime *rt, uint64_t lo,
				  uint64_t hi, const struct gr_regs *thread,
				  struct gr_siginfo *ret, bool *found)
{
	enum {
		SI_SIGNO = 0,
		SI_CODE = 8,
		SI_ADDR = 16,
		SI_BYTES = 24,
		MAX_SIGNO = 64,
	};
	uint8_t info[SI_BYTES];
	struct gr_regs regs;
	uint64_t context;
	struct gr_error *err =
		find_context(rt, lo, hi, thread, &regs, &context);

	*found = context != 0;
	if (err || !context)
		return err;
	err = gr_image_read(rt->image, context + find_shape(rt->arch)->info_off,
			    info, sizeof(info));
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err) {
		*found = false;
		return err;
	}
	*ret = (struct gr_siginfo){
		.number = gr_load_u32(info + SI_SIGNO),
		.code = (int32_t)gr_load_u32(info + SI_CODE),
		.addr = gr_load_u64(info + SI_ADDR),
		.pc = regs.value[rt->arch->pc],
	};
	*found = ret->number >= 1 && ret->number <= MAX_SIGNO;
	return NULL;
}
