// SPDX-License-Identifier: Apache-2.0
#include "goroutines/thread_call.h"

#include "goruntime/layout/runtime.h"
#include "goruntime/sched/signal.h"

struct gr_error *gr_runtime_read_field(struct gr_runtime *rt, uint64_t record,
				       struct gr_field field, uint64_t *ret)
{
	*ret = 0;
	if (!record || !gr_field_is_present(field) || field.bytes > 8)
		return NULL;
	struct gr_error *err = gr_image_read_uint(rt->image, record + field.off,
						  field.bytes, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

/* The registers of the thread at the system call: if it is in a signal handler,
 * those that the signal interrupted. *found is false if nobody knows them. */
static struct gr_error *at_signal(struct gr_runtime *rt, uint64_t m,
				  const struct gr_regs *thread,
				  struct gr_regs *ret, bool *found)
{
	const struct gr_layout *layout = &rt->layout;
	uint64_t gsignal, lo, hi;
	struct gr_error *err =
		gr_runtime_read_field(rt, m, layout->m.gsignal, &gsignal);

	*found = false;
	if (!err)
		err = gr_runtime_read_field(rt, gsignal, layout->g.stack_lo,
					    &lo);
	if (!err)
		err = gr_runtime_read_field(rt, gsignal, layout->g.stack_hi,
					    &hi);
	return err ? err :
		     gr_signal_interrupted(rt, lo, hi, thread, ret, found);
}

/* The kernel repeats a call that a signal has interrupted: the thread is before
 * the instruction again, with the number in its register. */
static struct gr_error *repeated_call(struct gr_runtime *rt,
				      const struct gr_regs *regs,
				      struct gr_thread_call *ret)
{
	const struct gr_arch *arch = rt->arch;
	uint8_t code[2] = { 0 };

	if (arch->call_reg == GR_REG_NONE)
		return NULL;
	struct gr_error *err = gr_image_read(rt->image, regs->value[arch->pc],
					     code, sizeof(code));
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	ret->is_known = !memcmp(code, arch->call_code, sizeof(code));
	ret->number = regs->value[arch->call_reg];
	return NULL;
}

struct gr_error *gr_thread_call_find(struct gr_runtime *rt, uint64_t m,
				     const struct gr_regs *thread,
				     struct gr_thread_call *ret)
{
	struct gr_regs regs;
	bool found;
	struct gr_error *err = at_signal(rt, m, thread, &regs, &found);

	*ret = (struct gr_thread_call){ .is_known = false };
	if (err)
		return err;
	if (found)
		return repeated_call(rt, &regs, ret);
	ret->is_known = thread->is_in_call;
	ret->number = thread->call;
	return NULL;
}
