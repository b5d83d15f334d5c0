// SPDX-License-Identifier: Apache-2.0
#include "dwarf/location.h"

#include "suite.h"
#include <libdwarf/dwarf.h>

// Location expressions to pieces, one row an expression.

#define CFA                             \
	{                               \
		.kind = GR_LOCATION_CFA \
	}
#define OP(code, a, b)             \
	{                          \
		DW_OP_##code, a, b \
	}
#define EMPTY(n) OP(piece, n, 0)
#define FBREG(n) OP(fbreg, (uint64_t)(n), 0)

#define PIECE(kind_, reg_, offset_, off_, size_)                             \
	{                                                                    \
		.kind = GR_LOCATION_##kind_, .reg = reg_, .offset = offset_, \
		.off_bytes = off_, .size_bytes = size_                       \
	}
#define AT_CFA(offset, off, size) PIECE(CFA, 0, offset, off, size)
#define REGISTER(reg, off, size) PIECE(REGISTER, reg, 0, off, size)
#define NONE(off, size) PIECE(NONE, 0, 0, off, size)
#define OPS(...)                \
	.ops = { __VA_ARGS__ }, \
	.nops = GR_ARRAY_SIZE(((struct gr_location_op[]){ __VA_ARGS__ }))
#define PIECES(...)                \
	.pieces = { __VA_ARGS__ }, \
	.npieces =                 \
		GR_ARRAY_SIZE(((struct gr_location_piece[]){ __VA_ARGS__ }))
#define ROW(name_, ...)                                       \
	{                                                     \
		.name = name_, .frame_base = CFA, __VA_ARGS__ \
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
	ROW("call_frame_cfa: the first stack parameter",
	    OPS(OP(call_frame_cfa, 0, 0)), PIECES(AT_CFA(0, 0, 0))),
	ROW("fbreg counts from the CFA", OPS(FBREG(-72)),
	    PIECES(AT_CFA(-72, 0, 0))),
	{ .name = "fbreg of a frame base in a register",
	  .frame_base = { .kind = GR_LOCATION_REG_OFFSET,
			  .reg = 6,
			  .offset = 16 },
	  OPS(FBREG(-8)),
	  PIECES(PIECE(REG_OFFSET, 6, 8, 0, 0)) },
	{ .name = "fbreg of an unknown frame base is unknown",
	  .frame_base = { .kind = GR_LOCATION_UNKNOWN },
	  OPS(FBREG(-8)),
	  PIECES(PIECE(UNKNOWN, 0, -8, 0, 0)) },
	{ .name = "fbreg without a frame base is unknown",
	  .frame_base = { .kind = GR_LOCATION_NONE },
	  OPS(FBREG(-8)),
	  PIECES(PIECE(UNKNOWN, 0, -8, 0, 0)) },
	ROW("regN", OPS(OP(reg3, 0, 0)), PIECES(REGISTER(3, 0, 0))),
	ROW("regx", OPS(OP(regx, 64, 0)), PIECES(REGISTER(64, 0, 0))),
	ROW("regx past any machine is unknown", OPS(OP(regx, 1 << 20, 0)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 0))),
	ROW("bregN", OPS(OP(breg7, (uint64_t)-16, 0)),
	    PIECES(PIECE(REG_OFFSET, 7, -16, 0, 0))),
	ROW("bregx", OPS(OP(bregx, 33, 24)),
	    PIECES(PIECE(REG_OFFSET, 33, 24, 0, 0))),
	ROW("addr", OPS(OP(addr, 0x52cfa8, 0)),
	    PIECES(PIECE(ADDRESS, 0, 0x52cfa8, 0, 0))),
	ROW("plus_uconst adds to an address",
	    OPS(OP(addr, 0x1000, 0), OP(plus_uconst, 8, 0)),
	    PIECES(PIECE(ADDRESS, 0, 0x1008, 0, 0))),
	ROW("plus_uconst on a register is unknown",
	    OPS(OP(reg0, 0, 0), OP(plus_uconst, 8, 0)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 0))),
	ROW("a slice in three registers",
	    OPS(OP(reg0, 0, 0), EMPTY(8), OP(reg3, 0, 0), EMPTY(8),
		OP(reg2, 0, 0), EMPTY(8)),
	    PIECES(REGISTER(0, 0, 8), REGISTER(3, 8, 8), REGISTER(2, 16, 8))),
	ROW("an empty piece was optimised out",
	    OPS(FBREG(8), EMPTY(8), EMPTY(8), OP(reg2, 0, 0), EMPTY(8)),
	    PIECES(AT_CFA(8, 0, 8), NONE(8, 8), REGISTER(2, 16, 8))),
	ROW("only empty pieces are nowhere", OPS(EMPTY(8), EMPTY(8)),
	    PIECES(NONE(0, 8), NONE(8, 8)), .is_absent = true),
	ROW("a piece of no bytes is left out",
	    OPS(OP(reg1, 0, 0), EMPTY(0), OP(reg2, 0, 0), EMPTY(8)),
	    PIECES(REGISTER(2, 0, 8))),
	ROW("fbreg, deref: moved to the heap", OPS(FBREG(-40), OP(deref, 0, 0)),
	    PIECES(AT_CFA(-40, 0, 0)), .is_indirect = true),
	ROW("deref twice is unknown",
	    OPS(FBREG(-40), OP(deref, 0, 0), OP(deref, 0, 0)),
	    PIECES(PIECE(UNKNOWN, 0, -40, 0, 0))),
	ROW("deref of nothing is unknown", OPS(OP(deref, 0, 0)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 0))),
	ROW("an indirect piece is unknown",
	    OPS(FBREG(-40), OP(deref, 0, 0), EMPTY(8)),
	    PIECES(PIECE(UNKNOWN, 0, -40, 0, 8))),
	ROW("a computed value is unknown",
	    OPS(OP(lit5, 0, 0), OP(stack_value, 0, 0)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 0))),
	ROW("two locations in one part are unknown",
	    OPS(OP(reg1, 0, 0), OP(reg2, 0, 0)),
	    PIECES(PIECE(UNKNOWN, 2, 0, 0, 0))),
	ROW("a register of 24 bytes is unknown", OPS(OP(reg2, 0, 0), EMPTY(24)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 24))),
	ROW("fit: pieces that fit stay",
	    OPS(OP(reg3, 0, 0), EMPTY(8), OP(reg3, 0, 0), EMPTY(8)),
	    PIECES(REGISTER(3, 0, 8), REGISTER(3, 8, 8)), .fit_bytes = 16),
	ROW("fit: pieces written twice become one",
	    OPS(FBREG(8), EMPTY(8), FBREG(8), EMPTY(8), FBREG(16), EMPTY(8),
		FBREG(16), EMPTY(8)),
	    PIECES(AT_CFA(8, 0, 8), AT_CFA(16, 8, 8)), .fit_bytes = 16),
	ROW("fit: what goes past the end is cut",
	    OPS(FBREG(8), EMPTY(8), FBREG(16), EMPTY(16), FBREG(32), EMPTY(8)),
	    PIECES(AT_CFA(8, 0, 8), AT_CFA(16, 8, 8)), .fit_bytes = 16),
	ROW("pieces past 4 GiB end in an unknown one",
	    OPS(OP(reg0, 0, 0), OP(piece, UINT64_MAX, 0), OP(reg1, 0, 0),
		EMPTY(8)),
	    PIECES(PIECE(UNKNOWN, 0, 0, 0, 0))),
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
