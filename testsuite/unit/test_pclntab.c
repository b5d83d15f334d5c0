// SPDX-License-Identifier: Apache-2.0
/* pclntab: finding functions and reading pc-value tables, on made-up bytes. */
#include "goruntime/layout/pclntab.h"

#include "suite.h"

enum { TEXT = 0x400000, FUNC_BYTES = 44 };

/** A small module: functions at +0, +0x20, +0x60, the last one ends at +0x80. */
struct fixture {
	struct gr_runtime rt;
	struct gr_module module;
	uint32_t ftab[4][2];
	uint8_t funcs[3][FUNC_BYTES + 16];
	uint8_t pctab[64];
	uint32_t cutab[2];
};

static const char names[] = "\0main.first\0main.second\0main.third";
static const char files[] = "\0/src/main.go";

static void set_field(uint8_t *record, struct gr_field field, uint64_t value)
{
	memcpy(record + field.off, &value, field.bytes);
}

static void set_layout(struct gr_layout *layout)
{
	layout->func.size_bytes = FUNC_BYTES;
	layout->func.nameoff = (struct gr_field){ 4, 4 };
	layout->func.args = (struct gr_field){ 8, 4 };
	layout->func.deferreturn = (struct gr_field){ 12, 4 };
	layout->func.pcsp = (struct gr_field){ 16, 4 };
	layout->func.pcfile = (struct gr_field){ 20, 4 };
	layout->func.pcln = (struct gr_field){ 24, 4 };
	layout->func.npcdata = (struct gr_field){ 28, 4 };
	layout->func.cuoffset = (struct gr_field){ 32, 4 };
	layout->func.func_id = (struct gr_field){ 40, 1 };
	layout->func.flag = (struct gr_field){ 41, 1 };
	layout->func.nfuncdata = (struct gr_field){ 43, 1 };
}

static void set_functions(struct fixture *f)
{
	static const uint32_t entries[] = { 0, 0x20, 0x60, 0x80 };
	static const uint32_t nameoffs[] = { 1, 12, 24 };

	for (size_t i = 0; i < 4; i++) {
		f->ftab[i][0] = entries[i];
		f->ftab[i][1] = i * sizeof(f->funcs[0]);
	}
	for (size_t i = 0; i < 3; i++) {
		const typeof(f->rt.layout.func) *l = &f->rt.layout.func;
		set_field(f->funcs[i], l->nameoff, nameoffs[i]);
		set_field(f->funcs[i], l->npcdata, 2);
		set_field(f->funcs[i], l->nfuncdata, 2);
		/* pcdata 0 at table offset 1, 1 absent; funcdata 0 and none */
		const uint32_t tables[] = { 1, 0, 0x30, UINT32_MAX };
		memcpy(f->funcs[i] + FUNC_BYTES, tables, sizeof(tables));
	}
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	set_layout(&f->rt.layout);
	set_functions(f);
	f->module = (struct gr_module){
		.minpc = TEXT,
		.maxpc = TEXT + 0x80,
		.text = TEXT,
		.etext = TEXT + 0x80,
		.gofunc = 0x500000,
		.funcnametab = { (const uint8_t *)names, sizeof(names) },
		.filetab = { (const uint8_t *)files, sizeof(files) },
		.cutab = { (const uint8_t *)f->cutab, sizeof(f->cutab) },
		.pctab = { f->pctab, sizeof(f->pctab) },
		.pclntable = { f->funcs[0], sizeof(f->funcs) },
		.ftab = (const uint8_t *)f->ftab,
		.nftab = 4,
		.pc_quantum = 1,
	};
	f->rt.modules = &f->module;
	f->rt.nmodules = 1;
	return f;
}

static void teardown(struct fixture *f)
{
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

/* One pc-value table at offset 1 for a function [TEXT, TEXT + 0x100). */
struct pcvalue_case {
	const char *name;
	uint8_t bytes[12];
	uint8_t nbytes;
	uint8_t quantum;
	uint64_t pc_off;
	int32_t want;
	bool want_ok;
};

static const struct pcvalue_case pcvalue_cases[] = {
	{ "first step holds from the entry", { 2, 4 }, 3, 1, 0, 0, true },
	{ "first step holds to its last pc", { 2, 4 }, 3, 1, 3, 0, true },
	{ "second step begins at its pc", { 2, 4, 16, 5 }, 5, 1, 4, 8, true },
	{ "zigzag: odd numbers go down", { 18, 4, 15, 5 }, 5, 1, 4, 0, true },
	{ "zigzag: down to -1", { 2, 4, 1, 5 }, 5, 1, 4, -1, true },
	{ "delta 0 is a value in the first step", { 0, 4 }, 3, 1, 1, -1, true },
	{ "delta 0 ends the table later", { 2, 4, 0, 9 }, 5, 1, 4, -1, false },
	{ "two-byte varint as value", { 0x82, 0x02, 4 }, 4, 1, 0, 128, true },
	{ "two-byte varint as pc delta",
	  { 2, 0x80, 0x01, 16, 1 },
	  6,
	  1,
	  128,
	  8,
	  true },
	{ "quantum 4: steps are four times longer",
	  { 2, 4, 16, 5 },
	  5,
	  4,
	  15,
	  0,
	  true },
	{ "quantum 4: the second step", { 2, 4, 16, 5 }, 5, 4, 16, 8, true },
	{ "quantum 0 makes no endless loop", { 2, 4, 2, 4 }, 5, 0, 1, -1, false },
	{ "varint cut off by the table's end",
	  { 2, 4, 0x80 },
	  4,
	  1,
	  9,
	  -1,
	  false },
	{ "varint past 32 bits",
	  { 0xff, 0xff, 0xff, 0xff, 0x7f, 4 },
	  7,
	  1,
	  0,
	  -1,
	  false },
	{ "varint past 64 bits",
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
	  12,
	  1,
	  0,
	  -1,
	  false },
	{ "table without its pc delta", { 2 }, 2, 1, 0, -1, false },
	{ "empty table", { 0 }, 1, 1, 0, -1, false },
	{ "no pc delta ever moves on", { 2, 0, 2, 0, 2, 0 }, 7, 1, 0, -1, false },
};

TEST_ROWS(pcvalue, pcvalue_cases, c)
{
	/* Exactly as long as the case says: the sanitizer sees overruns. */
	uint8_t *pctab = malloc(c->nbytes);
	assert_non_null(pctab);
	pctab[0] = 0;
	memcpy(pctab + 1, c->bytes, c->nbytes - 1);
	struct gr_module module = {
		.pctab = { pctab, c->nbytes },
		.pc_quantum = c->quantum,
	};
	struct gr_func func = {
		.module = &module,
		.entry = TEXT,
		.end = TEXT + 0x100,
	};
	bool ok;

	int32_t value = gr_func_pcvalue(&func, 1, TEXT + c->pc_off, &ok);
	free(pctab);
	assert_int_equal(value, c->want);
	assert_int_equal(ok, c->want_ok);
}

TEST_F(pcvalue_no_table)
{
	struct gr_func func = { .module = &f->module, .entry = TEXT };
	bool ok = true;

	assert_int_equal(gr_func_pcvalue(&func, 0, TEXT, &ok), -1);
	assert_false(ok);
	assert_int_equal(gr_func_pcvalue(&func, 1 << 30, TEXT, NULL), -1);
}

struct find_case {
	const char *name;
	int64_t pc_off;
	const char *want; /* NULL: no function */
};

static const struct find_case find_cases[] = {
	{ "first pc of the module", 0, "main.first" },
	{ "last pc of a function", 0x1f, "main.first" },
	{ "first pc of the next function", 0x20, "main.second" },
	{ "inside the last function", 0x61, "main.third" },
	{ "last pc of the module", 0x7f, "main.third" },
	{ "one past the module", 0x80, NULL },
	{ "one before the module", -1, NULL },
	{ "far away", INT64_MAX - TEXT, NULL },
};

TEST_F_ROWS(find, find_cases, c)
{
	struct gr_func func;

	bool found = gr_func_find(&f->rt, TEXT + c->pc_off, &func);
	if (c->want) {
		assert_true(found);
		assert_string_equal(func.name, c->want);
		assert_true(func.entry <= (uint64_t)(TEXT + c->pc_off));
		assert_true(func.end > (uint64_t)(TEXT + c->pc_off));
	} else {
		assert_false(found);
	}
}

TEST_F(find_damaged)
{
	struct gr_func func;

	f->ftab[1][1] = UINT32_MAX; /* record outside of the table */
	assert_false(gr_func_find(&f->rt, TEXT + 0x20, &func));
	f->ftab[2][1] = sizeof(f->funcs) - 8; /* record cut off */
	assert_false(gr_func_find(&f->rt, TEXT + 0x60, &func));
	f->module.nftab = 1;
	assert_false(gr_func_find(&f->rt, TEXT, &func));
	f->module.nftab = 0;
	assert_false(gr_func_find(&f->rt, TEXT, &func));
}

TEST_F(find_unsorted)
{
	struct gr_func func;

	f->ftab[1][0] = 0xf0000000;
	f->ftab[2][0] = 0x10;
	for (uint64_t off = 0; off < 0x80; off++)
		if (gr_func_find(&f->rt, TEXT + off, &func))
			assert_true(func.entry <= TEXT + off &&
				    TEXT + off < func.end);
}

TEST_F(bad_name)
{
	struct gr_func func;

	set_field(f->funcs[0], f->rt.layout.func.nameoff, 0xffffff);
	assert_true(gr_func_find(&f->rt, TEXT, &func));
	assert_string_equal(func.name, "?");
}

/* The longest name that is taken, and one that has a byte more. */
TEST_F(long_name)
{
	static uint8_t long_names[GR_NAME_MAX_BYTES + 2];
	struct gr_func func;

	memset(long_names, 'n', sizeof(long_names) - 1);
	f->module.funcnametab =
		(struct gr_bytes){ long_names, sizeof(long_names) };
	set_field(f->funcs[0], f->rt.layout.func.nameoff, 1);
	assert_true(gr_func_find(&f->rt, TEXT, &func));
	assert_int_equal(strlen(func.name), GR_NAME_MAX_BYTES);
	set_field(f->funcs[0], f->rt.layout.func.nameoff, 0);
	assert_true(gr_func_find(&f->rt, TEXT, &func));
	assert_string_equal(func.name, "?");
}

TEST_F(tables)
{
	struct gr_func func;

	f->pctab[1] = 6;    /* value 2 ... */
	f->pctab[2] = 0x20; /* for 32 bytes */
	assert_true(gr_func_find(&f->rt, TEXT, &func));
	assert_int_equal(gr_func_pcdata(&f->rt, &func, 0, TEXT + 5), 2);
	assert_int_equal(gr_func_pcdata(&f->rt, &func, 1, TEXT + 5), -1);
	assert_int_equal(gr_func_pcdata(&f->rt, &func, 2, TEXT + 5), -1);
	assert_int_equal(gr_func_funcdata(&f->rt, &func, 0), 0x500030);
	assert_int_equal(gr_func_funcdata(&f->rt, &func, 1), 0);
	assert_int_equal(gr_func_funcdata(&f->rt, &func, 2), 0);
	/* Numbers of tables that do not fit into the record. */
	func.npcdata = UINT32_MAX;
	func.nfuncdata = UINT8_MAX;
	assert_int_equal(gr_func_pcdata(&f->rt, &func, 1 << 30, TEXT), -1);
	assert_int_equal(gr_func_funcdata(&f->rt, &func, 1), 0);
}

TEST_F(line)
{
	struct gr_func func;
	const char *file;
	uint32_t line;

	f->cutab[1] = 1;
	f->pctab[1] = 2; /* file number 0 for 16 bytes */
	f->pctab[2] = 16;
	f->pctab[4] = 86; /* line 42 for 16 bytes */
	f->pctab[5] = 16;
	set_field(f->funcs[0], f->rt.layout.func.pcfile, 1);
	set_field(f->funcs[0], f->rt.layout.func.pcln, 4);
	set_field(f->funcs[0], f->rt.layout.func.cuoffset, 1);
	assert_true(gr_func_find(&f->rt, TEXT, &func));
	assert_true(gr_func_line(&func, TEXT + 3, &file, &line));
	assert_string_equal(file, "/src/main.go");
	assert_int_equal(line, 42);
	assert_false(gr_func_line(&func, TEXT + 16, &file, &line));
	f->cutab[1] = UINT32_MAX;
	assert_false(gr_func_line(&func, TEXT + 3, &file, &line));
	func.cuoffset = UINT32_MAX;
	assert_false(gr_func_line(&func, TEXT + 3, &file, &line));
}

/* A table of a step for each byte of a function of 256 KB, looked up at its end
 * for many pcs: all look-ups together have a bound, and count for the next
 * poll. Most of the bound is taken off before. */
TEST(many_long_lookups)
{
	enum { BYTES = 1 << 18, MAX_STEPS = 1 << 29, LEFT = MAX_STEPS / 16 };
	uint8_t *pctab = malloc(2 * BYTES + 3);
	struct gr_pc_lookups *lookups = malloc(sizeof(*lookups));
	const struct gr_module module = {
		.pctab = { pctab, 2 * BYTES + 3 },
		.pc_quantum = 1,
	};
	const struct gr_func func = { .module = &module,
				      .entry = TEXT,
				      .end = TEXT + BYTES,
				      .lookups = lookups };
	uint64_t found = 0, steps = 0;
	bool ok;

	assert_true(pctab && lookups);
	pctab[0] = 0;
	memset(pctab + 1, 1, 2 * BYTES + 2);
	gr_pc_lookups_init(lookups, &steps);
	assert_int_equal(lookups->left, MAX_STEPS);
	lookups->left = LEFT;
	for (uint64_t i = 1; i <= 1000; i++) {
		gr_func_pcvalue(&func, 1, TEXT + BYTES - i, &ok);
		found += ok;
	}
	assert_in_range(found, LEFT / BYTES - 1, LEFT / BYTES + 1);
	assert_in_range(steps, LEFT / 16, LEFT / 16 * 2);
	// Near values are still found, and those that were found before.
	assert_int_equal(gr_func_pcvalue(&func, 1, TEXT + 100, &ok), -102);
	assert_true(ok);
	gr_func_pcvalue(&func, 1, TEXT + 300, &ok);
	assert_false(ok);
	free(lookups);
	free(pctab);
}

/* The same look-up again costs nothing; others do not get its answer. */
TEST(lookups_are_kept)
{
	enum { BYTES = 1 << 10 };
	uint8_t pctab[2 * BYTES + 3] = { 0 };
	struct gr_pc_lookups lookups;
	const struct gr_module module = {
		.pctab = { pctab, sizeof(pctab) },
		.pc_quantum = 1,
	};
	const struct gr_func func = { .module = &module,
				      .entry = TEXT,
				      .end = TEXT + BYTES,
				      .lookups = &lookups };
	uint64_t steps = 0;
	bool ok;

	for (size_t i = 1; i < sizeof(pctab); i++)
		pctab[i] = i % 2 ? 2 : 1; // each byte one more
	gr_pc_lookups_init(&lookups, &steps);
	for (int round = 0; round < 3; round++) {
		uint64_t before = steps;

		assert_int_equal(gr_func_pcvalue(&func, 1, TEXT + 1000, &ok),
				 1000);
		assert_true(ok);
		assert_int_equal(steps > before, round == 0);
	}
	for (int i = 0; i < BYTES; i++) {
		assert_int_equal(gr_func_pcvalue(&func, 1, TEXT + i, &ok), i);
		assert_true(ok);
	}
}

GR_SUITE("pclntab")
