// SPDX-License-Identifier: Apache-2.0
/*
 * Slot plans of types that make no sense, or too much of it: whatever the
 * table says, no slot reads outside of the value, and compiling ends.
 */
#include "mark/type_plan.h"

#include "goruntime/types/map_shape.h"
#include "polls.h"
#include "type_table.h"

static gr_type_id make_field_outside(struct fixture *f)
{
	return ADD_STRUCT(f, "main.Bad", 16, { "A", 0, T_INT_PTR },
			  { "B", 16, T_INT_PTR }, { "C", 12, T_INT_PTR },
			  { "D", UINT64_MAX - 7, T_INT_PTR },
			  { "E", 8, T_INT_PTR }, { "F", 8, T_STRING });
}

static gr_type_id make_odd_offset(struct fixture *f)
{
	return ADD_STRUCT(f, "main.Odd", 24, { "A", 4, T_INT_PTR },
			  { "B", 16, T_INT_PTR });
}

static gr_type_id make_short_type(struct fixture *f, const char *name,
				  uint8_t kind, uint64_t size)
{
	return add(f, name, kind, size, T_INT);
}

static gr_type_id make_short_pointer(struct fixture *f)
{
	return make_short_type(f, "*int", GR_KIND_PTR, 4);
}

static gr_type_id make_short_string(struct fixture *f)
{
	return make_short_type(f, "string", GR_KIND_STRING, 0);
}

static gr_type_id make_short_slice(struct fixture *f)
{
	return make_short_type(f, "[]int", GR_KIND_SLICE, 8);
}

static gr_type_id make_short_interface(struct fixture *f)
{
	return make_short_type(f, "interface {}", GR_KIND_INTERFACE, 8);
}

static gr_type_id make_short_slice_last(struct fixture *f)
{
	gr_type_id slice = make_short_slice(f);

	return ADD_STRUCT(f, "main.Bad", 16, { "A", 0, T_INT },
			  { "B", 8, slice });
}

static gr_type_id make_short_map(struct fixture *f)
{
	return make_short_type(f, "map[int]int", GR_KIND_MAP, 0);
}

static gr_type_id make_empty_atomic(struct fixture *f)
{
	gr_type_id atomic = make_atomic(f, "sync/atomic.Pointer[int]", 0);

	// The word before it belongs to somebody else.
	return ADD_STRUCT(f, "main.Bad", 16, { "A", 0, T_INT },
			  { "B", 8, atomic });
}

static gr_type_id make_trie_outside(struct fixture *f)
{
	return ADD_STRUCT(f,
			  "internal/sync.HashTrieMap[interface {},"
			  "interface {}]",
			  16, { "inited", 0, T_INT },
			  { "root", 800, T_UNSAFE });
}

static gr_type_id make_short_pool(struct fixture *f)
{
	f->plans.pool_local = T_INT;
	return ADD_STRUCT(f, "sync.Pool", 8, { "local", 0, T_UNSAFE });
}

static gr_type_id make_turned_pool_entry(struct fixture *f)
{
	f->plans.any = T_EFACE;
	return ADD_STRUCT(f, "sync.eface", 16, { "val", 0, T_UNSAFE },
			  { "typ", 8, T_UNSAFE });
}

static gr_type_id make_short_reflect_value(struct fixture *f)
{
	f->plans.any = T_EFACE;
	return ADD_STRUCT(f, "reflect.Value", 16, { "typ_", 0, T_INT_PTR },
			  { "ptr", 8, T_UNSAFE });
}

static gr_type_id make_array_too_long(struct fixture *f)
{
	gr_type_id list = add_array(f, "[100]*int", 16, T_INT_PTR, 100);
	gr_type_id few = add_array(f, "[3]*int", 16, T_INT_PTR, 3);
	gr_type_id wraps = add_array(f, "[...]*int", 16, T_INT_PTR,
				     (UINT64_C(1) << 61) + 2);

	return ADD_STRUCT(f, "main.Bad", 56, { "A", 0, list }, { "B", 16, few },
			  { "C", 32, wraps }, { "D", 48, T_INT_PTR });
}

static gr_type_id make_array_of_unknown(struct fixture *f)
{
	return add_array(f, "[4]?", 32, NONE, 4);
}

static gr_type_id make_array_of_empty(struct fixture *f)
{
	gr_type_id empty = add_fields(f, "struct {}", 0, NULL, 0);

	return add_array(f, "[...]struct {}", 0, empty, UINT64_MAX);
}

static gr_type_id make_struct_of_itself(struct fixture *f)
{
	gr_type_id self = f->types->types.size;

	return ADD_STRUCT(f, "main.Self", 16, { "A", 0, self },
			  { "B", 0, self }, { "C", 8, T_INT });
}

static gr_type_id make_array_of_itself(struct fixture *f)
{
	gr_type_id self = f->types->types.size;

	return add_array(f, "[1]self", 8, self, 1);
}

/* A struct of `depth` structs around one pointer. */
static gr_type_id make_deep(struct fixture *f, int depth)
{
	gr_type_id id = T_INT_PTR;

	for (int i = 0; i < depth; i++)
		id = ADD_STRUCT(f, "S", 8, { "f", 0, id });
	return id;
}

static gr_type_id make_too_deep(struct fixture *f)
{
	gr_type_id deep = make_deep(f, 100);

	return ADD_STRUCT(f, "main.D", 16, { "Deep", 0, deep },
			  { "P", 8, T_INT_PTR });
}

static gr_type_id make_far(struct fixture *f)
{
	const uint64_t size = UINT64_C(1) << 34;

	return ADD_STRUCT(f, "main.Far", size, { "A", 0, T_INT_PTR },
			  { "B", size - 8, T_INT_PTR });
}

static const struct program_case damaged_cases[] = {
	{ "damaged: fields outside of the struct", make_field_outside,
	  "0 pointer int: A. (*int);\n1 pointer int: E. (*int);\n" },
	{ "damaged: pointer at an odd offset", make_odd_offset,
	  "2 pointer int: B. (*int);\n" },
	{ "damaged: pointer of four bytes", make_short_pointer, NULL },
	{ "damaged: string of no bytes", make_short_string, NULL },
	{ "damaged: slice of one word", make_short_slice, NULL },
	{ "damaged: slice of one word at the end", make_short_slice_last,
	  NULL },
	{ "damaged: interface of one word", make_short_interface, NULL },
	{ "damaged: map of no bytes", make_short_map, NULL },
	{ "damaged: atomic.Pointer of no bytes", make_empty_atomic, "" },
	{ "damaged: root outside of the hash trie", make_trie_outside, NULL },
	{ "damaged: sync.Pool without lengths", make_short_pool, NULL },
	{ "damaged: entry of a sync.Pool, turned", make_turned_pool_entry,
	  NULL },
	{ "damaged: reflect.Value without flags", make_short_reflect_value,
	  NULL },
	{ "damaged: arrays longer than their size", make_array_too_long,
	  "6 pointer int: D. (*int);\n" },
	{ "damaged: array of an unknown type", make_array_of_unknown, "" },
	{ "damaged: 2^64 elements of no bytes", make_array_of_empty, "" },
	{ "damaged: struct that holds itself", make_struct_of_itself, "" },
	{ "damaged: array that holds itself", make_array_of_itself, "" },
	{ "types deeper than the limit are left out", make_too_deep,
	  "1 pointer int: P. (*int);\n" },
	{ "words farther than the limit are left out", make_far,
	  "0 pointer int: A. (*int);\n" },
};

TEST_F_ROWS(damaged, damaged_cases, c)
{
	check_type_plan(f, c);
}

// ------------------------------------------------------------------ limits

TEST_F(depth_within_the_limit)
{
	const struct gr_type_plan *p =
		gr_type_plan_get(&f->plans, make_deep(f, 30));

	assert_int_equal(p->nslots, 1);
	assert_int_equal(p->nsteps, 30);
	assert_inside(f, p);
}

/* The slots of one plan are limited; the rest is left to the masks. */
TEST_F(too_many_slots)
{
	enum { NFIELDS = 20000 };
	struct gr_type_field *fields = calloc(NFIELDS, sizeof(*fields));

	assert_non_null(fields);
	for (size_t i = 0; i < NFIELDS; i++)
		fields[i] = (struct gr_type_field){ "f", i * 8, T_INT_PTR };
	gr_type_id id =
		add_fields(f, "main.Wide", NFIELDS * 8, fields, NFIELDS);
	free(fields);
	const struct gr_type_plan *p = gr_type_plan_get(&f->plans, id);
	assert_non_null(p);
	assert_true(p->nslots >= 1000 && p->nslots < NFIELDS);
	assert_inside(f, p);
}

/* Two to the power of many structs: the compiler must come to an end. */
TEST_F(exponential_struct)
{
	gr_type_id id = T_INT;

	for (int i = 0; i < 39; i++)
		id = ADD_STRUCT(f, "S", 8, { "a", 0, id }, { "b", 0, id });
	const struct gr_type_plan *p = gr_type_plan_get(&f->plans, id);
	assert_non_null(p);
	assert_true(gr_type_plan_is_empty(p));
}

/* Levels of structs of two structs each, around @p leaf at offset @p off. */
static gr_type_id make_tower(struct fixture *f, gr_type_id leaf, uint64_t off,
			     uint64_t bytes)
{
	gr_type_id id = ADD_STRUCT(f, "L", bytes, { "l", off, leaf });

	for (int i = 0; i < 24; i++)
		id = ADD_STRUCT(f, "S", bytes, { "a", 0, id }, { "b", 0, id });
	return id;
}

/* Many types that hold a tower: what is visited in all of them is in
 * proportion to the types, not 2^20 for each. */
static void check_towers(struct fixture *f, gr_type_id tower)
{
	enum { NTYPES = 100, VISITS = 64, SPARE = 1 << 20 };
	uint64_t size = gr_types_get(f->types, tower)->size_bytes;

	for (int i = 0; i < NTYPES; i++) {
		gr_type_id id = ADD_STRUCT(f, "T", size, { "t", 0, tower });

		const struct gr_type_plan *p = gr_type_plan_get(&f->plans, id);
		assert_non_null(p);
		assert_inside(f, p);
	}
	assert_in_range(f->plans.visited, NTYPES,
			SPARE + VISITS * (f->types->types.size +
					  f->types->fields.size));
}

/* Nothing but numbers: the tower is gone through once. */
TEST_F(tower_of_numbers)
{
	check_towers(f, make_tower(f, T_INT, 0, 8));
	assert_in_range(f->plans.visited, 100, 1000);
}

/* Pointers, all in the same place. */
TEST_F(tower_of_pointers)
{
	check_towers(f, make_tower(f, T_INT_PTR, 0, 8));
}

/* Pointers that no slot is made of. */
TEST_F(tower_of_odd_pointers)
{
	check_towers(f, make_tower(f, T_INT_PTR, 4, 16));
}

/* A struct of numbers that shares its fields with others, as typedefs do. */
static gr_type_id share_fields(struct fixture *f, gr_type_id first)
{
	gr_type_id id = add(f, "W", GR_KIND_STRUCT, 8, NONE);
	struct gr_type *types = f->types->types.data;

	types[id].first_field = types[first].first_field;
	types[id].nfields = types[first].nfields;
	return id;
}

/* A struct of many structs that share many fields: to go through them all would
 * take NSTRUCTS times NFIELDS. */
static gr_type_id make_shared(struct fixture *f)
{
	enum { NSTRUCTS = 20000, NFIELDS = 20000 };
	struct gr_type_field *fields = calloc(NFIELDS, sizeof(*fields));

	assert_non_null(fields);
	for (size_t i = 0; i < NFIELDS; i++)
		fields[i] = (struct gr_type_field){ "f", 0, T_BYTE };
	gr_type_id first = add_fields(f, "W", 8, fields, NFIELDS);
	fields[0].type = first;
	for (size_t i = 1; i < NSTRUCTS; i++)
		fields[i].type = share_fields(f, first);
	gr_type_id id = add_fields(f, "T", 8, fields, NSTRUCTS);
	free(fields);
	return id;
}

TEST_F(shared_fields)
{
	// The last visit may have a long name.
	enum { VISITS = 64, SPARE = (1 << 20) + 1000 };
	const struct gr_type_plan *p =
		gr_type_plan_get(&f->plans, make_shared(f));

	assert_non_null(p);
	assert_inside(f, p);
	assert_in_range(f->plans.visited, 20000,
			SPARE + VISITS * (f->types->types.size +
					  f->types->fields.size));
}

/* Poll ends it within one type. */
TEST_F(shared_fields_interrupted)
{
	gr_type_id shared = make_shared(f);
	struct polls polls;

	polls_set(&polls, &f->rt, 3);
	assert_null(gr_type_plan_get(&f->plans, shared));
	polls_check_ended(&polls, steal_ptr(f->plans.err));
}

/* The names of the steps count, not only their number. */
TEST_F(long_names)
{
	enum { NFIELDS = 1000, NAME_BYTES = 4000 };
	struct gr_type_field fields[NFIELDS];
	char *names = calloc(NFIELDS, NAME_BYTES);

	assert_non_null(names);
	for (int i = 0; i < NFIELDS; i++) {
		char *name = names + (size_t)i * NAME_BYTES;

		memset(name, 'n', NAME_BYTES - 1);
		name[i] = 'm';
		fields[i] = (struct gr_type_field){ name, 0, T_INT_PTR };
	}
	const struct gr_type_plan *p = gr_type_plan_get(
		&f->plans, add_fields(f, "L", 8, fields, NFIELDS));
	assert_non_null(p);
	assert_true(f->plans.visited > NFIELDS * NAME_BYTES / 64);
	free(names);
}

// --------------------------------------------------------- shapes of maps

/* The offset of the elements in a group of a map of bytes to @p elem. */
static uint64_t find_elem(struct fixture *f, gr_type_id elem)
{
	struct gr_layout layout = { .swiss_map.size_bytes = 48,
				    .consts = { .map_max_key = 128,
						.map_max_elem = 128 } };
	struct gr_map_shape shape;
	struct gr_type map = {
		.kind = GR_KIND_MAP, .key = T_BYTE, .elem = elem, .header = NONE
	};

	assert_null(gr_map_find_shape(&layout, f->types, &map, &shape));
	return shape.elem.off_bytes - GR_WORD_BYTES;
}

TEST_F(maps_of_structs)
{
	gr_type_id half = add(f, "int32", 5, 4, NONE);
	gr_type_id list = add_array(f, "[3]int32", 12, half, 3);

	assert_int_equal(find_elem(f, T_BYTE), 1);
	assert_int_equal(find_elem(f, half), 4);
	assert_int_equal(find_elem(f, T_STRING), 8);
	assert_int_equal(find_elem(f, add(f, "complex64", 15, 8, NONE)), 4);
	assert_int_equal(find_elem(f, ADD_STRUCT(f, "S", 16, { "l", 0, list },
						 { "b", 12, T_BYTE })),
			 4);
	assert_int_equal(find_elem(f, ADD_STRUCT(f, "W", 16, { "b", 0, T_BYTE },
						 { "p", 8, T_INT_PTR })),
			 8);
	// Again: it is kept.
	assert_int_equal(find_elem(f, half), 4);
}

/* Structs that hold the next one twice: each is looked into once. */
TEST_F(maps_of_towers)
{
	gr_type_id id = T_BYTE;

	for (int i = 0; i < 60; i++)
		id = ADD_STRUCT(f, "S", 8, { "a", 0, id }, { "b", 0, id });
	assert_int_equal(find_elem(f, id), 1);
	assert_int_equal(f->types->align_visits, 120);
	assert_int_equal(find_elem(f, make_struct_of_itself(f)), 8);
	assert_int_equal(find_elem(f, make_array_of_itself(f)), 1);
	// The depth does not matter.
	assert_int_equal(find_elem(f, make_deep(f, 10000)), 8);
}

TEST_F(maps_of_shared_fields)
{
	enum { VISITS = 64, SPARE = 1 << 20 };

	find_elem(f, make_shared(f));
	assert_in_range(f->types->align_visits, 20000,
			SPARE + VISITS * (f->types->types.size +
					  f->types->fields.size));
}

/* A shape that was found before poll refused does not count. */
TEST_F(maps_interrupted)
{
	gr_type_id shared = make_shared(f);
	struct gr_layout layout = { .swiss_map.size_bytes = 48 };
	struct gr_type map = { .kind = GR_KIND_MAP,
			       .key = T_BYTE,
			       .elem = shared,
			       .header = NONE };
	struct gr_map_shape shape;
	struct polls polls;

	layout.consts.map_max_key = layout.consts.map_max_elem = 128;
	polls_set(&polls, &f->rt, 3);
	polls_check_ended(&polls,
			  gr_map_find_shape(&layout, f->types, &map, &shape));
	assert_int_equal(gr_types_get(f->types, shared)->align, 0);
}

/* Poll ends it within the next type. */
TEST_F(interrupted)
{
	f->rt.poll = suite_refuse;
	assert_null(
		gr_type_plan_get(&f->plans, make_tower(f, T_INT_PTR, 0, 8)));
	assert_non_null(f->plans.err);
	assert_int_equal(f->plans.err->code, GR_ERROR_INTERRUPTED);
}

TEST_F(direct_of_itself)
{
	const struct gr_type_plan *p;

	p = gr_type_plan_get(&f->plans, make_struct_of_itself(f));
	assert_true(p && !p->is_direct);
	p = gr_type_plan_get(&f->plans, make_array_of_itself(f));
	assert_true(p && !p->is_direct);
}

GR_SUITE("damaged types")
