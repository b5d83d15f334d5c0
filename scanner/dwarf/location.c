// SPDX-License-Identifier: Apache-2.0
#include "dwarf/location.h"

#include <libdwarf/dwarf.h>

// One simple location being read, until DW_OP_piece or the end.
struct part {
	struct gr_location_piece piece;
	bool has_ops;
	bool is_indirect;
};

static void part_set(struct part *part, enum gr_location_kind kind,
		     uint64_t reg, int64_t offset)
{
	// A part with a second location is a computation: not supported.
	if (part->has_ops || reg > UINT16_MAX)
		kind = GR_LOCATION_UNKNOWN;
	part->has_ops = true;
	part->piece.kind = kind;
	part->piece.reg = (uint16_t)reg;
	part->piece.offset = offset;
}

// No machine has larger registers; the compiler sometimes writes larger sizes.
enum { REGISTER_BYTES_MAX = 16 };

static void part_set_frame(struct part *part, struct gr_location_piece base,
			   int64_t offset)
{
	bool ok = base.kind == GR_LOCATION_CFA ||
		  base.kind == GR_LOCATION_REG_OFFSET;
	part_set(part, ok ? base.kind : GR_LOCATION_UNKNOWN, base.reg,
		 (int64_t)((uint64_t)base.offset + (uint64_t)offset));
}

static void part_add(struct part *part, uint64_t addend)
{
	switch (part->piece.kind) {
	case GR_LOCATION_CFA:
	case GR_LOCATION_REG_OFFSET:
	case GR_LOCATION_ADDRESS:
		part->piece.offset =
			(int64_t)((uint64_t)part->piece.offset + addend);
		if (!part->is_indirect)
			return;
		break;
	case GR_LOCATION_NONE:
	case GR_LOCATION_REGISTER:
	case GR_LOCATION_UNKNOWN:
		break;
	}
	part->has_ops = true;
	part->piece.kind = GR_LOCATION_UNKNOWN;
}

// Go writes `fbreg N, deref` for a result that was moved to the heap.
static void part_deref(struct part *part)
{
	bool in_memory = part->piece.kind == GR_LOCATION_CFA ||
			 part->piece.kind == GR_LOCATION_REG_OFFSET ||
			 part->piece.kind == GR_LOCATION_ADDRESS;
	if (!in_memory || part->is_indirect)
		part->piece.kind = GR_LOCATION_UNKNOWN;
	part->has_ops = true;
	part->is_indirect = true;
}

static void part_apply(struct part *part, const struct gr_location_op *op,
		       struct gr_location_piece frame_base)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		part_set(part, GR_LOCATION_REGISTER, atom - DW_OP_reg0, 0);
	else if (atom == DW_OP_regx)
		part_set(part, GR_LOCATION_REGISTER, op->operand1, 0);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		part_set(part, GR_LOCATION_REG_OFFSET, atom - DW_OP_breg0,
			 (int64_t)op->operand1);
	else if (atom == DW_OP_bregx)
		part_set(part, GR_LOCATION_REG_OFFSET, op->operand1,
			 (int64_t)op->operand2);
	else if (atom == DW_OP_call_frame_cfa)
		part_set(part, GR_LOCATION_CFA, 0, 0);
	else if (atom == DW_OP_fbreg)
		part_set_frame(part, frame_base, (int64_t)op->operand1);
	else if (atom == DW_OP_addr)
		part_set(part, GR_LOCATION_ADDRESS, 0, (int64_t)op->operand1);
	else if (atom == DW_OP_plus_uconst)
		part_add(part, op->operand1);
	else if (atom == DW_OP_deref)
		part_deref(part);
	else if (atom != DW_OP_nop)
		part_set(part, GR_LOCATION_UNKNOWN, 0, 0);
}

// Append a finished part; false when nothing can follow it.
static bool location_append(struct gr_location *location,
			    const struct part *part, uint64_t off_bytes,
			    uint64_t size_bytes)
{
	size_t max = GR_ARRAY_SIZE(location->pieces);
	struct gr_location_piece *piece;

	if (location->npieces == max || off_bytes > UINT32_MAX) {
		piece = &location->pieces[location->npieces - 1];
		piece->kind = GR_LOCATION_UNKNOWN;
		piece->size_bytes = 0;
		return false;
	}
	piece = &location->pieces[location->npieces++];
	*piece = part->piece;
	if ((part->is_indirect && size_bytes) ||
	    (piece->kind == GR_LOCATION_REGISTER &&
	     size_bytes > REGISTER_BYTES_MAX))
		piece->kind = GR_LOCATION_UNKNOWN;
	piece->off_bytes = (uint32_t)off_bytes;
	piece->size_bytes = size_bytes > UINT32_MAX ? 0 : (uint32_t)size_bytes;
	return true;
}

struct gr_location gr_location_decode(const struct gr_location_op *ops,
				      size_t nops,
				      struct gr_location_piece frame_base)
{
	struct gr_location location = { 0 };
	struct part part = { 0 };
	uint64_t off_bytes = 0;

	for (size_t i = 0; i < nops; i++) {
		uint64_t size_bytes = ops[i].operand1;
		if (ops[i].atom != DW_OP_piece) {
			part_apply(&part, &ops[i], frame_base);
			continue;
		}
		// A piece of 0 bytes has no meaning; in a gr_location_piece, 0
		// means "the rest".
		if (size_bytes != 0) {
			if (!location_append(&location, &part, off_bytes,
					     size_bytes))
				return location;
			if (__builtin_add_overflow(off_bytes, size_bytes,
						   &off_bytes))
				off_bytes = UINT64_MAX;
		}
		part = (struct part){ 0 };
	}
	if (part.has_ops) {
		location_append(&location, &part, off_bytes, 0);
		location.is_indirect =
			part.is_indirect && location.npieces == 1 &&
			location.pieces[0].kind != GR_LOCATION_UNKNOWN;
	}
	return location;
}

static uint64_t end_of(const struct gr_location *location)
{
	const struct gr_location_piece *last =
		&location->pieces[location->npieces - 1];
	return (uint64_t)last->off_bytes + last->size_bytes;
}

static bool is_same_place(const struct gr_location_piece *a,
			  const struct gr_location_piece *b)
{
	return a->kind == b->kind && a->kind != GR_LOCATION_NONE &&
	       a->size_bytes == b->size_bytes && a->reg == b->reg &&
	       a->offset == b->offset;
}

static struct gr_location merge_equal(const struct gr_location *location)
{
	struct gr_location merged = *location;
	uint32_t off_bytes = 0, n = 0;

	for (uint32_t i = 0; i < location->npieces; i++) {
		if (n &&
		    is_same_place(&merged.pieces[n - 1], &location->pieces[i]))
			continue;
		merged.pieces[n] = location->pieces[i];
		merged.pieces[n++].off_bytes = off_bytes;
		off_bytes += location->pieces[i].size_bytes;
	}
	merged.npieces = n;
	return merged;
}

void gr_location_fit(struct gr_location *location, uint64_t size_bytes)
{
	struct gr_location merged;

	if (!location->npieces || !size_bytes)
		return;
	if (end_of(location) > size_bytes) {
		merged = merge_equal(location);
		if (end_of(&merged) <= size_bytes)
			*location = merged;
	}
	for (uint32_t i = 0; i < location->npieces; i++) {
		struct gr_location_piece *piece = &location->pieces[i];
		if (piece->off_bytes >= size_bytes)
			location->npieces = i;
		else if (piece->size_bytes > size_bytes - piece->off_bytes)
			piece->size_bytes =
				(uint32_t)(size_bytes - piece->off_bytes);
	}
}

bool gr_location_is_present(const struct gr_location *location)
{
	for (uint32_t i = 0; i < location->npieces; i++)
		if (location->pieces[i].kind != GR_LOCATION_NONE)
			return true;
	return false;
}
