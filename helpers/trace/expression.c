// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/expression.h"

#include <dwarf.h>

enum { STACK_WORDS = 16 };

/** An evaluation on its way. */
struct gr_evaluation {
	const struct gr_frame_regs *regs;
	const struct gr_sample *sample;
	uint64_t cfa;
	uint64_t stack[STACK_WORDS];
	size_t depth;
	bool is_value; /**< The result is a value, and not a location. */
};

static bool push(struct gr_evaluation *e, uint64_t value)
{
	if (e->depth >= STACK_WORDS)
		return false;
	e->stack[e->depth++] = value;
	return true;
}

static bool push_register(struct gr_evaluation *e, uint64_t reg, uint64_t off)
{
	uint64_t value;

	return gr_regs_get(e->regs, reg, &value) && push(e, value + off);
}

/* Push the copy of an entry; 0 is the top. */
static bool pick(struct gr_evaluation *e, uint64_t index)
{
	return index < e->depth && push(e, e->stack[e->depth - 1 - index]);
}

/* Compute with the two top entries. */
static bool combine(struct gr_evaluation *e, uint8_t atom)
{
	if (e->depth < 2)
		return false;
	uint64_t b = e->stack[--e->depth], *a = &e->stack[e->depth - 1];

	switch (atom) {
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*a = (int64_t)*a > (int64_t)b;
		return true;
	case DW_OP_le:
		*a = (int64_t)*a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*a = (int64_t)*a < (int64_t)b;
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	default:
		return false;
	}
}

/* Change the top entry, or push one that the operation holds. */
static bool step_single(struct gr_evaluation *e, const struct gr_operation *op)
{
	uint64_t *top = e->depth ? &e->stack[e->depth - 1] : NULL;

	switch (op->atom) {
	case DW_OP_const1u ... DW_OP_consts:
	case DW_OP_addr:
		return push(e, op->number);
	case DW_OP_call_frame_cfa:
		return push(e, e->cfa);
	case DW_OP_bregx:
		return push_register(e, op->number, op->number2);
	case DW_OP_dup:
		return pick(e, 0);
	case DW_OP_over:
		return pick(e, 1);
	case DW_OP_drop:
		return e->depth && e->depth--;
	case DW_OP_plus_uconst:
		if (top)
			*top += op->number;
		return top;
	case DW_OP_deref:
		return top && gr_sample_word(e->sample, *top, top);
	case DW_OP_regx:
		e->is_value = true;
		return push_register(e, op->number, 0);
	case DW_OP_stack_value:
		e->is_value = true;
		return top;
	case DW_OP_nop:
		return true;
	default:
		return combine(e, op->atom);
	}
}

static bool step(struct gr_evaluation *e, const struct gr_operation *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(e, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		e->is_value = true;
		return push_register(e, op->atom - DW_OP_reg0, 0);
	}
	return step_single(e, op);
}

bool gr_expression_evaluate(const struct gr_operation *ops,
			    const struct gr_frame_regs *regs, uint64_t cfa,
			    const struct gr_sample *sample, bool is_address,
			    uint64_t *ret)
{
	struct gr_evaluation e = { .regs = regs, .sample = sample, .cfa = cfa };

	for (size_t i = 0; i < GR_MAX_OPERATIONS && ops[i].atom; i++)
		if (e.is_value || !step(&e, &ops[i]))
			return false;
	if (!e.depth)
		return false;
	*ret = e.stack[e.depth - 1];
	return is_address || e.is_value || gr_sample_word(sample, *ret, ret);
}
