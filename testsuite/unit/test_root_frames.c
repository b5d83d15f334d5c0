// SPDX-License-Identifier: Apache-2.0
/*
 * Roots of frames: variables over the live words of stacks that were built.
 * The debug information is made by hand, as answers about the variables of a
 * function at a pc.
 */
#include "goruntime/roots/roots.h"

#include "dwarf/internal.h"
#include "goruntime/types/types_internal.h"

#include "stack_builder.h"

enum { STACK_BYTES = 1 << 16, FRAME_BYTES = 112, MAX_LOCALS = 32 };

/* Functions, which have the same numbers in the debug information. */
enum { GOEXIT, MAIN, CALLEE, RUNTIME, NFUNCS };

/* Types of the debug information. */
enum { T_INT, T_PTR, T_SLICE, T_EMPTY, NTYPES };

struct frames_fixture {
	struct stack_fixture *stack;
	struct gr_dwarf *dwarf;
	struct gr_types *types;
	struct gr_heap heap;
	struct gr_root_list roots;
	uint64_t sps[4];
};

static void add_tables(struct gr_dwarf *dwarf)
{
	static const struct gr_dwarf_type types[NTYPES] = {
		{ "int", 0x10, 8, 0, GR_KIND_INT, false, 0, -1, -1, -1, 0, 0,
		  0 },
		{ "*int", 0x20, 8, 0, GR_KIND_PTR, false, 0, T_INT, -1, -1, 0,
		  0, 0 },
		{ "[]int", 0x30, 24, 0, GR_KIND_SLICE, false, 0, T_INT, -1, -1,
		  0, 0, 0 },
		{ "struct {}", 0x40, 0, 0, GR_KIND_STRUCT, false, 0, -1, -1, -1,
		  0, 0, 0 },
	};
	static const char *const names[NFUNCS] = { "runtime.goexit",
						   "main.main", "main.f",
						   "runtime.gopark" };

	for (int i = 0; i < NTYPES; i++)
		assert_true(
			gr_dwarf_type_vector_append(&dwarf->types, types[i]));
	assert_true(gr_index_init(&dwarf->types_by_name, NTYPES));
	for (int i = 0; i < NFUNCS; i++) {
		struct gr_dwarf_function f = {
			.name = names[i],
			.low = func_entry(i),
			.high = func_entry(i + 1),
		};

		assert_true(
			gr_dwarf_function_vector_append(&dwarf->functions, f));
	}
}

static struct frames_fixture *make_fixture(void)
{
	struct frames_fixture *f = suite_alloc(sizeof(*f));

	f->stack = stack_new(STACK_BYTES);
	f->dwarf = calloc(1, sizeof(*f->dwarf));
	assert_non_null(f->dwarf);
	f->dwarf->fd = -1;
	add_tables(f->dwarf);
	f->stack->module.dwarf = f->dwarf;
	put_func(f->stack, (struct func_shape){ .name = "runtime.goexit",
						.flag = GR_FUNC_TOP_FRAME });
	put_func(f->stack, (struct func_shape){ .name = "main.main",
						.frame_bytes = FRAME_BYTES });
	put_func(f->stack, (struct func_shape){ .name = "main.f",
						.frame_bytes = FRAME_BYTES });
	put_func(f->stack, (struct func_shape){ .name = "runtime.gopark",
						.frame_bytes = FRAME_BYTES });
	f->stack->g.state = "waiting";
	assert_null(gr_types_create(&f->stack->rt, &f->types));
	f->heap.rt = &f->stack->rt;
	f->heap.types = f->types;
	return f;
}

static void free_fixture(struct frames_fixture *f)
{
	gr_root_list_deinit(&f->roots);
	gr_types_destroy(f->types);
	gr_dwarf_destroy(f->dwarf);
	stack_free(f->stack);
	free(f);
}

#define FIXTURE struct frames_fixture *f, make_fixture, free_fixture

/* The variables of a function at a pc, unless they are given already. */
static void put_locals(struct frames_fixture *f, int func, uint64_t pc,
		       const struct gr_dwarf_local *locals, size_t count)
{
	struct gr_dwarf_answers *answers = &f->dwarf->answers;

	if (gr_answers_find(answers, GR_ASK_LOCALS, func, pc))
		return;
	gr_answers_add(answers, GR_ASK_LOCALS, func, pc, locals, count);
	answers->nsorted = answers->rows.size;
	qsort(answers->rows.data, answers->nsorted, sizeof(*answers->rows.data),
	      gr_answer_compare);
}

/* The same while it waits for a call to return. */
static void put_call_locals(struct frames_fixture *f, int func,
			    const struct gr_dwarf_local *locals, size_t count)
{
	put_locals(f, func, func_pc(func) - 1, locals, count);
}

#define CFA(at)                                         \
	{                                               \
		.kind = GR_LOCATION_CFA, .offset = (at) \
	}
#define LOCAL(text, type_index, ...)                                  \
	{                                                             \
		.name = (text), .function = "main.f", .file = "f.go", \
		.type = (type_index), .line = 7, .npieces = 1,        \
		.pieces = { __VA_ARGS__ },                            \
	}

/* A goroutine that waits in main.f, which main.main called. The set bits say
 * which local words live: bit_at(). */
static void put_stack(struct frames_fixture *f, uint64_t bits)
{
	static const size_t calls[] = { GOEXIT, MAIN, CALLEE };

	put_map(f->stack, CALLEE, GR_FUNCDATA_LOCALS_POINTER_MAPS,
		FRAME_BYTES / 8 - 1, bits);
	put_map(f->stack, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS, 1, 0);
	put_frames(f->stack, calls, 3, f->sps);
	run_stack_well(f->stack);
	assert_int_equal(f->stack->g.nframes, 3);
}

static uint64_t callee_fp(const struct frames_fixture *f)
{
	return f->stack->g.frames[0].fp;
}

static struct gr_error *collect(struct frames_fixture *f)
{
	// Without an answer, the file would be opened.
	for (int i = 0; i < NFUNCS; i++) {
		put_call_locals(f, i, NULL, 0);
		put_locals(f, i, func_pc(i), NULL, 0);
	}
	return gr_roots_add_goroutines(&f->heap, &f->stack->sched, &f->roots);
}

static void collect_well(struct frames_fixture *f)
{
	assert_null(collect(f));
}

static const struct gr_root *root_at(const struct frames_fixture *f, size_t i)
{
	assert_true(i < f->roots.size);
	return &f->roots.data[i];
}

/* The bit of the word at an offset from the frame's end. The locals end below
 * the return address and the saved frame pointer. */
static uint64_t bit_at(int64_t off)
{
	return UINT64_C(1) << ((off + 8 + FRAME_BYTES) / 8);
}

// ---------------------------------------------------------------- variables

TEST_F(plain)
{
	static const struct gr_dwarf_local locals[] = {
		LOCAL("y", T_PTR, CFA(-24)),	  LOCAL("x", T_PTR, CFA(-40)),
		LOCAL("dead", T_PTR, CFA(-48)),	  LOCAL("&z", T_PTR, CFA(-32)),
		LOCAL("none", T_EMPTY, CFA(-24)),
	};
	static const char *const names[] = { "main.f.x", "main.f.z",
					     "main.f.y" };

	put_stack(f, bit_at(-24) | bit_at(-32) | bit_at(-40));
	put_call_locals(f, CALLEE, locals, GR_ARRAY_SIZE(locals));
	collect_well(f);
	assert_int_equal(f->roots.size, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct gr_root *root = root_at(f, i);

		assert_string_equal(root->name, names[i]);
		assert_int_equal(root->addr, callee_fp(f) - 40 + i * 8);
		assert_int_equal(root->bytes, 8);
		assert_int_equal(root->form, GR_ROOT_REGION);
		assert_int_equal(root->kind, GR_ROOT_LOCAL);
		assert_int_equal(root->tier, GR_TIER_USER);
		assert_int_equal(root->type, T_PTR);
		assert_int_equal(root->goroutine, 0);
		assert_int_equal(root->line, 7);
		assert_string_equal(root->file, "f.go");
		assert_string_equal(root->goroutine_state, "waiting");
		assert_false(root->is_conservative);
	}
}

/* A variable is a root if any of its words lives. Held against a search word
 * by word, for variables at random places. */
TEST_F(random)
{
	struct gr_dwarf_local locals[MAX_LOCALS];
	char names[MAX_LOCALS][8];
	uint64_t seed = 11, bits = 0x1555 & suite_random(&seed), wanted = 0;

	for (int i = 0; i < MAX_LOCALS; i++) {
		uint32_t type = suite_random(&seed) % 2 ? T_PTR : T_SLICE;
		int64_t words = type == T_PTR ? 1 : 3;
		int64_t off =
			-16 - 8 * (int64_t)(suite_random(&seed) % 10 + words);
		bool is_live = false;

		snprintf(names[i], sizeof(names[i]), "v%d", i);
		locals[i] =
			(struct gr_dwarf_local)LOCAL(names[i], type, CFA(off));
		for (int64_t j = 0; j < words; j++)
			is_live |= (bits & bit_at(off + j * 8)) != 0;
		wanted += is_live;
	}
	put_stack(f, bits);
	put_call_locals(f, CALLEE, locals, MAX_LOCALS);
	collect_well(f);
	assert_in_range(wanted, 1, MAX_LOCALS - 1);
	assert_int_equal(f->roots.size, wanted);
	for (size_t i = 0; i + 1 < f->roots.size; i++)
		assert_true(root_at(f, i)->addr <= root_at(f, i + 1)->addr);
}

/* Words that nothing explains but that may be pointers cast doubt. */
TEST_F(doubt)
{
	static const struct gr_dwarf_local local = LOCAL("x", T_PTR, CFA(-24));

	put_stack(f, bit_at(-24));
	struct gr_area *area = &f->stack->g.stack;
	if (!area->conservative)
		area->conservative = gr_bitmap_alloc(STACK_BYTES / 8);
	gr_bitmap_set(area->conservative,
		      (callee_fp(f) - 24 - area->start) / 8);
	put_call_locals(f, CALLEE, &local, 1);
	collect_well(f);
	assert_int_equal(f->roots.size, 1);
	assert_true(root_at(f, 0)->is_conservative);
}

/* A slice whose pointer and length lie apart is put together, and takes its
 * word from the stack. */
TEST_F(pieces)
{
	const struct gr_dwarf_local local = {
		.name = "list",
		.function = "main.f",
		.type = T_SLICE,
		.npieces = 2,
		.pieces = { { .kind = GR_LOCATION_CFA,
			      .off_bytes = 0,
			      .size_bytes = 8,
			      .offset = -24 },
			    { .kind = GR_LOCATION_CFA,
			      .off_bytes = 8,
			      .size_bytes = 16,
			      .offset = -48 } },
	};
	uint64_t words[3];

	put_stack(f, bit_at(-24));
	fake_set(&f->stack->image, callee_fp(f) - 24, 0xc000001000, 8);
	fake_set(&f->stack->image, callee_fp(f) - 48, 5, 8);
	fake_set(&f->stack->image, callee_fp(f) - 40, 6, 8);
	put_call_locals(f, CALLEE, &local, 1);
	collect_well(f);
	assert_int_equal(f->roots.size, 1);
	const struct gr_root *root = root_at(f, 0);
	assert_string_equal(root->name, "main.f.list");
	assert_int_equal(root->live, 1);
	assert_int_equal(root->bytes, 24);
	assert_non_null(root->bytes_at);
	memcpy(words, root->bytes_at, sizeof(words));
	assert_int_equal(words[0], 0xc000001000);
	assert_int_equal(words[1], 5);
	assert_int_equal(words[2], 6);
	check_words(f->stack, callee_fp(f) - 24, ".");
}

/* A piece that lies outside the variable or the stack gives nothing. */
TEST_F(wild_pieces)
{
	static const struct gr_location_piece wild[][2] = {
		{ { .kind = GR_LOCATION_CFA, .off_bytes = 8, .offset = 0 } },
		{ { .kind = GR_LOCATION_CFA,
		    .off_bytes = 8,
		    .size_bytes = 8,
		    .offset = INT64_MAX } },
		{ { .kind = GR_LOCATION_CFA,
		    .off_bytes = 8,
		    .size_bytes = UINT32_MAX,
		    .offset = -24 } },
		{ { .kind = GR_LOCATION_CFA,
		    .off_bytes = UINT32_MAX,
		    .size_bytes = 8,
		    .offset = -24 } },
		{ { .kind = GR_LOCATION_REGISTER,
		    .off_bytes = 8,
		    .size_bytes = 8,
		    .reg = UINT16_MAX } },
		{ { .kind = GR_LOCATION_UNKNOWN } },
		{ { .kind = GR_LOCATION_NONE, .off_bytes = 8 } },
	};
	struct gr_dwarf_local locals[GR_ARRAY_SIZE(wild)];

	for (size_t i = 0; i < GR_ARRAY_SIZE(wild); i++)
		locals[i] =
			(struct gr_dwarf_local)LOCAL("w", T_PTR, wild[i][0]);
	put_stack(f, bit_at(-24));
	put_call_locals(f, CALLEE, locals, GR_ARRAY_SIZE(locals));
	collect_well(f);
	assert_int_equal(f->roots.size, 0);
	assert_int_equal(f->stack->gaps.count[GR_GAP_UNKNOWN_LOCATIONS], 1);
	check_words(f->stack, callee_fp(f) - 24, "p");
}

/* Before the call in a register, after it in a slot of the stack. */
TEST_F(spilled)
{
	static const struct gr_dwarf_local before =
		LOCAL("x", T_PTR, { .kind = GR_LOCATION_REGISTER, .reg = 3 });
	static const struct gr_dwarf_local after[] = {
		LOCAL("other", T_PTR, CFA(-32)),
		LOCAL("x", T_PTR, CFA(-24)),
	};

	put_stack(f, bit_at(-24) | bit_at(-32));
	put_call_locals(f, CALLEE, &before, 1);
	put_locals(f, CALLEE, func_pc(CALLEE), after, 2);
	collect_well(f);
	assert_int_equal(f->roots.size, 1);
	assert_string_equal(root_at(f, 0)->name, "main.f.x");
	assert_int_equal(root_at(f, 0)->addr, callee_fp(f) - 24);
}

/* A running goroutine has variables in registers; no map says that they
 * live. */
TEST_F(register)
{
	static const struct gr_dwarf_local local =
		LOCAL("x", T_PTR, { .kind = GR_LOCATION_REGISTER, .reg = 3 });
	struct gr_regs regs = { 0 };
	uint64_t value;

	put_stack(f, 0);
	regs.value[3] = 0xc000002000;
	f->stack->g.regs = &regs;
	f->stack->g.frames[0].is_exact_pc = true;
	put_locals(f, CALLEE, func_pc(CALLEE), &local, 1);
	collect_well(f);
	assert_int_equal(f->roots.size, 1);
	const struct gr_root *root = root_at(f, 0);
	memcpy(&value, root->bytes_at, sizeof(value));
	assert_int_equal(value, 0xc000002000);
	assert_int_equal(root->live, 1);
	assert_true(root->is_conservative);
	f->stack->g.regs = NULL;
}

/* The registers of a thread that did not stop are not known. */
TEST_F(unknown_register)
{
	static const struct gr_dwarf_local local =
		LOCAL("x", T_PTR, { .kind = GR_LOCATION_REGISTER, .reg = 3 });
	struct gr_regs regs = { .is_partial = true };

	put_stack(f, 0);
	f->stack->g.regs = &regs;
	f->stack->g.frames[0].is_exact_pc = true;
	put_locals(f, CALLEE, func_pc(CALLEE), &local, 1);
	collect_well(f);
	assert_int_equal(f->roots.size, 0);
	f->stack->g.regs = NULL;
}

/* Frames of the runtime that user code calls come later than that code, those
 * of the runtime's own goroutines last. */
TEST_F(tiers)
{
	static const size_t calls[] = { GOEXIT, MAIN, RUNTIME };
	struct gr_dwarf_local local = LOCAL("x", T_PTR, CFA(-24));

	put_map(f->stack, RUNTIME, GR_FUNCDATA_LOCALS_POINTER_MAPS,
		FRAME_BYTES / 8 - 1, bit_at(-24));
	put_map(f->stack, MAIN, GR_FUNCDATA_LOCALS_POINTER_MAPS,
		FRAME_BYTES / 8 - 1, bit_at(-24));
	put_frames(f->stack, calls, 3, f->sps);
	run_stack_well(f->stack);
	put_call_locals(f, RUNTIME, &local, 1);
	put_call_locals(f, MAIN, &local, 1);
	collect_well(f);
	assert_int_equal(f->roots.size, 2);
	assert_int_equal(root_at(f, 0)->tier, GR_TIER_DEFERRED);
	assert_int_equal(root_at(f, 1)->tier, GR_TIER_USER);
	f->roots.size = 0;
	f->stack->g.is_system = true;
	collect_well(f);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(root_at(f, i)->tier, GR_TIER_RUNTIME);
		assert_int_equal(root_at(f, i)->kind, GR_ROOT_RUNTIME);
	}
}

// ------------------------------------------------------------------- values

struct value_case {
	const char *name;
	struct gr_value_root value;
	const char *want; /* name of the root; NULL: none */
	uint8_t kind, tier;
	bool is_func;
};

static const struct value_case values[] = {
	{ "a register",
	  { 0xc0001000, "$rax", GR_VALUE_REGISTER, true, 0 },
	  "main.f.$rax",
	  GR_ROOT_REGISTER,
	  GR_TIER_USER,
	  false },
	{ "a deferred function",
	  { 0xc0001000, "$defer", GR_VALUE_DEFER, false, 1 },
	  "main.main.$defer",
	  GR_ROOT_DEFER,
	  GR_TIER_USER,
	  true },
	{ "a deferred function of a runtime frame",
	  { 0xc0001000, "$defer", GR_VALUE_DEFER, false, 2 },
	  "runtime.goexit.$defer",
	  GR_ROOT_DEFER,
	  GR_TIER_USER,
	  true },
	{ "a panic",
	  { 0xc0001000, "$panic", GR_VALUE_PANIC, false, 2 },
	  "runtime.goexit.$panic",
	  GR_ROOT_DEFER,
	  GR_TIER_DEFERRED,
	  false },
	{ "the closure register",
	  { 0xc0001000, "$ctxt", GR_VALUE_CTXT, false, 0 },
	  "main.f.$ctxt",
	  GR_ROOT_REGISTER,
	  GR_TIER_USER,
	  true },
	{ "a value of no frame",
	  { 0xc0001000, "$ctxt", GR_VALUE_CTXT, false, 99 },
	  "runtime.unknown.$ctxt",
	  GR_ROOT_REGISTER,
	  GR_TIER_DEFERRED,
	  true },
	{ "nil", { 0, "$rax", GR_VALUE_REGISTER, true, 0 }, NULL, 0, 0, false },
};

TEST_F_ROWS(value, values, c)
{
	struct gr_value_root value = c->value;

	put_stack(f, 0);
	free(f->stack->g.values);
	f->stack->g.values = &value;
	f->stack->g.nvalues = 1;
	collect_well(f);
	f->stack->g.values = NULL;
	assert_int_equal(f->roots.size, c->want ? 1 : 0);
	if (c->want) {
		const struct gr_root *root = root_at(f, 0);

		assert_string_equal(root->name, c->want);
		assert_int_equal(root->form, GR_ROOT_VALUE);
		assert_int_equal(root->addr, value.value);
		assert_int_equal(root->kind, c->kind);
		assert_int_equal(root->tier, c->tier);
		assert_int_equal(root->is_func, c->is_func);
		assert_int_equal(root->is_conservative, value.conservative);
	}
}

// ------------------------------------------------------------------- limits

/* Many goroutines at one pc: polled, and ended by what poll says. */
TEST_F(interrupted)
{
	enum { MANY = 10000 };
	struct gr_sched *sched = &f->stack->sched;

	put_stack(f, 0);
	struct gr_goroutine *many = calloc(MANY, sizeof(*many));
	assert_non_null(many);
	for (int i = 0; i < MANY; i++)
		many[i] = f->stack->g;
	sched->goroutines = many;
	sched->ngoroutines = MANY;
	f->stack->polls_left = 3;
	assert_fails(collect(f), GR_ERROR_INTERRUPTED, NULL);
	free(many);
}

GR_SUITE("root frames")
