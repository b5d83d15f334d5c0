// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/cfi.h"

#include <dwarf.h>

#include "base/cleanup.h"

static int32_t keep(struct gr_rules *rules, const Dwarf_Op *ops, size_t count)
{
	struct gr_operation kept[GR_MAX_OPERATIONS];

	if (count >= GR_MAX_OPERATIONS)
		return -1;
	for (size_t i = 0; i < count; i++)
		kept[i] = (struct gr_operation){ .atom = ops[i].atom,
						 .number = ops[i].number,
						 .number2 = ops[i].number2 };
	return gr_rules_add_expression(rules, kept, count);
}

static bool fits(int64_t off)
{
	return off == (int32_t)off;
}

static bool set_cfa(Dwarf_Frame *frame, struct gr_rules *rules,
		    struct gr_rule *rule)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || !count)
		return false;
	uint64_t reg = UINT64_MAX;
	int64_t off = ops[0].number;
	if (ops[0].atom == DW_OP_bregx) {
		reg = ops[0].number;
		off = ops[0].number2;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		reg = ops[0].atom - DW_OP_breg0;
	}
	if (count == 1 && reg < GR_SAMPLE_REGS && fits(off)) {
		rule->cfa_reg = reg;
		rule->cfa_off = off;
		return true;
	}
	rule->cfa_reg = GR_CFA_EXPRESSION;
	rule->cfa_off = keep(rules, ops, count);
	return rule->cfa_off >= 0;
}

/* Return true if the operations are the CFA itself, as a value: the caller's rsp
 * where nothing else is said. */
static bool is_cfa(const Dwarf_Op *ops, size_t count)
{
	return count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       ops[1].atom == DW_OP_stack_value;
}

/* Return true if the register was saved at CFA + *off. */
static bool is_saved(const Dwarf_Op *ops, size_t count, int64_t *off)
{
	*off = 0;
	if (!count || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (count == 2)
		*off = ops[1].number;
	return count == 1 ||
	       (count == 2 && ops[1].atom == DW_OP_plus_uconst && fits(*off));
}

static bool set_register(Dwarf_Frame *frame, int reg, struct gr_rules *rules,
			 struct gr_rule *rule)
{
	uint32_t bit = UINT32_C(1) << reg;
	Dwarf_Op room[3], *ops;
	size_t count;
	int64_t off;

	if (dwarf_frame_register(frame, reg, room, &ops, &count))
		return false;
	if (!count && ops) {
		rule->lost |= bit;
	} else if (count && is_saved(ops, count, &off)) {
		rule->saved |= bit;
		rule->off[reg] = off;
	} else if (count && !(reg == GR_REG_RSP && is_cfa(ops, count))) {
		rule->expressed |= bit;
		rule->off[reg] = keep(rules, ops, count);
		return rule->off[reg] >= 0;
	}
	return true;
}

bool gr_cfi_rule(Dwarf_CFI *cfi, uint64_t addr, struct gr_rules *rules,
		 struct gr_rule *rule)
{
	const uint32_t rip = UINT32_C(1) << GR_REG_RIP;
	_cleanup_free_ Dwarf_Frame *frame = NULL;
	bool is_signal = false;

	if (dwarf_cfi_addrframe(cfi, addr, &frame) ||
	    dwarf_frame_info(frame, NULL, NULL, &is_signal) != GR_REG_RIP ||
	    !set_cfa(frame, rules, rule))
		return false;
	for (int reg = 0; reg < GR_SAMPLE_REGS; reg++)
		if (!set_register(frame, reg, rules, rule))
			return false;
	rule->role = is_signal	      ? GR_ROLE_SIGNAL :
		     rule->lost & rip ? GR_ROLE_START :
					GR_ROLE_CALL;
	// A return address that stays where it is would never end.
	return (rule->saved | rule->expressed | rule->lost) & rip;
}
