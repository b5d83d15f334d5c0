// SPDX-License-Identifier: Apache-2.0
/* Rules of frames: expressions, tables of Go, ELF files; also damaged ones. */
#include "helpers/trace/go_frames.h"

#include <dwarf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "suite.h"

#include "helpers/trace/elf_file.h"
#include "helpers/trace/unwinder.h"

/* ------------------------------------------------------------- expressions */

enum { STACK = 0x7000, WORDS = 8 };

static uint64_t words[WORDS] = { 0x10, 0x20, STACK + 24, 0x40 };

static struct gr_sample sample_of_words(void)
{
	return (struct gr_sample){
		.chunks = { { STACK, (const uint8_t *)words, sizeof(words) } },
	};
}

static bool evaluate(const struct gr_operation *ops, bool is_address,
		     uint64_t *ret)
{
	struct gr_frame_regs regs = { .known = 0 };
	struct gr_sample sample = sample_of_words();

	gr_regs_set(&regs, GR_REG_RSP, STACK);
	gr_regs_set(&regs, GR_REG_RIP, 0x40100b);
	return gr_expression_evaluate(ops, &regs, STACK + 16, &sample,
				      is_address, ret);
}

static const struct {
	const char *name;
	bool is_address;
	uint64_t expected;
	struct gr_operation ops[12];
} values[] = {
	/* rsp + 8 + ((rip & 15) >= 11) << 3: an entry of the PLT */
	{ "plt",
	  true,
	  STACK + 16,
	  { { DW_OP_breg7, 8, 0 },
	    { DW_OP_breg16, 0, 0 },
	    { DW_OP_lit15, 0, 0 },
	    { DW_OP_and, 0, 0 },
	    { DW_OP_lit11, 0, 0 },
	    { DW_OP_ge, 0, 0 },
	    { DW_OP_lit3, 0, 0 },
	    { DW_OP_shl, 0, 0 },
	    { DW_OP_plus, 0, 0 } } },
	{ "a saved address",
	  true,
	  STACK + 24,
	  { { DW_OP_breg7, 16, 0 }, { DW_OP_deref, 0, 0 } } },
	{ "a saved register", false, 0x20, { { DW_OP_breg7, 8, 0 } } },
	{ "below the frame",
	  false,
	  0x20,
	  { { DW_OP_call_frame_cfa, 0, 0 }, { DW_OP_plus_uconst, -8, 0 } } },
	{ "a value",
	  false,
	  STACK + 8,
	  { { DW_OP_bregx, GR_REG_RSP, 8 }, { DW_OP_stack_value, 0, 0 } } },
	{ "a register", false, 0x40100b, { { DW_OP_reg16, 0, 0 } } },
};

TEST_ROWS(value, values, row)
{
	uint64_t value;

	assert_true(evaluate(row->ops, row->is_address, &value));
	assert_int_equal(value, row->expected);
}

static const struct {
	const char *name;
	struct gr_operation ops[4];
} refusals[] = {
	{ "nothing", { { 0, 0, 0 } } },
	{ "an empty stack", { { DW_OP_plus, 0, 0 } } },
	{ "one entry", { { DW_OP_lit1, 0, 0 }, { DW_OP_minus, 0, 0 } } },
	{ "a lost register", { { DW_OP_breg3, 0, 0 } } },
	{ "no register", { { DW_OP_bregx, INT64_MAX, 0 } } },
	{ "no memory",
	  { { DW_OP_const8u, 0x1234, 0 }, { DW_OP_deref, 0, 0 } } },
	{ "half of a word", { { DW_OP_breg7, WORDS * 8 - 4, 0 } } },
	{ "a jump", { { DW_OP_skip, -3, 0 } } },
	{ "more after a value",
	  { { DW_OP_lit1, 0, 0 },
	    { DW_OP_stack_value, 0, 0 },
	    { DW_OP_lit1, 0, 0 } } },
};

TEST_ROWS(refusal, refusals, row)
{
	uint64_t value;

	assert_false(evaluate(row->ops, false, &value));
}

TEST(long_expressions_end)
{
	struct gr_operation ops[GR_MAX_OPERATIONS + 1];
	uint64_t value;

	for (size_t i = 0; i < GR_ARRAY_SIZE(ops); i++)
		ops[i] = (struct gr_operation){ DW_OP_lit1, 0, 0 };
	assert_false(evaluate(ops, true, &value));
}

/* --------------------------------------------------------------- the table */

TEST(a_full_table_forgets)
{
	struct gr_rules rules = { .slots = NULL };
	struct gr_rule rule = { .role = GR_ROLE_CALL };
	size_t forgotten = 0;

	for (uint64_t pc = 1; pc <= 100000; pc++) {
		rule.pc = pc * 16;
		size_t before = rules.list.size;
		gr_rules_make_room(&rules);
		forgotten += rules.list.size < before;
		assert_non_null(gr_rules_add(&rules, &rule));
		assert_int_equal(gr_rules_find(&rules, pc * 16)->pc, pc * 16);
	}
	assert_true(forgotten > 2 && rules.list.size < 20000);
	assert_null(gr_rules_find(&rules, 16));
	gr_rules_deinit(&rules);
}

/* ------------------------------------------------------------ tables of Go */

enum {
	TEXT = 0x400000,
	NAMES_AT = 72,
	PCS_AT = 160,
	FUNCS_AT = 192,
	FUNC_AT = FUNCS_AT + 24, /* behind the three entries of ftab */
	TABLE_BYTES = 512,
	ADDRESS = 0x10000,
	SPACE_BYTES = 1 << 16,
	/* Where the tables lie in the space, in the middle of a page. */
	TABLES_AT = 0x8020,
	DAMAGES = 20000,
};

/** Memory of a process: [ADDRESS, ADDRESS + SPACE_BYTES). */
static uint8_t space[SPACE_BYTES];

static bool read_space(void *ctx, uint64_t addr, void *data, size_t bytes)
{
	(void)ctx;
	if (addr < ADDRESS || addr - ADDRESS > SPACE_BYTES ||
	    bytes > SPACE_BYTES - (addr - ADDRESS))
		return false;
	memcpy(data, space + (addr - ADDRESS), bytes);
	return true;
}

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(space + TABLES_AT + at, &value, bytes);
}

/** Two functions: main.f takes 24 bytes of the stack after its first
 * instruction; runtime.goexit is the start of stacks. */
static struct gr_go_module build(uint32_t magic, uint32_t flag_off)
{
	static const uint8_t pcs[] = { 0, 2, 4, 48, 60, 0 };

	memset(space, 0, sizeof(space));
	put(0, magic, 4);
	put(6, 1, 1);
	put(7, 8, 1);
	put(32, NAMES_AT, 8);
	put(40, PCS_AT - 8, 8);
	put(48, PCS_AT - 8, 8);
	put(56, PCS_AT, 8);
	put(64, FUNCS_AT, 8);
	memcpy(space + TABLES_AT + NAMES_AT, "\0main.f\0runtime.goexit", 23);
	memcpy(space + TABLES_AT + PCS_AT, pcs, sizeof(pcs));
	put(FUNCS_AT, 0, 4);
	put(FUNCS_AT + 4, 24, 4);
	put(FUNCS_AT + 8, 64, 4);
	put(FUNCS_AT + 12, 24 + 48, 4);
	put(FUNCS_AT + 16, 128, 4);
	put(FUNC_AT + 4, 1, 4);
	put(FUNC_AT + 16, 1, 4);
	put(FUNC_AT + 48 + 4, 8, 4);
	put(FUNC_AT + 48 + flag_off, 1, 1);
	return (struct gr_go_module){
		.text = TEXT,
		.etext = TEXT + 128,
		.pclntable = ADDRESS + TABLES_AT + FUNCS_AT,
		.pclntable_bytes = TABLE_BYTES - FUNCS_AT,
		.ftab = ADDRESS + TABLES_AT + FUNCS_AT,
		.ftab_count = 3,
		.text_start = TEXT,
	};
}

static const struct {
	const char *name;
	uint32_t magic, flag_off;
} versions[] = { { "with start lines", 0xfffffff1, 41 },
		 { "without", 0xfffffff0, 37 } };

TEST_ROWS(go_tables, versions, row)
{
	struct gr_go_module where = build(row->magic, row->flag_off);
	struct gr_go_tables tables;
	struct gr_rule rule = { .role = GR_ROLE_UNKNOWN };

	assert_null(gr_go_tables_read(&where, read_space, NULL, &tables));
	assert_true(gr_go_rule(&tables, TEXT, &rule));
	assert_int_equal(rule.role, GR_ROLE_CALL);
	assert_int_equal(rule.cfa_off, 8);
	assert_true(gr_go_rule(&tables, TEXT + 10, &rule));
	assert_int_equal(rule.cfa_off, 32);
	assert_string_equal(gr_go_name(&tables, TEXT + 63), "main.f");
	assert_true(gr_go_rule(&tables, TEXT + 64, &rule));
	assert_int_equal(rule.role, GR_ROLE_START);
	assert_string_equal(gr_go_name(&tables, TEXT + 64), "runtime.goexit");
	assert_false(gr_go_rule(&tables, TEXT + 128, &rule));
	assert_false(gr_go_rule(&tables, TEXT - 1, &rule));
	gr_go_tables_deinit(&tables);
}

TEST(no_header)
{
	struct gr_go_module where = build(0xfffffffa, 41);
	struct gr_go_tables tables;

	struct gr_error *err =
		gr_go_tables_read(&where, read_space, NULL, &tables);
	assert_error_code(err, GR_ERROR_FORMAT);
	gr_error_destroy(err);
}

/* Whatever the tables say, no look-up leaves them. */
TEST(damaged_go_tables)
{
	uint64_t seed = 7;
	size_t read = 0, rules = 0;

	for (int i = 0; i < DAMAGES; i++) {
		struct gr_go_module where = build(0xfffffff1, 41);
		struct gr_rule rule = { .role = GR_ROLE_UNKNOWN };
		struct gr_go_tables tables;

		for (int k = 0; k < 3; k++)
			space[TABLES_AT + suite_random(&seed) % TABLE_BYTES] ^=
				1 << suite_random(&seed) % 8;
		if (!(i % 4))
			((uint64_t *)&where)[suite_random(&seed) % 7] ^=
				UINT64_C(1) << suite_random(&seed) % 64;
		struct gr_error *err =
			gr_go_tables_read(&where, read_space, NULL, &tables);
		gr_error_destroy(err);
		if (err)
			continue;
		read++;
		for (uint64_t pc = TEXT - 1; pc <= TEXT + 128; pc++) {
			rules += gr_go_rule(&tables, pc, &rule);
			gr_go_name(&tables, pc);
		}
		gr_go_tables_deinit(&tables);
	}
	assert_true(read > DAMAGES / 2 && rules > DAMAGES);
}

/* -------------------------------------------------------------- ELF files */

static uint8_t *read_self(size_t *bytes)
{
	FILE *file = fopen("/proc/self/exe", "re");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*bytes = ftell(file);
	rewind(file);
	uint8_t *data = suite_alloc(*bytes);
	assert_int_equal(fread(data, 1, *bytes, file), *bytes);
	fclose(file);
	return data;
}

/* Ask a file for rules and names all over its code. */
static size_t ask(uint8_t *data, size_t bytes, struct gr_rules *rules)
{
	struct gr_elf_file *file = NULL;
	char name[64];
	size_t found = 0;
	uint64_t addr;

	struct gr_error *err = gr_elf_file_new_image(data, bytes, &file);
	gr_error_destroy(err);
	for (uint64_t off = 0; !err && off < bytes; off += 251) {
		struct gr_rule rule = { .role = GR_ROLE_UNKNOWN };

		if (!gr_elf_file_address(file, off, &addr))
			continue;
		gr_rules_make_room(rules);
		found += gr_elf_file_rule(file, addr, rules, &rule);
		gr_elf_file_name(file, addr, name, sizeof(name));
	}
	gr_elf_file_destroy(file);
	return found;
}

TEST(memory_is_limited)
{
	struct rlimit before, after;

	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	gr_unwinder_limit_memory();
	assert_int_equal(getrlimit(RLIMIT_DATA, &after), 0);
#ifdef __SANITIZE_ADDRESS__
	// The sanitizer's own memory is larger.
	assert_int_equal(after.rlim_cur, before.rlim_cur);
	return;
#endif
	assert_int_equal(after.rlim_cur, (rlim_t)1 << 30);
	void *data = mmap(NULL, (size_t)2 << 30, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(data, MAP_FAILED);
	setrlimit(RLIMIT_DATA, &before);
}

TEST(damaged_elf_files)
{
	struct gr_rules rules = { .slots = NULL };
	uint64_t seed = 11;
	size_t bytes, all, some = 0;
	uint8_t *self = read_self(&bytes);

	for (int i = 0; i < 60; i++) {
		size_t size = i % 3 == 2 ? suite_random(&seed) % bytes : bytes;
		uint8_t *copy = suite_alloc(size + 1);
		// Many bits, or one in the headers.
		size_t flips = i % 2 ? 1 : bytes / 100,
		       end = i % 2 ? 832 : size;

		memcpy(copy, self, size);
		for (size_t k = 0; i && k < flips && end <= size; k++)
			copy[suite_random(&seed) % end] ^=
				1 << suite_random(&seed) % 8;
		size_t found = ask(copy, size, &rules);
		if (!i)
			all = found;
		some += found && found < all;
	}
	assert_true(all > 20 && some);
	gr_rules_deinit(&rules);
	free(self);
}

/* ------------------------------------------------------------ made-up stacks */

/* A stack whose every word is an address of code has frames, but an end. */
TEST(made_up_stacks)
{
	struct gr_unwinder *u;
	struct gr_walked walked;
	struct gr_sample sample = { .resume_pc = 1 };
	uint64_t stack[1024], seed = 3, code = (uint64_t)read_self;

	assert_null(gr_unwinder_new(getpid(), &u));
	sample.chunks[0] = (struct gr_sample_chunk){ STACK,
						     (const uint8_t *)stack,
						     sizeof(stack) };
	sample.chunks[1] = sample.chunks[0];
	size_t most = 0;
	for (int i = 0; i < DAMAGES; i++) {
		for (size_t k = 0; k < GR_ARRAY_SIZE(stack); k++)
			stack[k] = suite_random(&seed) % 2 ?
					   code + suite_random(&seed) % 4096 :
					   STACK + suite_random(&seed) % 8192;
		for (size_t k = 0; k < GR_SAMPLE_REGS; k++)
			sample.regs[k] = STACK + suite_random(&seed) % 2048;
		sample.regs[GR_REG_RIP] = code;
		gr_unwinder_walk(u, &sample, &walked);
		assert_true(walked.count >= 1 && walked.count <= GR_MAX_FRAMES);
		most = walked.count > most ? walked.count : most;
	}
	assert_true(most > 1);
	gr_unwinder_destroy(u);
}

GR_SUITE("rules of frames")
