/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Location expressions as pieces. Pure: knows the operations of DWARF, not
 * libdwarf, no file and no target.
 */
#ifndef GR_DWARF_LOCATION_H
#define GR_DWARF_LOCATION_H

#include "base/base.h"
#include "dwarf/dwarf.h"

/** Longest expression that is followed; a longer one is UNKNOWN. */
#define GR_LOCATION_OPS_MAX 48

/** One operation; DW_OP_addrx must have become DW_OP_addr. */
struct gr_location_op {
	uint8_t atom;		     /**< DW_OP_*. */
	uint64_t operand1, operand2; /**< Signed ones sign-extended. */
};

/** What an expression says. */
struct gr_location {
	/** 0: the expression is empty, the variable is nowhere. */
	uint32_t npieces;
	/**
	 * In order of off_bytes. What does not fit is one UNKNOWN last piece.
	 */
	struct gr_location_piece pieces[GR_DWARF_PIECES_MAX];
	/**
	 * The one piece holds the variable's address, not the variable: it
	 * was moved to the heap.
	 */
	bool is_indirect;
};

/**
 * Decode an expression of @p nops operations.
 *
 * @param frame_base where DW_OP_fbreg counts from: a piece of kind CFA, or
 * REG_OFFSET; any other kind makes DW_OP_fbreg UNKNOWN.
 */
struct gr_location gr_location_decode(const struct gr_location_op *ops,
				      size_t nops,
				      struct gr_location_piece frame_base);

/**
 * Make the pieces fit a variable of @p size_bytes.
 *
 * Go's compiler now and then writes each piece of an interface or slice
 * twice; then the pieces go past the type's end. Equal neighbours become one
 * if that makes them fit, and what is still too long is cut.
 */
void gr_location_fit(struct gr_location *location, uint64_t size_bytes);

/** True if at least one piece is somewhere. */
bool gr_location_is_present(const struct gr_location *location);

#endif /* GR_DWARF_LOCATION_H */
