// SPDX-License-Identifier: Apache-2.0
/* Slot plans: mark/type_plan.c over a table of types made by hand. */
#include "mark/type_plan.h"

#include "type_table.h"

static gr_type_id make_int(struct fixture *f)
{
	(void)f;
	return T_INT;
}

static gr_type_id make_pointer(struct fixture *f)
{
	(void)f;
	return T_INT_PTR;
}

static gr_type_id make_bare_pointer(struct fixture *f)
{
	(void)f;
	return T_BARE_PTR;
}

static gr_type_id make_string(struct fixture *f)
{
	(void)f;
	return T_STRING;
}

static gr_type_id make_slice(struct fixture *f)
{
	(void)f;
	return T_SLICE;
}

static gr_type_id make_bare_slice(struct fixture *f)
{
	(void)f;
	return T_BARE_SLICE;
}

static gr_type_id make_eface(struct fixture *f)
{
	(void)f;
	return T_EFACE;
}

static gr_type_id make_iface(struct fixture *f)
{
	(void)f;
	return T_IFACE;
}

static gr_type_id make_all_kinds(struct fixture *f)
{
	return ADD_STRUCT(f, "main.All", 144, { "I", 0, T_INT },
			  { "S", 8, T_STRING }, { "L", 24, T_SLICE },
			  { "E", 48, T_EFACE }, { "F", 64, T_IFACE },
			  { "M", 80, T_MAP }, { "C", 88, T_CHAN },
			  { "G", 96, T_FUNC }, { "U", 104, T_UNSAFE },
			  { "P", 112, T_INT_PTR }, { "L0", 120, T_BARE_SLICE });
}

static gr_type_id make_empty_struct(struct fixture *f)
{
	return add_fields(f, "struct {}", 0, NULL, 0);
}

static gr_type_id make_nested(struct fixture *f)
{
	gr_type_id inner = ADD_STRUCT(f, "main.Inner", 24, { "N", 0, T_INT },
				      { "P", 8, T_INT_PTR },
				      { "M", 16, T_INT });
	gr_type_id mid = ADD_STRUCT(f, "main.Mid", 32, { "A", 0, inner },
				    { "Q", 24, T_INT_PTR });

	return ADD_STRUCT(f, "main.Outer", 72, { "X", 0, T_INT },
			  { "Mid", 8, mid }, { "B", 40, inner },
			  { "S", 64, T_INT_PTR });
}

/* Steps of what holds no pointers do not stay. */
static gr_type_id make_steps_forgotten(struct fixture *f)
{
	gr_type_id plain = ADD_STRUCT(f, "main.Plain", 16, { "A", 0, T_INT },
				      { "B", 8, T_INT });

	return ADD_STRUCT(f, "main.Part", 40, { "A", 0, plain },
			  { "B", 16, plain }, { "P", 32, T_INT_PTR });
}

static gr_type_id make_short_array(struct fixture *f)
{
	return add_array(f, "[3]string", 48, T_STRING, 3);
}

static gr_type_id make_names_shared(struct fixture *f)
{
	return add_array(f, "[12]*int", 96, T_INT_PTR, 12);
}

static gr_type_id make_array_16(struct fixture *f)
{
	return add_array(f, "[16]*int", 128, T_INT_PTR, 16);
}

static gr_type_id make_array_17(struct fixture *f)
{
	return add_array(f, "[17]*int", 136, T_INT_PTR, 17);
}

static gr_type_id make_long_plain_array(struct fixture *f)
{
	return add_array(f, "[1000]int", 8000, T_INT, 1000);
}

static gr_type_id make_array_of_none(struct fixture *f)
{
	return add_array(f, "[0]*int", 0, T_INT_PTR, 0);
}

static gr_type_id make_huge_array(struct fixture *f)
{
	return add_array(f, "[1073741824]*int", UINT64_C(1) << 33, T_INT_PTR,
			 1 << 30);
}

static gr_type_id make_long_inside(struct fixture *f)
{
	gr_type_id part = ADD_STRUCT(f, "main.E", 16, { "K", 0, T_INT },
				     { "V", 8, T_INT_PTR });
	gr_type_id list = add_array(f, "[100]main.E", 1600, part, 100);

	return ADD_STRUCT(f, "main.Table", 1616, { "N", 0, T_INT },
			  { "Es", 8, list }, { "P", 1608, T_INT_PTR });
}

static gr_type_id make_long_of_long(struct fixture *f)
{
	gr_type_id row = add_array(f, "[20]*int", 160, T_INT_PTR, 20);

	return add_array(f, "[30][20]*int", 4800, row, 30);
}

static gr_type_id make_short_of_long(struct fixture *f)
{
	gr_type_id row = add_array(f, "[20]*int", 160, T_INT_PTR, 20);

	return add_array(f, "[2][20]*int", 320, row, 2);
}

static gr_type_id make_array_of_structs(struct fixture *f)
{
	gr_type_id part = ADD_STRUCT(f, "main.E", 16, { "K", 0, T_INT },
				     { "V", 8, T_INT_PTR });

	return add_array(f, "[2]main.E", 32, part, 2);
}

static gr_type_id make_node(struct fixture *f)
{
	gr_type_id pointer = add(f, "*main.Node", GR_KIND_PTR, 8, NFIXED + 1);

	return ADD_STRUCT(f, "main.Node", 24, { "Next", 0, pointer },
			  { "Val", 8, T_INT }, { "Prev", 16, pointer });
}

static gr_type_id make_atomic_pointer(struct fixture *f)
{
	gr_type_id atomic = make_atomic(f, "sync/atomic.Pointer[int]", 8);

	return ADD_STRUCT(f, "main.A", 16, { "N", 0, T_INT },
			  { "P", 8, atomic });
}

static gr_type_id make_internal_atomic(struct fixture *f)
{
	return make_atomic(f, "internal/runtime/atomic.Pointer[int]", 8);
}

static gr_type_id make_other_atomic(struct fixture *f)
{
	return make_atomic(f, "main.Pointer[int]", 8);
}

static gr_type_id make_closure(struct fixture *f)
{
	gr_type_id id = ADD_STRUCT(f, "main.run.func1", 32, { "n", 8, T_INT },
				   { "s", 16, T_STRING });

	f->types->types.data[id].role = GR_ROLE_CLOSURE;
	return id;
}

static gr_type_id make_trie(struct fixture *f)
{
	gr_type_id id = ADD_STRUCT(f,
				   "internal/sync.HashTrieMap[interface {},"
				   "interface {}]",
				   32, { "inited", 0, T_INT },
				   { "root", 8, T_UNSAFE },
				   { "keyHash", 16, T_FUNC });

	return ADD_STRUCT(f, "sync.Map", 40, { "_", 0, T_INT }, { "m", 8, id });
}

static gr_type_id make_sync_entry(struct fixture *f)
{
	f->plans.any = T_EFACE;
	return ADD_STRUCT(f, "sync.entry", 8, { "p", 0, T_UNSAFE });
}

static gr_type_id make_time_timer(struct fixture *f)
{
	gr_type_id runtime = ADD_STRUCT(f, "runtime.timeTimer", 16,
					{ "c", 0, T_UNSAFE },
					{ "init", 8, T_INT });
	gr_type_id timer = ADD_STRUCT(f, "time.Timer", 16, { "C", 0, T_CHAN },
				      { "initTimer", 8, T_INT });

	f->plans.runtime_timer = runtime;
	f->plans.time_timer = timer;
	f->plans.timer_chan = T_CHAN;
	gr_type_id pointer = add(f, "*time.Timer", GR_KIND_PTR, 8, timer);
	return ADD_STRUCT(f, "main.T", 24, { "P", 0, pointer },
			  { "R", 8, runtime });
}

static gr_type_id make_sync_pool(struct fixture *f)
{
	f->plans.pool_local = T_INT;
	return ADD_STRUCT(f, "sync.Pool", 40, { "local", 0, T_UNSAFE },
			  { "localSize", 8, T_INT }, { "victim", 16, T_UNSAFE },
			  { "victimSize", 24, T_INT }, { "New", 32, T_FUNC });
}

static gr_type_id make_pool_entry(struct fixture *f)
{
	f->plans.any = T_EFACE;
	return ADD_STRUCT(f, "sync.eface", 16, { "typ", 0, T_UNSAFE },
			  { "val", 8, T_UNSAFE });
}

static gr_type_id make_reflect_value(struct fixture *f)
{
	f->plans.any = T_EFACE;
	return ADD_STRUCT(f, "reflect.Value", 24, { "typ_", 0, T_INT_PTR },
			  { "ptr", 8, T_UNSAFE }, { "flag", 16, T_INT });
}

static gr_type_id make_typed_pool(struct fixture *f)
{
	f->plans.pool_local = T_INT;
	return ADD_STRUCT(f, "sync.Pool", 16, { "local", 0, T_INT_PTR },
			  { "localSize", 8, T_INT });
}

static const struct program_case program_cases[] = {
	{ "number", make_int, "" },
	{ "pointer", make_pointer, "0 pointer int:\n" },
	{ "pointer to an unknown type", make_bare_pointer, "0 unknown -:\n" },
	{ "string", make_string, "0 string string:\n" },
	{ "slice", make_slice, "0 slice []int:\n" },
	{ "slice of an unknown type", make_bare_slice, "0 unknown []?:\n" },
	{ "empty interface: the second word", make_eface,
	  "1 eface interface {}:\n" },
	{ "interface with methods", make_iface, "1 iface error:\n" },
	{ "struct of every kind", make_all_kinds,
	  "1 string string: S. (string);\n"
	  "3 slice []int: L. ([]int);\n"
	  "7 eface interface {}: E. (interface {});\n"
	  "9 iface error: F. (error);\n"
	  "10 header map[int]int: M. (map[int]int);\n"
	  "11 header chan int: C. (chan int);\n"
	  "12 func func(): G. (func());\n"
	  "13 unknown -: U. (unsafe.Pointer);\n"
	  "14 pointer int: P. (*int);\n"
	  "15 unknown []?: L0. ([]?);\n" },
	{ "struct without fields", make_empty_struct, "" },
	{ "structs in structs", make_nested,
	  "2 pointer int: Mid. (main.Mid); A. (main.Inner); P. (*int);\n"
	  "4 pointer int: Mid. (main.Mid); Q. (*int);\n"
	  "6 pointer int: B. (main.Inner); P. (*int);\n"
	  "8 pointer int: S. (*int);\n" },
	{ "fields without pointers", make_steps_forgotten,
	  "4 pointer int: P. (*int);\n" },
	{ "short array", make_short_array,
	  "0 string string: [0]. (string);\n"
	  "2 string string: [1]. (string);\n"
	  "4 string string: [2]. (string);\n" },
	{ "elements from 10 on share a name", make_names_shared,
	  "0 pointer int: [0]. (*int);\n1 pointer int: [1]. (*int);\n"
	  "2 pointer int: [2]. (*int);\n3 pointer int: [3]. (*int);\n"
	  "4 pointer int: [4]. (*int);\n5 pointer int: [5]. (*int);\n"
	  "6 pointer int: [6]. (*int);\n7 pointer int: [7]. (*int);\n"
	  "8 pointer int: [8]. (*int);\n9 pointer int: [9]. (*int);\n"
	  "10 pointer int: [10+]. (*int);\n"
	  "11 pointer int: [10+]. (*int);\n" },
	{ "array of 16 is flat", make_array_16, NULL },
	{ "array of 17 is a loop", make_array_17, "+0 17 x *int:\n" },
	{ "long array without pointers", make_long_plain_array, "" },
	{ "array of no elements", make_array_of_none, "" },
	{ "array of 2^30 elements", make_huge_array,
	  "+0 1073741824 x *int:\n" },
	{ "long array in a struct", make_long_inside,
	  "201 pointer int: P. (*int);\n"
	  "+8 100 x main.E: Es. ([100]main.E);\n" },
	{ "long array of long arrays", make_long_of_long,
	  "+0 30 x [20]*int:\n" },
	{ "short array of long arrays", make_short_of_long,
	  "+0 20 x *int: [0]. ([20]*int);\n"
	  "+160 20 x *int: [1]. ([20]*int);\n" },
	{ "array of structs", make_array_of_structs,
	  "1 pointer int: [0]. (main.E); V. (*int);\n"
	  "3 pointer int: [1]. (main.E); V. (*int);\n" },
	{ "type that points to itself", make_node,
	  "0 pointer main.Node: Next. (*main.Node);\n"
	  "2 pointer main.Node: Prev. (*main.Node);\n" },
	{ "atomic.Pointer is a typed pointer", make_atomic_pointer,
	  "1 pointer int: P. (sync/atomic.Pointer[int]);\n" },
	{ "the runtime's atomic.Pointer, too", make_internal_atomic,
	  "0 pointer int:\n" },
	{ "somebody else's Pointer is a struct", make_other_atomic,
	  "0 unknown -: v. (unsafe.Pointer);\n" },
	{ "closure: captures below the function", make_closure,
	  "2 string string: main.run.func1; s. (string);\n" },
	{ "hash trie: only its root", make_trie,
	  "2 trie internal/sync.HashTrieMap[interface {},interface {}]: "
	  "m. (internal/sync.HashTrieMap[interface {},interface {}]);\n" },
	{ "entry of an old sync.Map", make_sync_entry,
	  "0 pointer interface {}: p. (*interface {});\n" },
	{ "time.Timer points to the runtime's", make_time_timer,
	  "0 pointer runtime.timeTimer: P. (*time.Timer);\n"
	  "1 header chan int: R. (runtime.timeTimer); "
	  "c. (chan int);\n" },
	{ "sync.Pool: arrays by length", make_sync_pool,
	  "0 counted int: local. ([]int);\n"
	  "2 counted int: victim. ([]int);\n"
	  "4 func func(): New. (func());\n" },
	{ "entry of a sync.Pool", make_pool_entry,
	  "0 unknown -: typ. (unsafe.Pointer);\n"
	  "1 eface interface {}: val. (interface {});\n" },
	{ "reflect.Value", make_reflect_value,
	  "0 pointer int: typ_. (*int);\n"
	  "1 reflect interface {}: ptr. (interface {});\n" },
	{ "a known field of another type is plain", make_typed_pool,
	  "0 pointer int: local. (*int);\n" },
};

TEST_F_ROWS(type_plan, program_cases, c)
{
	check_type_plan(f, c);
}

// ------------------------------------------------------------------ caches

TEST_F(flat_up_to_16)
{
	const struct gr_type_plan *p =
		gr_type_plan_get(&f->plans, make_array_16(f));

	assert_int_equal(p->nslots, 16);
	assert_int_equal(p->narrays, 0);
	assert_int_equal(p->nwords, 16);
}

TEST_F(empty)
{
	assert_true(gr_type_plan_is_empty(gr_type_plan_get(&f->plans, T_INT)));
	assert_false(
		gr_type_plan_is_empty(gr_type_plan_get(&f->plans, T_STRING)));
	assert_false(gr_type_plan_is_empty(
		gr_type_plan_get(&f->plans, make_array_17(f))));
}

/* Types made later have ids past what the table of plans had room for. */
TEST_F(types_made_later)
{
	const struct gr_type_plan *first =
		gr_type_plan_get(&f->plans, T_STRING);

	for (int i = 0; i < 5000; i++) {
		gr_type_id id = add(f, "*T", GR_KIND_PTR, 8, T_INT);
		const struct gr_type_plan *p = gr_type_plan_get(&f->plans, id);

		assert_non_null(p);
		assert_int_equal(p->nslots, 1);
	}
	assert_ptr_equal(gr_type_plan_get(&f->plans, T_STRING), first);
}

// ------------------------------------------------------------ direct slots

struct direct_case {
	const char *name;
	gr_type_id (*make)(struct fixture *f);
	bool is_direct;
	enum gr_slot_op op;
};

static gr_type_id make_map(struct fixture *f)
{
	(void)f;
	return T_MAP;
}

static gr_type_id make_func(struct fixture *f)
{
	(void)f;
	return T_FUNC;
}

static gr_type_id make_one_pointer_struct(struct fixture *f)
{
	gr_type_id empty = add_fields(f, "struct {}", 0, NULL, 0);

	return ADD_STRUCT(f, "main.W", 8, { "_", 0, empty },
			  { "P", 0, T_INT_PTR });
}

static gr_type_id make_one_pointer_array(struct fixture *f)
{
	return add_array(f, "[1]*int", 8, T_INT_PTR, 1);
}

static gr_type_id make_two_pointers(struct fixture *f)
{
	return ADD_STRUCT(f, "main.V", 16, { "P", 0, T_INT_PTR },
			  { "Q", 8, T_INT_PTR });
}

static gr_type_id make_two_pointer_array(struct fixture *f)
{
	return add_array(f, "[2]*int", 16, T_INT_PTR, 2);
}

static const struct direct_case direct_cases[] = {
	{ "pointer is direct", make_pointer, true, GR_SLOT_POINTER },
	{ "map is direct", make_map, true, GR_SLOT_HEADER },
	{ "func is direct", make_func, true, GR_SLOT_FUNC },
	{ "struct of one pointer is direct", make_one_pointer_struct, true,
	  GR_SLOT_POINTER },
	{ "array of one pointer is direct", make_one_pointer_array, true,
	  GR_SLOT_POINTER },
	{ "number is not direct", make_int, false, 0 },
	{ "string is not direct", make_string, false, 0 },
	{ "interface is not direct", make_eface, false, 0 },
	{ "struct of two pointers is not direct", make_two_pointers, false, 0 },
	{ "array of two pointers is not direct", make_two_pointer_array, false,
	  0 },
	{ "array of none is not direct", make_array_of_none, false, 0 },
	{ "struct without fields is not direct", make_empty_struct, false, 0 },
};

TEST_F_ROWS(direct, direct_cases, c)
{
	gr_type_id id = c->make(f);
	const struct gr_type_plan *p = gr_type_plan_get(&f->plans, id);
	assert_non_null(p);
	assert_int_equal(p->is_direct, c->is_direct);
	if (c->is_direct)
		assert_int_equal(p->slots[0].op, c->op);
}

GR_SUITE("type plans")
