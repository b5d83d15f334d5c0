// SPDX-License-Identifier: Apache-2.0
/* Sizes of structs, and which of them can be changed. */
#include "waste/checks/struct_layout.h"

#include "type_table.h"

enum { MAX_FIELDS = 6 };

/* Fields as the compiler has them: bytes and alignment. */
struct order_case {
	const char *name;
	struct {
		uint64_t bytes, align;
	} fields[MAX_FIELDS];
	uint64_t now, best;
};

// By unsafe.Sizeof() of such structs.
static const struct order_case orders[] = {
	{ "no fields", { { 0 } }, 0, 0 },
	{ "one byte", { { 1, 1 } }, 1, 1 },
	{ "holes", { { 1, 1 }, { 8, 8 }, { 1, 1 }, { 8, 8 } }, 32, 24 },
	{ "a hole at the end", { { 8, 8 }, { 4, 4 } }, 16, 16 },
	{ "small ones", { { 1, 1 }, { 4, 4 }, { 2, 2 } }, 12, 8 },
	{ "an empty field at the end", { { 8, 8 }, { 0, 1 } }, 16, 8 },
	{ "an empty field aligns", { { 4, 4 }, { 0, 8 }, { 1, 1 } }, 16, 8 },
	{ "only empty fields", { { 0, 8 }, { 0, 1 } }, 0, 0 },
	{ "strings", { { 1, 1 }, { 16, 8 }, { 2, 2 }, { 16, 8 } }, 48, 40 },
};

TEST_ROWS(orders, orders, c)
{
	struct gr_struct_layout layout = { 0 };

	for (int i = 0; i < MAX_FIELDS && c->fields[i].align; i++)
		gr_struct_layout_add(&layout, c->fields[i].bytes,
				     c->fields[i].align);
	assert_int_equal(gr_struct_layout_bytes(&layout), c->now);
	assert_int_equal(gr_struct_layout_best(&layout), c->best);
	assert_false(layout.is_odd);
}

#define FIXTURE struct fixture *f, setup, teardown

TEST_F(layout_of_a_type)
{
	struct gr_struct_layout layout;
	bool is_ours;
	gr_type_id inner = ADD_STRUCT(f, "main.In", 2, { "a", 0, T_BYTE },
				      { "b", 1, T_BYTE });
	gr_type_id id = ADD_STRUCT(f, "main.T", 32, { "a", 0, inner },
				   { "b", 8, T_STRING }, { "c", 24, T_BYTE });

	assert_null(gr_struct_layout_of(f->types, id, &layout, &is_ours));
	assert_true(is_ours);
	assert_int_equal(gr_struct_layout_best(&layout), 24);
}

/* A struct of C may be packed, and a field of unknown type is not listed. */
TEST_F(layout_of_others)
{
	struct gr_struct_layout layout;
	bool is_ours;
	gr_type_id packed = ADD_STRUCT(f, "main.P", 9, { "a", 0, T_BYTE },
				       { "b", 1, T_INT });
	gr_type_id gap = ADD_STRUCT(f, "main.G", 24, { "a", 0, T_INT },
				    { "c", 16, T_INT });
	gr_type_id large = ADD_STRUCT(f, "main.L", 64, { "a", 0, T_INT });
	gr_type_id small = ADD_STRUCT(f, "main.S", 8, { "a", 0, T_STRING });

	assert_null(gr_struct_layout_of(f->types, packed, &layout, &is_ours));
	assert_false(is_ours);
	assert_null(gr_struct_layout_of(f->types, gap, &layout, &is_ours));
	assert_false(is_ours);
	assert_null(gr_struct_layout_of(f->types, large, &layout, &is_ours));
	assert_false(is_ours);
	assert_null(gr_struct_layout_of(f->types, small, &layout, &is_ours));
	assert_false(is_ours);
}

struct owner_case {
	const char *name;
	bool can_change;
};

static const struct owner_case owners[] = {
	{ "main.T", true },
	{ "example.com/internal/x.T", true },
	{ "struct { a int }", true },
	{ "main._Ctype_struct_x", false },
};

TEST_F_ROWS(owners, owners, c)
{
	gr_type_id id = ADD_STRUCT(f, c->name, 8, { "a", 0, T_INT });

	assert_int_equal(gr_struct_can_change(gr_types_get(f->types, id)),
			 c->can_change);
	assert_false(gr_struct_can_change(gr_types_get(f->types, T_INT)));
}

GR_SUITE("struct_layout")
