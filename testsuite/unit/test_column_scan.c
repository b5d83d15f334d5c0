// SPDX-License-Identifier: Apache-2.0
/* Fields with one value. */
#include "waste/checks/column_scan.h"

#include "type_table.h"

#define FIXTURE struct fixture *f, setup, teardown

/* As the struct in Go that make_record() describes. */
struct record {
	uint64_t id;
	struct {
		uint8_t flag, more;
		uint64_t zero;
	} in;
	uint8_t padding[8], mutex[8];
	uint64_t one[2];
};

/* struct { id; in struct { flag; more; zero }; _; mu sync.Mutex; one [2]int } */
static gr_type_id make_record(struct fixture *f)
{
	gr_type_id in = ADD_STRUCT(f, "main.In", 16, { "flag", 0, T_BYTE },
				   { "more", 1, T_BYTE }, { "zero", 8, T_INT });
	gr_type_id mutex =
		ADD_STRUCT(f, "sync.Mutex", 8, { "state", 0, T_INT });
	gr_type_id two = add_array(f, "[2]int", 16, T_INT, 2);

	return ADD_STRUCT(f, "main.T", 56, { "id", 0, T_INT }, { "in", 8, in },
			  { "_", 24, T_INT }, { "mu", 32, mutex },
			  { "one", 40, two });
}

static struct gr_columns *make_columns(struct fixture *f)
{
	struct gr_columns *columns;

	assert_null(gr_columns_create(f->types, make_record(f), &columns));
	assert_non_null(columns);
	return columns;
}

static void look(struct gr_columns *columns, const struct record *record)
{
	gr_columns_look(columns, (const uint8_t *)record);
}

/* The fields with one value. */
static const char *names(const struct gr_columns *columns, char *data,
			 size_t bytes, bool *is_zero)
{
	struct gr_text text = gr_text_begin(data, bytes);

	*is_zero = gr_columns_name(columns, &text);
	return data;
}

TEST_F(fields)
{
	struct gr_columns *columns = make_columns(f);
	char data[100];
	bool is_zero;

	for (unsigned int i = 0; i < 10; i++) {
		struct record r = { .id = i, .one = { 7, 8 } };

		r.in.flag = i % 2;
		look(columns, &r);
	}
	assert_int_equal(columns->objects, 10);
	// id, in { flag }, _ and mu are left.
	assert_int_equal(gr_columns_settle(columns), 32);
	assert_string_equal(names(columns, data, sizeof(data), &is_zero),
			    ".one, .in.more, .in.zero");
	assert_false(is_zero);
	gr_columns_destroy(columns);
}

TEST_F(whole_structs)
{
	struct gr_columns *columns = make_columns(f);
	char data[100];
	bool is_zero;

	for (unsigned int i = 0; i < 10; i++) {
		const struct record r = { .id = i, .one = { i, 0 } };

		look(columns, &r);
	}
	assert_int_equal(gr_columns_settle(columns), 40);
	assert_string_equal(names(columns, data, sizeof(data), &is_zero),
			    ".in");
	assert_true(is_zero);
	gr_columns_destroy(columns);
}

TEST_F(nothing)
{
	struct gr_columns *columns = make_columns(f);

	for (uint8_t i = 0; i < 2; i++) {
		struct record r;

		memset(&r, i + 1, sizeof(r));
		look(columns, &r);
	}
	assert_int_equal(columns->nequal, 0);
	assert_int_equal(gr_columns_settle(columns), 56);
	gr_columns_destroy(columns);
}

/* Padding and the types of package sync are no columns. */
TEST_F(only_fixed)
{
	gr_type_id mutex =
		ADD_STRUCT(f, "sync.Mutex", 8, { "state", 0, T_INT });
	gr_type_id id = ADD_STRUCT(f, "main.T", 16, { "_", 0, T_INT },
				   { "mu", 8, mutex });
	struct gr_columns *columns;

	assert_null(gr_columns_create(f->types, id, &columns));
	assert_null(columns);
}

/* A struct of another package is one column; one without a name is not. */
TEST_F(other_packages)
{
	gr_type_id theirs = ADD_STRUCT(f, "time.Time", 16, { "wall", 0, T_INT },
				       { "ext", 8, T_INT });
	gr_type_id nameless = ADD_STRUCT(f, "struct { X int; Y int }", 16,
					 { "X", 0, T_INT }, { "Y", 8, T_INT });
	gr_type_id id = ADD_STRUCT(f, "main.T", 40, { "id", 0, T_INT },
				   { "at", 8, theirs }, { "p", 24, nameless });
	struct gr_columns *columns;
	uint64_t words[5] = { 0 };
	char data[100];
	bool is_zero;

	assert_null(gr_columns_create(f->types, id, &columns));
	for (uint64_t i = 0; i < 2; i++) {
		words[0] = words[1] = words[3] = i;
		gr_columns_look(columns, (const uint8_t *)words);
	}
	// All of at.ext is zero, but at is not.
	assert_int_equal(gr_columns_settle(columns), 32);
	assert_string_equal(names(columns, data, sizeof(data), &is_zero),
			    ".p.Y");
	assert_true(is_zero);
	gr_columns_destroy(columns);
}

/* A struct with more fields than there are columns is one column. */
TEST_F(many_fields)
{
	static struct gr_type_field fields[GR_MAX_COLUMNS];
	struct gr_columns *columns;

	for (uint32_t i = 0; i < GR_MAX_COLUMNS; i++)
		fields[i] = (struct gr_type_field){ "f", i, T_BYTE };
	gr_type_id wide = add_fields(f, "main.Wide", GR_MAX_COLUMNS, fields,
				     GR_MAX_COLUMNS);
	gr_type_id id = ADD_STRUCT(f, "main.T", GR_MAX_COLUMNS + 8,
				   { "id", 0, T_INT }, { "wide", 8, wide });

	assert_null(gr_columns_create(f->types, wide, &columns));
	assert_null(columns);
	assert_null(gr_columns_create(f->types, id, &columns));
	assert_int_equal(columns->ncolumns, 3);
	gr_columns_destroy(columns);
}

GR_SUITE("column_scan")
