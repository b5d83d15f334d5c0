/* SPDX-License-Identifier: Apache-2.0 */
/**
 * location: location expressions as pieces. This part knows the operations of
 * DWARF, but no libdwarf, file or target.
 */
#ifndef GR_DWARF_LOCATION_H
#define GR_DWARF_LOCATION_H

#include "base/base.h"
#include "dwarf/dwarf.h"

/** The most operations of an expression; a longer one is UNKNOWN. */
#define GR_LOCATION_OPS_MAX 48

/** One operation; DW_OP_addrx must have become DW_OP_addr. */
struct gr_location_op {
	uint8_t atom;		     /**< DW_OP_*. */
	uint64_t operand1, operand2; /**< Signed ones sign-extended. */
};

/** The result of a location expression. */
struct gr_location {
	/** 0: the expression is empty and the variable has no location. */
	uint32_t npieces;
	/**
	 * In order of off_bytes. If there are too many, the last piece is
	 * UNKNOWN and stands for the rest.
	 */
	struct gr_location_piece pieces[GR_DWARF_PIECES_MAX];
	/**
	 * The only piece holds the variable's address, because the variable
	 * was moved to the heap.
	 */
	bool is_indirect;
};

/**
 * Decode an expression of @p nops operations.
 *
 * @param frame_base is the base of DW_OP_fbreg: a piece of kind CFA or
 * REG_OFFSET. Any other kind makes DW_OP_fbreg UNKNOWN.
 */
struct gr_location gr_location_decode(const struct gr_location_op *ops,
				      size_t nops,
				      struct gr_location_piece frame_base);

/**
 * Make the pieces fit a variable of @p size_bytes.
 *
 * Go's compiler sometimes writes each piece of an interface or slice twice, so
 * that the pieces go past the type's end. Equal neighbours are merged if that
 * makes the pieces fit. Pieces that are still too long are cut.
 */
void gr_location_fit(struct gr_location *location, uint64_t size_bytes);

/** True if at least one piece has a location. */
bool gr_location_is_present(const struct gr_location *location);

#endif /* GR_DWARF_LOCATION_H */
