// SPDX-License-Identifier: Apache-2.0
#include "growth/probe_point.h"

#include "base/cleanup.h"
#include "growth/disassembler.h"

enum {
	MAX_CODE_BYTES = 1 << 16,
	/* The check of the stack is among the first instructions. */
	MAX_CHECK_INSTRUCTIONS = 8,
	MAX_INSTRUCTIONS = 64, /* that are looked at before a probe */
	STACKGUARD_OFF = 0x10, /* g.stackguard0, in the compiler, too */
};

/** A function and what is looked for. */
struct search {
	const uint8_t *code;
	size_t bytes;
	uint64_t addr;
	const struct gr_probe_needs *needs;
	uint64_t check;	     /* the jump of the check; 0: there is none */
	uint64_t past_check; /* the instruction behind it, or the entry */
	uint64_t best;	     /* 0: none was found */
};

const char *gr_probe_place_name(enum gr_probe_place place)
{
	static const char *const names[] = {
		[GR_PROBE_PAST_CHECK] = "past_check",
		[GR_PROBE_AT_CHECK] = "at_check",
		[GR_PROBE_EMULATED] = "emulated",
		[GR_PROBE_AT_ENTRY] = "entry",
	};

	return names[place];
}

static bool is_conditional_jump(const cs_insn *insn)
{
	return (insn->bytes[0] & 0xf0) == 0x70 ||
	       (insn->bytes[0] == 0x0f && (insn->bytes[1] & 0xf0) == 0x80);
}

/* Does the kernel emulate it? A prefix, but for the one of a push, makes it step
 * through the instruction. */
static bool is_emulated(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	if ((b[0] & 0xf8) == 0x50 || (b[0] == 0x41 && (b[1] & 0xf8) == 0x50))
		return true; // push
	return b[0] == 0xe8 || b[0] == 0xe9 || b[0] == 0xeb || b[0] == 0x90 ||
	       is_conditional_jump(insn);
}

/* Is it a breakpoint? What follows is a part of the instruction below it. */
static bool is_breakpoint(const cs_insn *insn)
{
	return insn->id == X86_INS_INT3;
}

/* Is it `cmp 0x10(reg), reg`: the end of the stack against g.stackguard0? */
static bool is_stack_check(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (size_t i = 0; insn->id == X86_INS_CMP && i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM &&
		    x86->operands[i].mem.disp == STACKGUARD_OFF &&
		    x86->operands[i].mem.index == X86_REG_INVALID)
			return true;
	return false;
}

/* Find the check of the stack, which only Go's functions have. *@p found is false
 * if the entry is no code. */
static struct gr_error *find_check(struct search *s, bool *found)
{
	_cleanup_(gr_disassembler_deinit) struct gr_disassembler d = { 0 };
	struct gr_error *err =
		gr_disassembler_begin(&d, s->code, s->bytes, s->addr);
	bool is_checked = false;

	s->past_check = s->addr;
	*found = false;
	for (size_t i = 0;
	     !err && i < MAX_CHECK_INSTRUCTIONS && gr_disassembler_next(&d);
	     i++) {
		*found = true;
		if (!s->needs->is_go || is_breakpoint(d.insn))
			return NULL;
		if (is_checked && is_conditional_jump(d.insn)) {
			s->check = d.insn->address;
			s->past_check = s->check + d.insn->size;
			return NULL;
		}
		is_checked = is_stack_check(d.insn);
	}
	return err;
}

static bool writes_kept(const struct search *s, const struct gr_disassembler *d)
{
	static const unsigned int registers[] = {
		[GR_REG_RAX] = X86_REG_RAX, [GR_REG_RDX] = X86_REG_RDX,
		[GR_REG_RCX] = X86_REG_RCX, [GR_REG_RBX] = X86_REG_RBX,
		[GR_REG_RSI] = X86_REG_RSI, [GR_REG_RDI] = X86_REG_RDI,
		[GR_REG_RSP] = X86_REG_RSP,
	};

	for (size_t i = 0; i < s->needs->nkept; i++)
		if (gr_disassembler_writes(d, registers[s->needs->kept[i]]))
			return true;
	return false;
}

/* A probe behind it is too late: what is freed there may be taken anew before. */
static bool calls_the_kernel(const cs_insn *insn)
{
	return insn->id == X86_INS_SYSCALL || insn->id == X86_INS_SYSENTER ||
	       insn->id == X86_INS_INT;
}

/* Find the first instruction behind the check that the kernel emulates. */
static struct gr_error *find_best(struct search *s)
{
	_cleanup_(gr_disassembler_deinit) struct gr_disassembler d = { 0 };
	size_t off = s->past_check - s->addr;
	struct gr_error *err = gr_disassembler_begin(
		&d, s->code + off, s->bytes - off, s->past_check);

	for (size_t i = 0;
	     !err && i < MAX_INSTRUCTIONS && gr_disassembler_next(&d); i++) {
		if (is_emulated(d.insn)) {
			s->best = d.insn->address;
			return NULL;
		}
		if (writes_kept(s, &d) || calls_the_kernel(d.insn) ||
		    is_breakpoint(d.insn) ||
		    cs_insn_group(d.handle, d.insn, CS_GRP_JUMP) ||
		    cs_insn_group(d.handle, d.insn, CS_GRP_CALL) ||
		    cs_insn_group(d.handle, d.insn, CS_GRP_RET))
			break;
	}
	return err;
}

/* Drop the instruction if a loop comes back to it, or to one before it. */
static struct gr_error *check_loops(struct search *s)
{
	_cleanup_(gr_disassembler_deinit) struct gr_disassembler d = { 0 };
	struct gr_error *err =
		gr_disassembler_begin(&d, s->code, s->bytes, s->addr);

	// Bounded by the bytes of the function.
	while (!err && s->best && gr_disassembler_next(&d)) {
		uint64_t target = gr_disassembler_target(&d);

		if (target >= s->past_check && target <= s->best &&
		    target > s->addr)
			s->best = 0;
	}
	return err;
}

static enum gr_probe_place place_of(const struct search *s)
{
	if (s->best)
		return s->needs->is_go ? GR_PROBE_PAST_CHECK :
					 GR_PROBE_EMULATED;
	return s->check ? GR_PROBE_AT_CHECK : GR_PROBE_AT_ENTRY;
}

struct gr_error *gr_probe_point_find(const uint8_t *code, size_t bytes,
				     uint64_t addr,
				     const struct gr_probe_needs *needs,
				     uint64_t *ret, enum gr_probe_place *place,
				     bool *found)
{
	struct search s = { code, bytes, addr, needs, 0, 0, 0 };
	struct gr_error *err;

	if (s.bytes > MAX_CODE_BYTES)
		s.bytes = MAX_CODE_BYTES;
	err = find_check(&s, found);
	if (!err && *found)
		err = find_best(&s);
	if (!err && s.best)
		err = check_loops(&s);
	*ret = s.best ? s.best : s.check ? s.check : addr;
	*place = place_of(&s);
	return err;
}
