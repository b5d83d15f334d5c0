/* SPDX-License-Identifier: Apache-2.0 */
/**
 * probe_point: at which instruction of a function a probe costs least. Knows
 * x86-64 instructions, by Capstone.
 *
 * A probe is an int3. The kernel emulates the instruction that it replaces if
 * that is a push, a jump, a call or a nop (arch/x86/kernel/uprobes.c:
 * push_setup_xol_ops, branch_setup_xol_ops), and steps through all others out
 * of line, which costs thirty times as much.
 */
#ifndef GR_PROBE_POINT_H
#define GR_PROBE_POINT_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/arch.h"

/** Where in its function a probe is. */
enum gr_probe_place {
	/** Behind the check of the stack: each call comes there once. */
	GR_PROBE_PAST_CHECK,
	/** At the jump of that check: a call comes there once more if the stack
	 * grows. */
	GR_PROBE_AT_CHECK,
	/** In a function without such a check: each call comes there once. */
	GR_PROBE_EMULATED,
	/** At the entry, which the kernel does not emulate. */
	GR_PROBE_AT_ENTRY,
};

/** The name of a place: "past_check", "at_check", "emulated", "entry". */
const char *gr_probe_place_name(enum gr_probe_place place);

/** The state of the entry that a probe needs. */
struct gr_probe_needs {
	/** The registers with arguments (enum gr_reg): RAX, RBX, RCX, RDX, RSI,
	 * RDI. And RSP if the return is probed, too: the return address is
	 * taken from where it points. A push may itself be probed. */
	const uint8_t *kept;
	size_t nkept;
	/** The function is of Go's compiler: it may begin with a check of the
	 * stack. */
	bool is_go;
};

/**
 * Find the instruction.
 *
 * @param code The @p bytes of the function at @p addr, which is its entry.
 * @param[out] found False: the code cannot be decoded.
 */
struct gr_error *gr_probe_point_find(const uint8_t *code, size_t bytes,
				     uint64_t addr,
				     const struct gr_probe_needs *needs,
				     uint64_t *ret, enum gr_probe_place *place,
				     bool *found) GR_MUST_CHECK;

#endif /* GR_PROBE_POINT_H */
