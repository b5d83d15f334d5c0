// SPDX-License-Identifier: Apache-2.0
#include "growth/disassembler.h"

struct gr_error *gr_disassembler_begin(struct gr_disassembler *d,
				       const uint8_t *code, size_t bytes,
				       uint64_t addr)
{
	*d = (struct gr_disassembler){ .code = code,
				       .bytes = bytes,
				       .addr = addr };
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK ||
	    cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		return &gr_enomem;
	d->insn = cs_malloc(d->handle);
	return d->insn ? NULL : &gr_enomem;
}

void gr_disassembler_deinit(struct gr_disassembler *d)
{
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->handle)
		cs_close(&d->handle);
	*d = (struct gr_disassembler){ 0 };
}

bool gr_disassembler_next(struct gr_disassembler *d)
{
	return cs_disasm_iter(d->handle, &d->code, &d->bytes, &d->addr,
			      d->insn);
}

unsigned int gr_register_whole(unsigned int reg)
{
	static const unsigned int parts[][5] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL,
		  X86_REG_AH },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL,
		  X86_REG_BH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL,
		  X86_REG_CH },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL,
		  X86_REG_DH },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	};

	// The rest of a row is 0, which is no register.
	if (reg == X86_REG_INVALID)
		return reg;
	for (size_t i = 0; i < GR_ARRAY_SIZE(parts); i++)
		for (size_t k = 0; k < GR_ARRAY_SIZE(parts[i]); k++)
			if (parts[i][k] == reg)
				return parts[i][0];
	return reg;
}

bool gr_disassembler_writes(const struct gr_disassembler *d, unsigned int reg)
{
	cs_regs read, written;
	uint8_t nread = 0, nwritten = 0;

	// An instruction whose effects are not known may write anything.
	if (cs_regs_access(d->handle, d->insn, read, &nread, written,
			   &nwritten) != CS_ERR_OK)
		return true;
	for (size_t i = 0; i < nwritten; i++)
		if (gr_register_whole(written[i]) == reg)
			return true;
	return false;
}

uint64_t gr_disassembler_target(const struct gr_disassembler *d)
{
	const cs_x86 *x86 = &d->insn->detail->x86;

	if (!cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) &&
	    !cs_insn_group(d->handle, d->insn, CS_GRP_CALL))
		return 0;
	return x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM ?
		       (uint64_t)x86->operands[0].imm :
		       0;
}
