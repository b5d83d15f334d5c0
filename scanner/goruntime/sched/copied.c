// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/copied.h"

#include "goruntime/layout/names.h"
#include "inferior/recorder.h"

/* copystack and what it calls fit in the innermost part of a system stack. */
enum { SEARCHED_BYTES = 1 << 14 };

static bool is_copy(const struct gr_runtime *rt, uint64_t pc)
{
	struct gr_func func;

	return gr_func_find(rt, pc, &func) &&
	       gr_name_has(func.name, GR_NAME_COPIES_STACK);
}

/* Is the thread of a system stack in a function that copies a stack, or does it
 * return to one? */
static struct gr_error *is_copying(struct gr_runtime *rt,
				   const struct gr_goroutine *g0, bool *ret)
{
	const struct gr_area *stack = &g0->stack;
	uint64_t bytes = stack->end - stack->start;

	if (bytes > SEARCHED_BYTES)
		bytes = SEARCHED_BYTES;
	*ret = g0->regs && (is_copy(rt, g0->regs->value[rt->arch->pc]) ||
			    (rt->arch->lr != GR_REG_NONE &&
			     is_copy(rt, g0->regs->value[rt->arch->lr])));
	for (uint64_t off = 0; off + GR_WORD_BYTES <= bytes && !*ret;
	     off += GR_WORD_BYTES) {
		*ret = is_copy(rt, gr_load_u64(stack->host + off));
		if (*ret)
			gr_recorder_note(rt->recorder, stack->host + off,
					 GR_WORD_BYTES);
	}
	return gr_runtime_step(rt, bytes / GR_WORD_BYTES);
}

static struct gr_error *is_any_copied(const struct gr_sched *sched, bool *ret)
{
	struct gr_error *err = NULL;

	*ret = false;
	for (size_t i = 0; i < sched->ngoroutines && !err && !*ret; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, 1);
		if (!err && g->is_g0 && g->stack.host)
			err = is_copying(sched->rt, g, ret);
	}
	return err;
}

/* May the thread that copies a stack be copying this goroutine's? */
static bool may_be_copied(const struct gr_sched *sched,
			  const struct gr_goroutine *g)
{
	return g->is_held || (g->status == sched->rt->layout.consts.grunning &&
			      !g->is_g0 && !g->regs);
}

struct gr_error *gr_copied_note(struct gr_sched *sched)
{
	bool is_any;
	struct gr_error *err = is_any_copied(sched, &is_any);

	for (size_t i = 0; i < sched->ngoroutines && !err; i++) {
		struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(sched->rt, 1);
		g->is_copied = is_any && may_be_copied(sched, g);
	}
	return err;
}
