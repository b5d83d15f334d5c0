/* SPDX-License-Identifier: Apache-2.0 */
/** code: what machine code of the program names. */
#ifndef GR_CODE_H
#define GR_CODE_H

#include <stdint.h>
#include <string.h>

/** Opcodes of x86-64: `lea`, `mov` out of memory. */
enum { GR_OP_LEA = 0x8d, GR_OP_LOAD = 0x8b };

/** Bytes of an instruction that gr_code_rip_target() knows. */
enum { GR_RIP_BYTES = 7 };

/**
 * The address that `OP disp(%rip), reg`, with 64 bits, names when it stands at
 * @p addr. @p code: GR_RIP_BYTES of it. 0: it is another instruction.
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

#endif /* GR_CODE_H */
