/* SPDX-License-Identifier: Apache-2.0 */
/** code: the addresses to which the program's machine code refers. */
#ifndef GR_CODE_H
#define GR_CODE_H

#include "base/bytes.h"

/** Opcodes of x86-64: `lea`, and `mov` from memory. */
enum { GR_OP_LEA = 0x8d, GR_OP_LOAD = 0x8b };

/** The size of the instructions that gr_code_rip_target() knows. */
enum { GR_RIP_BYTES = 7 };

/**
 * The address to which the 64-bit instruction `OP disp(%rip), reg` at @p addr
 * refers. @p code has GR_RIP_BYTES bytes. 0: it is another instruction.
 */
static inline uint64_t gr_code_rip_target(const uint8_t *code, uint64_t addr,
					  uint8_t op)
{
	int32_t displacement;

	if ((code[0] & 0xfb) != 0x48 || code[1] != op ||
	    (code[2] & 0xc7) != 0x05)
		return 0;
	memcpy(&displacement, code + 3, sizeof(displacement));
	return addr + GR_RIP_BYTES + (uint64_t)(int64_t)displacement;
}

/**
 * The address that the arm64 instructions `adrp` and `add` at @p addr compute.
 * @p code has 8 bytes. 0: these are others.
 */
static inline uint64_t gr_code_adrp_target(const uint8_t *code, uint64_t addr)
{
	uint32_t adrp = gr_load_u32(code), add = gr_load_u32(code + 4);
	uint64_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);

	if ((adrp & 0x9f000000) != 0x90000000 ||
	    (add & 0xffc00000) != 0x91000000 || addr % 4)
		return 0;
	// The immediate has 21 bits including the sign.
	pages = (pages ^ UINT64_C(1) << 20) - (UINT64_C(1) << 20);
	return (addr & ~UINT64_C(0xfff)) + (pages << 12) + (add >> 10 & 0xfff);
}

#endif /* GR_CODE_H */
