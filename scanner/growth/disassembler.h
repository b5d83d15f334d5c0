/* SPDX-License-Identifier: Apache-2.0 */
/** disassembler: the instructions of a function, one after the other. */
#ifndef GR_GROWTH_DISASSEMBLER_H
#define GR_GROWTH_DISASSEMBLER_H

#include "base/base.h"
#include "base/error.h"

#include <capstone/capstone.h>

/** Code that is being read. Zero-initialised, nothing is open. */
struct gr_disassembler {
	csh handle;
	cs_insn *insn; /**< The latest instruction, with its details. */
	const uint8_t *code;
	size_t bytes; /**< Those that are left. */
	uint64_t addr;
};

/** Begin with the @p bytes of code at @p addr. @p d needs
 * gr_disassembler_deinit() even if this fails. */
struct gr_error *gr_disassembler_begin(struct gr_disassembler *d,
				       const uint8_t *code, size_t bytes,
				       uint64_t addr) GR_MUST_CHECK;
void gr_disassembler_deinit(struct gr_disassembler *d);

/** Go to the next instruction. False at the end, or at one that cannot be
 * decoded. */
bool gr_disassembler_next(struct gr_disassembler *d);

/** The 64-bit register that holds register @p reg, or @p reg itself. */
unsigned int gr_register_whole(unsigned int reg);

/** Does the latest instruction write register @p reg, which has 64 bits? */
bool gr_disassembler_writes(const struct gr_disassembler *d, unsigned int reg);

/** The address to which the latest instruction jumps, or which it calls; 0: it
 * does neither, or the address is computed. */
uint64_t gr_disassembler_target(const struct gr_disassembler *d);

#endif /* GR_GROWTH_DISASSEMBLER_H */
