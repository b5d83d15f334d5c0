// SPDX-License-Identifier: Apache-2.0
#include "native/motion.h"

#include <elf.h>

enum { FUTEX_WAKE = 1, FUTEX_COMMAND = 127 };

/* System calls that change mappings: mmap, munmap, mremap, brk, mprotect. And
 * the one that waits for a lock, or wakes who waits: futex; with the register of
 * its second argument. */
static const struct {
	uint16_t machine;
	uint16_t calls[5];
	uint16_t wait;
	uint8_t command;
} system_calls[] = {
	{ EM_X86_64, { 9, 11, 25, 12, 10 }, 202, GR_REG_RSI },
	{ EM_AARCH64, { 222, 215, 216, 214, 226 }, 98, 1 },
};

static bool changes_mappings(const struct gr_arch *arch, uint64_t call)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(system_calls); i++)
		for (size_t k = 0; k < GR_ARRAY_SIZE(system_calls[i].calls);
		     k++)
			if (system_calls[i].machine == arch->machine &&
			    system_calls[i].calls[k] == call)
				return true;
	return false;
}

static bool waits(const struct gr_arch *arch, uint64_t call)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(system_calls); i++)
		if (system_calls[i].machine == arch->machine)
			return system_calls[i].wait == call;
	return false;
}

/* The register with the command of the call that a thread is in, if that is
 * futex; or GR_REG_NONE. */
static unsigned int command_register(const struct gr_arch *arch,
				     const struct gr_regs *regs)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(system_calls); i++)
		if (system_calls[i].machine == arch->machine)
			return regs->is_in_call && system_calls[i].wait ==
							   regs->call ?
				       system_calls[i].command :
				       GR_REG_NONE;
	return GR_REG_NONE;
}

uint64_t gr_native_call_bits(const struct gr_arch *arch,
			     const struct gr_regs *regs, unsigned int reg)
{
	return reg == command_register(arch, regs) ? FUTEX_COMMAND : 0;
}

/* Does the thread wake others? It has unlocked the arena, and may have a block
 * that has no header yet. */
static bool wakes(const struct gr_arch *arch, const struct gr_regs *regs)
{
	unsigned int reg = command_register(arch, regs);

	return reg != GR_REG_NONE &&
	       (regs->value[reg] & FUTEX_COMMAND) == FUTEX_WAKE;
}

/* May the thread have waited in the kernel when a signal interrupted it? Then the
 * instruction before its pc, or the one there, makes a system call. A thread that
 * is known to be in no call runs, also there. */
static struct gr_error *may_wait(struct gr_runtime *rt,
				 const struct gr_regs *regs, bool *ret)
{
	uint64_t pc = regs->value[rt->arch->pc];
	const uint8_t *code = rt->arch->call_code;
	const uint64_t places[] = {
		pc - (rt->arch->machine == EM_AARCH64 ? 4 : 2), pc
	};
	struct gr_error *err = NULL;

	*ret = false;
	if (regs->call == GR_CALL_NONE)
		return NULL;
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(places); i++) {
		uint8_t bytes[2] = { 0 };

		err = gr_image_read(rt->image, places[i], bytes, sizeof(bytes));
		if (gr_error_catch(&err, GR_ERROR_FAULT) ||
		    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
			continue;
		*ret |= !memcmp(bytes, code, sizeof(bytes));
	}
	return err;
}

/* Is @p pc in code of Go? A static program has the allocator in its own file, where
 * the linker puts the code of C apart. */
static bool is_go(const struct gr_runtime *rt, uint64_t pc)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (pc >= rt->modules[i].text && pc < rt->modules[i].etext)
			return true;
	return false;
}

/* Does the file of @p module have an allocator? */
static bool has_allocator(const struct gr_native *native,
			  struct gr_image *image, size_t module)
{
	for (size_t i = 0; i < native->structures.size; i++)
		if (gr_image_module_at(
			    image, native->structures.data[i].start) == module)
			return true;
	return false;
}

struct gr_error *gr_native_is_moving(struct gr_runtime *rt,
				     const struct gr_regs *regs,
				     const struct gr_native *native, bool *ret)
{
	uint64_t pc = regs->value[rt->arch->pc];
	size_t module = gr_image_module_at(rt->image, pc);
	bool is_waiting = false;
	bool is_there = module != SIZE_MAX && !is_go(rt, pc) &&
			has_allocator(native, rt->image, module);

	*ret = regs->is_partial;
	if (regs->is_partial)
		return NULL;
	if (regs->is_in_call) {
		*ret = changes_mappings(rt->arch, regs->call) ||
		       (is_there && wakes(rt->arch, regs));
		return NULL;
	}
	if (!is_there)
		return NULL;
	struct gr_error *err = may_wait(rt, regs, &is_waiting);
	*ret = !err && !is_waiting;
	return err;
}

struct gr_error *gr_native_is_at_work(struct gr_runtime *rt,
				      const struct gr_regs *regs,
				      const struct gr_native *native, bool *ret)
{
	uint64_t pc = regs->value[rt->arch->pc];
	size_t module = gr_image_module_at(rt->image, pc);
	struct gr_error *err = gr_native_is_moving(rt, regs, native, ret);

	if (err || *ret)
		return err;
	// Without the file, nobody knows whether it has an allocator.
	bool may_allocate =
		module == SIZE_MAX ||
		(!is_go(rt, pc) && has_allocator(native, rt->image, module));
	*ret = may_allocate && (regs->is_in_call ? waits(rt->arch, regs->call) :
						   module == SIZE_MAX);
	return NULL;
}

struct gr_error *gr_native_note_motion(struct gr_runtime *rt,
				       const struct gr_c_threads *threads,
				       struct gr_native *native)
{
	const struct gr_thread_registers_vector *list = &threads->registers;
	struct gr_error *err = NULL;

	native->is_in_motion = false;
	for (size_t i = 0; !err && !native->is_in_motion && i < list->size;
	     i++) {
		err = gr_native_is_moving(rt, &list->data[i].regs, native,
					  &native->is_in_motion);
		if (!err)
			err = gr_runtime_step(rt, 16);
	}
	return err;
}
