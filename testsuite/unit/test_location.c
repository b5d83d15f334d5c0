// SPDX-License-Identifier: Apache-2.0
#include "dwarf/location.h"

#include "suite.h"
#include <libdwarf/dwarf.h>

// Location expressions to pieces, one row an expression.

#define CFA                             \
	{                               \
		.kind = GR_LOCATION_CFA \
	}
#define EMPTY(n)                  \
	{                         \
		DW_OP_piece, n, 0 \
	}
#define FBREG(n)                              \
	{                                     \
		DW_OP_fbreg, (uint64_t)(n), 0 \
	}

struct location_case {
	const char *name;
	struct gr_location_op ops[20];
	size_t nops;
	struct gr_location_piece frame_base;
	uint64_t fit_bytes; // 0: do not call gr_location_fit()
	struct gr_location_piece pieces[4];
	uint32_t npieces;
	bool is_indirect;
	bool is_absent;
};

static const struct location_case cases[] = {
	{ .name = "an empty expression is nowhere",
	  .frame_base = CFA,
	  .is_absent = true },
	{ .name = "call_frame_cfa: the first stack parameter",
	  .ops = { { DW_OP_call_frame_cfa, 0, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_CFA } },
	  .npieces = 1 },
	{ .name = "fbreg counts from the CFA",
	  .ops = { FBREG(-72) },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_CFA, .offset = -72 } },
	  .npieces = 1 },
	{ .name = "fbreg of a frame base in a register",
	  .ops = { FBREG(-8) },
	  .nops = 1,
	  .frame_base = { .kind = GR_LOCATION_REG_OFFSET,
			  .reg = 6,
			  .offset = 16 },
	  .pieces = { { .kind = GR_LOCATION_REG_OFFSET,
			.reg = 6,
			.offset = 8 } },
	  .npieces = 1 },
	{ .name = "fbreg of an unknown frame base is unknown",
	  .ops = { FBREG(-8) },
	  .nops = 1,
	  .frame_base = { .kind = GR_LOCATION_UNKNOWN },
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN, .offset = -8 } },
	  .npieces = 1 },
	{ .name = "fbreg without a frame base is unknown",
	  .ops = { FBREG(-8) },
	  .nops = 1,
	  .frame_base = { .kind = GR_LOCATION_NONE },
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN, .offset = -8 } },
	  .npieces = 1 },
	{ .name = "regN",
	  .ops = { { DW_OP_reg3, 0, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REGISTER, .reg = 3 } },
	  .npieces = 1 },
	{ .name = "regx",
	  .ops = { { DW_OP_regx, 64, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REGISTER, .reg = 64 } },
	  .npieces = 1 },
	{ .name = "regx past any machine is unknown",
	  .ops = { { DW_OP_regx, 1 << 20, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	  .npieces = 1 },
	{ .name = "bregN",
	  .ops = { { DW_OP_breg7, (uint64_t)-16, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REG_OFFSET,
			.reg = 7,
			.offset = -16 } },
	  .npieces = 1 },
	{ .name = "bregx",
	  .ops = { { DW_OP_bregx, 33, 24 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REG_OFFSET,
			.reg = 33,
			.offset = 24 } },
	  .npieces = 1 },
	{ .name = "addr",
	  .ops = { { DW_OP_addr, 0x52cfa8, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_ADDRESS, .offset = 0x52cfa8 } },
	  .npieces = 1 },
	{ .name = "plus_uconst adds to an address",
	  .ops = { { DW_OP_addr, 0x1000, 0 }, { DW_OP_plus_uconst, 8, 0 } },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_ADDRESS, .offset = 0x1008 } },
	  .npieces = 1 },
	{ .name = "plus_uconst on a register is unknown",
	  .ops = { { DW_OP_reg0, 0, 0 }, { DW_OP_plus_uconst, 8, 0 } },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	  .npieces = 1 },
	{ .name = "a slice in three registers",
	  .ops = { { DW_OP_reg0, 0, 0 },
		   EMPTY(8),
		   { DW_OP_reg3, 0, 0 },
		   EMPTY(8),
		   { DW_OP_reg2, 0, 0 },
		   EMPTY(8) },
	  .nops = 6,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REGISTER, .size_bytes = 8 },
		      { .kind = GR_LOCATION_REGISTER,
			.reg = 3,
			.off_bytes = 8,
			.size_bytes = 8 },
		      { .kind = GR_LOCATION_REGISTER,
			.reg = 2,
			.off_bytes = 16,
			.size_bytes = 8 } },
	  .npieces = 3 },
	{ .name = "an empty piece was optimised out",
	  .ops = { FBREG(8), EMPTY(8), EMPTY(8), { DW_OP_reg2, 0, 0 }, EMPTY(8) },
	  .nops = 5,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_CFA, .offset = 8, .size_bytes = 8 },
		      { .kind = GR_LOCATION_NONE,
			.off_bytes = 8,
			.size_bytes = 8 },
		      { .kind = GR_LOCATION_REGISTER,
			.reg = 2,
			.off_bytes = 16,
			.size_bytes = 8 } },
	  .npieces = 3 },
	{ .name = "only empty pieces are nowhere",
	  .ops = { EMPTY(8), EMPTY(8) },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_NONE, .size_bytes = 8 },
		      { .kind = GR_LOCATION_NONE,
			.off_bytes = 8,
			.size_bytes = 8 } },
	  .npieces = 2,
	  .is_absent = true },
	{ .name = "a piece of no bytes is left out",
	  .ops = { { DW_OP_reg1, 0, 0 },
		   EMPTY(0),
		   { DW_OP_reg2, 0, 0 },
		   EMPTY(8) },
	  .nops = 4,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_REGISTER,
			.reg = 2,
			.size_bytes = 8 } },
	  .npieces = 1 },
	{ .name = "fbreg, deref: moved to the heap",
	  .ops = { FBREG(-40), { DW_OP_deref, 0, 0 } },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_CFA, .offset = -40 } },
	  .npieces = 1,
	  .is_indirect = true },
	{ .name = "deref twice is unknown",
	  .ops = { FBREG(-40), { DW_OP_deref, 0, 0 }, { DW_OP_deref, 0, 0 } },
	  .nops = 3,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN, .offset = -40 } },
	  .npieces = 1 },
	{ .name = "deref of nothing is unknown",
	  .ops = { { DW_OP_deref, 0, 0 } },
	  .nops = 1,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	  .npieces = 1 },
	{ .name = "an indirect piece is unknown",
	  .ops = { FBREG(-40), { DW_OP_deref, 0, 0 }, EMPTY(8) },
	  .nops = 3,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN,
			.offset = -40,
			.size_bytes = 8 } },
	  .npieces = 1 },
	{ .name = "a computed value is unknown",
	  .ops = { { DW_OP_lit5, 0, 0 }, { DW_OP_stack_value, 0, 0 } },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	  .npieces = 1 },
	{ .name = "two locations in one part are unknown",
	  .ops = { { DW_OP_reg1, 0, 0 }, { DW_OP_reg2, 0, 0 } },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN, .reg = 2 } },
	  .npieces = 1 },
	{ .name = "a register of 24 bytes is unknown",
	  .ops = { { DW_OP_reg2, 0, 0 }, EMPTY(24) },
	  .nops = 2,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN, .size_bytes = 24 } },
	  .npieces = 1 },
	{ .name = "fit: pieces that fit stay",
	  .ops = { { DW_OP_reg3, 0, 0 },
		   EMPTY(8),
		   { DW_OP_reg3, 0, 0 },
		   EMPTY(8) },
	  .nops = 4,
	  .frame_base = CFA,
	  .fit_bytes = 16,
	  .pieces = { { .kind = GR_LOCATION_REGISTER,
			.reg = 3,
			.size_bytes = 8 },
		      { .kind = GR_LOCATION_REGISTER,
			.reg = 3,
			.off_bytes = 8,
			.size_bytes = 8 } },
	  .npieces = 2 },
	{ .name = "fit: pieces written twice become one",
	  .ops = { FBREG(8), EMPTY(8), FBREG(8), EMPTY(8), FBREG(16), EMPTY(8),
		   FBREG(16), EMPTY(8) },
	  .nops = 8,
	  .frame_base = CFA,
	  .fit_bytes = 16,
	  .pieces = { { .kind = GR_LOCATION_CFA, .offset = 8, .size_bytes = 8 },
		      { .kind = GR_LOCATION_CFA,
			.offset = 16,
			.off_bytes = 8,
			.size_bytes = 8 } },
	  .npieces = 2 },
	{ .name = "fit: what goes past the end is cut",
	  .ops = { FBREG(8), EMPTY(8), FBREG(16), EMPTY(16), FBREG(32),
		   EMPTY(8) },
	  .nops = 6,
	  .frame_base = CFA,
	  .fit_bytes = 16,
	  .pieces = { { .kind = GR_LOCATION_CFA, .offset = 8, .size_bytes = 8 },
		      { .kind = GR_LOCATION_CFA,
			.offset = 16,
			.off_bytes = 8,
			.size_bytes = 8 } },
	  .npieces = 2 },
	{ .name = "pieces past 4 GiB end in an unknown one",
	  .ops = { { DW_OP_reg0, 0, 0 },
		   { DW_OP_piece, UINT64_MAX, 0 },
		   { DW_OP_reg1, 0, 0 },
		   EMPTY(8) },
	  .nops = 4,
	  .frame_base = CFA,
	  .pieces = { { .kind = GR_LOCATION_UNKNOWN } },
	  .npieces = 1 },
};

TEST_ROWS(location, cases, row)
{
	struct gr_location location =
		gr_location_decode(row->ops, row->nops, row->frame_base);

	if (row->fit_bytes)
		gr_location_fit(&location, row->fit_bytes);
	assert_int_equal(location.npieces, row->npieces);
	for (uint32_t i = 0; i < row->npieces; i++) {
		const struct gr_location_piece *got = &location.pieces[i];
		const struct gr_location_piece *want = &row->pieces[i];
		assert_int_equal(got->kind, want->kind);
		assert_int_equal(got->off_bytes, want->off_bytes);
		assert_int_equal(got->size_bytes, want->size_bytes);
		if (want->kind == GR_LOCATION_UNKNOWN)
			continue;
		assert_int_equal(got->reg, want->reg);
		assert_int_equal(got->offset, want->offset);
	}
	assert_int_equal(location.is_indirect, row->is_indirect);
	assert_int_equal(gr_location_is_present(&location), !row->is_absent);
}

TEST(too_many_pieces)
{
	struct gr_location_op ops[2 * GR_DWARF_PIECES_MAX + 2];
	struct gr_location_piece cfa = CFA;
	struct gr_location location;
	size_t nops = GR_ARRAY_SIZE(ops);

	for (size_t i = 0; i < nops; i += 2) {
		ops[i] = (struct gr_location_op){ DW_OP_reg1, 0, 0 };
		ops[i + 1] = (struct gr_location_op)EMPTY(8);
	}
	location = gr_location_decode(ops, nops - 2, cfa);
	assert_int_equal(location.npieces, GR_DWARF_PIECES_MAX);
	assert_int_equal(location.pieces[GR_DWARF_PIECES_MAX - 1].kind,
			 GR_LOCATION_REGISTER);
	location = gr_location_decode(ops, nops, cfa);
	assert_int_equal(location.npieces, GR_DWARF_PIECES_MAX);
	assert_int_equal(location.pieces[GR_DWARF_PIECES_MAX - 1].kind,
			 GR_LOCATION_UNKNOWN);
	assert_int_equal(location.pieces[GR_DWARF_PIECES_MAX - 1].size_bytes,
			 0);
}

GR_SUITE("location")
