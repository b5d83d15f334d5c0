// SPDX-License-Identifier: Apache-2.0
/* Names by type and offset. */
#include "goruntime/types/word.h"
#include "type_table.h"

/* A value's word: its offset, its name, its type, the offset in the field. */
struct word_case {
	const char *name;
	gr_type_id (*make)(struct fixture *f);
	uint64_t off;
	const char *want, *type;
	uint64_t rest;
	bool is_nameless;
};

static gr_type_id make_int(struct fixture *f)
{
	(void)f;
	return T_INT;
}

static gr_type_id make_any(struct fixture *f)
{
	(void)f;
	return T_EFACE;
}

/* struct { flag uint8; Base struct { id, next }; rows [3]pair; text; zero } */
static gr_type_id make_record(struct fixture *f)
{
	gr_type_id empty = ADD_STRUCT(f, "main.Empty", 0, { "_", 0, T_INT });
	f->types->types.data[empty].nfields = 0;
	gr_type_id base = ADD_STRUCT(f, "main.Base", 16, { "id", 0, T_INT },
				     { "next", 8, T_INT_PTR });
	gr_type_id pair = ADD_STRUCT(f, "main.Pair", 24, { "any", 0, T_EFACE },
				     { "byte", 16, T_BYTE });
	gr_type_id rows = add_array(f, "[3]main.Pair", 72, pair, 3);

	return ADD_STRUCT(f, "main.Record", 120, { "flag", 0, T_BYTE },
			  { "zero", 8, empty }, { "Base", 8, base },
			  { "rows", 24, rows }, { "text", 96, T_STRING },
			  { "last", 112, empty });
}

static gr_type_id make_grid(struct fixture *f)
{
	gr_type_id row = add_array(f, "[5]*int", 40, T_INT_PTR, 5);

	return add_array(f, "[1000000000][5]*int", UINT64_C(40000000000), row,
			 1000000000);
}

/* As captures of a closure, or members of a C union. */
static gr_type_id make_unsorted(struct fixture *f)
{
	return ADD_STRUCT(f, "main.f.func1", 32, { "b", 24, T_INT_PTR },
			  { "a", 8, T_SLICE }, { "c", 8, T_INT });
}

static gr_type_id make_atomic_field(struct fixture *f)
{
	gr_type_id none = add_array(f, "[0]*int", 0, T_INT_PTR, 0);
	gr_type_id id = ADD_STRUCT(f, "sync/atomic.Pointer[int]", 8,
				   { "_", 0, none }, { "v", 0, T_UNSAFE });

	return ADD_STRUCT(f, "main.A", 16, { "n", 0, T_INT }, { "p", 8, id });
}

static gr_type_id make_bare_array(struct fixture *f)
{
	return add_array(f, "[4]?", 32, NONE, 4);
}

static gr_type_id make_zero_array(struct fixture *f)
{
	gr_type_id empty = add_array(f, "[0]int", 0, T_INT, 0);

	return add_array(f, "[9][0]int", 8, empty, 9);
}

/* A struct that is its own first field. */
static gr_type_id make_endless(struct fixture *f)
{
	return ADD_STRUCT(f, "main.Endless", 8,
			  { "e", 0, f->types->types.size });
}

/* An array that is its own only element. */
static gr_type_id make_endless_array(struct fixture *f)
{
	gr_type_id id = add_array(f, "[1]?", 8, NONE, 1);

	f->types->types.data[id].elem = id;
	return id;
}

static gr_type_id make_wild_field(struct fixture *f)
{
	return ADD_STRUCT(f, "main.Wild", 16,
			  { "far", UINT64_MAX - 4, T_STRING },
			  { "near", 8, T_INT });
}

#define E ".e.e.e.e.e.e.e.e"
#define I "[0][0][0][0][0][0][0][0]"

static const struct word_case word_cases[] = {
	{ "no parts", make_int, 0, "", "int", 0, false },
	{ "past a value without parts", make_int, 8, "+0x8", "int", 8, true },
	{ "the pointer of an interface", make_any, 8, "", "interface {}", 8,
	  false },
	{ "the first field", make_record, 0, ".flag", "uint8", 0, false },
	{ "padding", make_record, 1, "+0x1", "main.Record", 1, true },
	{ "behind an empty field", make_record, 8, ".Base.id", "int", 0,
	  false },
	{ "in an embedded struct", make_record, 16, ".Base.next", "*int", 0,
	  false },
	{ "an interface in an array", make_record, 56, ".rows[1].any",
	  "interface {}", 8, false },
	{ "padding in an array", make_record, 88 + 1, ".rows[2]+0x11",
	  "main.Pair", 17, true },
	{ "the length of a string", make_record, 104, ".text", "string", 8,
	  false },
	{ "an empty field at the end", make_record, 112, "+0x70", "main.Record",
	  112, true },
	{ "past the end", make_record, 120, "+0x78", "main.Record", 120, true },
	{ "far past the end", make_record, UINT64_MAX, "+0xffffffffffffffff",
	  "main.Record", UINT64_MAX, true },
	{ "an array of arrays", make_grid, UINT64_C(39999999992),
	  "[999999999][4]", "*int", 0, false },
	{ "past an array", make_grid, UINT64_C(40000000000), "+0x9502f9000",
	  "[1000000000][5]*int", UINT64_C(40000000000), true },
	{ "fields in any order", make_unsorted, 24, ".b", "*int", 0, false },
	{ "a slice before it", make_unsorted, 16, ".a", "[]int", 8, false },
	{ "the code of a closure", make_unsorted, 0, "+0x0", "main.f.func1", 0,
	  true },
	{ "an atomic pointer", make_atomic_field, 8, ".p",
	  "sync/atomic.Pointer[int]", 0, false },
	{ "unknown elements", make_bare_array, 8, "+0x8", "[4]?", 8, true },
	{ "elements without bytes", make_zero_array, 0, "+0x0", "[9][0]int", 0,
	  true },
	{ "a struct in itself", make_endless, 0, E E E E E E E E "+0x0",
	  "main.Endless", 0, true },
	{ "an array in itself", make_endless_array, 0, I I I I I I I I "+0x0",
	  "[1]?", 0, true },
	{ "a field at the end of all addresses", make_wild_field, 0, "+0x0",
	  "main.Wild", 0, true },
	{ "the field behind that one", make_wild_field, 8, ".near", "int", 0,
	  false },
};

TEST_F_ROWS(words, word_cases, c)
{
	struct gr_type_word word;
	char data[1024];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	gr_type_id id = c->make(f);
	assert_null(gr_types_name_word(f->types, id, c->off, &text, &word));
	assert_string_equal(data, c->want);
	assert_string_equal(gr_types_get(f->types, word.type)->name, c->type);
	assert_int_equal(word.off_bytes, c->rest);
	assert_int_equal(word.is_nameless, c->is_nameless);
}

static struct gr_error *refuse(void *ctx)
{
	++*(unsigned int *)ctx;
	return gr_error_format(GR_ERROR_INTERRUPTED, "enough");
}

/* A tower of structs with many fields: it is the last one each time. */
TEST_F(tower)
{
	enum { FIELDS = 1 << 16, LEVELS = 60 };
	struct gr_type_field *fields = calloc(FIELDS, sizeof(*fields));
	unsigned int npolls = 0;
	struct gr_type_word word;
	char data[64];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	gr_type_id id = T_INT_PTR;

	assert_non_null(fields);
	for (unsigned int i = 0; i < FIELDS; i++)
		fields[i] = (struct gr_type_field){ "f", i, T_BYTE };
	for (unsigned int i = 0; i < LEVELS; i++) {
		fields[FIELDS - 1] =
			(struct gr_type_field){ "last", FIELDS, id };
		uint64_t bytes = gr_types_get(f->types, id)->size_bytes;
		id = add_fields(f, "main.Level", FIELDS + bytes, fields,
				FIELDS);
	}
	free(fields);
	assert_null(gr_types_name_word(f->types, id, FIELDS * LEVELS, &text,
				       &word));
	assert_string_equal(data, ".last.last.last.last.last.last.last.last."
				  "last.last.last.last...");
	assert_int_equal(word.type, T_INT_PTR);
	assert_int_equal(word.off_bytes, 0);
	// Ctrl-C ends it between two levels.
	f->rt.poll = refuse;
	f->rt.poll_ctx = &npolls;
	struct gr_error *err =
		gr_types_name_word(f->types, id, FIELDS * LEVELS, &text, &word);
	assert_non_null(err);
	assert_int_equal(npolls, 1);
	gr_error_destroy(err);
}

/* Offsets of all bytes: each name leads back to its offset. */
TEST_F(every_byte)
{
	gr_type_id id = make_record(f);

	for (uint64_t off = 0; off < 130; off++) {
		struct gr_type_word word;
		char data[64];
		struct gr_text text = gr_text_begin(data, sizeof(data));

		assert_null(
			gr_types_name_word(f->types, id, off, &text, &word));
		assert_true(word.off_bytes <= off);
		const struct gr_type *type = gr_types_get(f->types, word.type);
		assert_int_equal(word.is_nameless, strchr(data, '+') != NULL);
		assert_true(word.is_nameless ||
			    word.off_bytes < type->size_bytes);
	}
}

GR_SUITE("word")
