/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stack_builder: a goroutine's stack of made-up functions, with the tables
 * that tell how to unwind it and what lives there.
 */
#pragma once

#include "base/bitmap.h"
#include "goruntime/sched/goroutine.h"

#include "fake_image.h"
#include "suite.h"

enum {
	TEXT = 0x400000,
	FUNC_TEXT = 0x100, /* of each */
	FUNC_RECORD = 44,
	GOFUNC = 0x500000, /* maps and lists of objects */
	RODATA = 0x600000, /* masks of objects */
	DEFERS = 0x700000,
	TABLE_BYTES = 0x10000,
	MAX_FUNCS = 8,
	RECORD_BYTES = 20, /* of a stack object */
	DEFER_BYTES = 40,
	AT_CALL = 0x20, /* where calls return to, in every function */
};
#define STACK_HI UINT64_C(0xc000800000)

/** A function as a test describes it. */
struct func_shape {
	const char *name;
	uint32_t frame_bytes; /* without the return address */
	uint32_t args_bytes;
	uint32_t deferreturn;
	uint8_t flag;
};

struct stack_fixture {
	struct gr_image image;
	struct gr_gaps gaps;
	struct gr_arena arena;
	struct gr_runtime rt;
	struct gr_sched sched;
	struct gr_module module;
	struct gr_goroutine g;
	uint32_t ftab[MAX_FUNCS + 1][2];
	uint8_t funcs[MAX_FUNCS][FUNC_RECORD + 5 * 4];
	uint8_t pctab[256];
	char names[256];
	size_t nfuncs, pctab_end, names_end;
	uint64_t gofunc_end; /* of what is in use there */
	uint64_t npolls, polls_left;
};

static inline struct gr_error *count_poll(void *ctx)
{
	struct stack_fixture *f = ctx;

	f->npolls++;
	return f->polls_left && !--f->polls_left ?
		       gr_error_format(GR_ERROR_INTERRUPTED, "interrupted") :
		       NULL;
}

static inline void put_field(uint8_t *record, struct gr_field field,
			     uint64_t value)
{
	memcpy(record + field.off, &value, field.bytes);
}

static inline void set_stack_layout(struct gr_layout *layout)
{
	layout->func.size_bytes = FUNC_RECORD;
	layout->func.nameoff = (struct gr_field){ 4, 4 };
	layout->func.args = (struct gr_field){ 8, 4 };
	layout->func.deferreturn = (struct gr_field){ 12, 4 };
	layout->func.pcsp = (struct gr_field){ 16, 4 };
	layout->func.npcdata = (struct gr_field){ 28, 4 };
	layout->func.func_id = (struct gr_field){ 40, 1 };
	layout->func.flag = (struct gr_field){ 41, 1 };
	layout->func.nfuncdata = (struct gr_field){ 43, 1 };
	layout->stack_object.size_bytes = RECORD_BYTES;
	layout->stack_object.off = (struct gr_field){ 0, 4 };
	layout->stack_object.size = (struct gr_field){ 4, 4 };
	layout->stack_object.ptr_bytes = (struct gr_field){ 8, 4 };
	layout->stack_object.gcdataoff = (struct gr_field){ 12, 4 };
	layout->defer.size_bytes = DEFER_BYTES;
	layout->defer.heap = (struct gr_field){ 0, 1 };
	layout->defer.sp = (struct gr_field){ 8, 8 };
	layout->defer.fn = (struct gr_field){ 16, 8 };
	layout->defer.link = (struct gr_field){ 24, 8 };
	layout->consts.grunning = 2;
}

/** A fixture with a stack of so many bytes below STACK_HI. */
static inline struct stack_fixture *stack_new(uint64_t stack_bytes)
{
	struct stack_fixture *f = suite_alloc(sizeof(*f));

	set_stack_layout(&f->rt.layout);
	f->rt.image = &f->image;
	f->rt.gaps = &f->gaps;
	f->sched.rt = &f->rt;
	f->rt.arena = &f->arena;
	f->rt.arch = &gr_arch_x86_64;
	f->rt.poll = count_poll;
	f->rt.poll_ctx = f;
	f->rt.modules = &f->module;
	f->rt.nmodules = 1;
	f->sched.goroutines = &f->g;
	f->sched.ngoroutines = 1;
	f->pctab_end = f->names_end = 1; // 0 is no table.
	fake_add(&f->image, STACK_HI - stack_bytes, stack_bytes);
	fake_add(&f->image, GOFUNC, TABLE_BYTES);
	fake_add(&f->image, RODATA, TABLE_BYTES);
	fake_add(&f->image, DEFERS, TABLE_BYTES);
	f->g.stack_lo = STACK_HI - stack_bytes;
	f->g.stack_hi = f->g.stack.end = STACK_HI;
	f->g.stack.start = f->g.stack_lo;
	f->g.state = f->g.wait_reason = "";
	f->module = (struct gr_module){
		.minpc = TEXT,
		.text = TEXT,
		.gofunc = GOFUNC,
		.rodata = RODATA,
		.funcnametab = { (const uint8_t *)f->names, sizeof(f->names) },
		.pctab = { f->pctab, sizeof(f->pctab) },
		.pclntable = { f->funcs[0], sizeof(f->funcs) },
		.ftab = (const uint8_t *)f->ftab,
		.pc_quantum = 1,
	};
	return f;
}

static inline void stack_free(struct stack_fixture *f)
{
	free(f->g.frames);
	free(f->g.values);
	free(f->g.stack.live);
	free(f->g.stack.conservative);
	gr_arena_deinit(&f->arena);
	fake_deinit(&f->image);
	free(f);
}

/* A table of one step: that value (from -1 on) in all of the function. */
static inline uint32_t put_pcvalue(struct stack_fixture *f, uint32_t value)
{
	uint32_t at = f->pctab_end;

	assert_true(at + 8 < sizeof(f->pctab));
	for (uint64_t left = 2 * ((uint64_t)value + 1);; left >>= 7) {
		f->pctab[f->pctab_end++] = (left & 0x7f) | (left > 127) << 7;
		if (left <= 127)
			break;
	}
	f->pctab[f->pctab_end++] = 0x80 | (FUNC_TEXT & 0x7f);
	f->pctab[f->pctab_end++] = FUNC_TEXT >> 7;
	return at;
}

/** Add a function; its number. It has no maps and no objects yet. */
static inline size_t put_func(struct stack_fixture *f, struct func_shape s)
{
	const typeof(f->rt.layout.func) *l = &f->rt.layout.func;
	size_t i = f->nfuncs++;
	uint8_t *record = f->funcs[i];
	// PCDATA 0 and 1, FUNCDATA 0 to 2.
	const uint32_t tables[] = { 0, put_pcvalue(f, 0), UINT32_MAX,
				    UINT32_MAX, UINT32_MAX };

	assert_true(i < MAX_FUNCS);
	assert_true(f->names_end + strlen(s.name) < sizeof(f->names));
	f->ftab[i][0] = i * FUNC_TEXT;
	f->ftab[i][1] = i * sizeof(f->funcs[0]);
	f->ftab[i + 1][0] = (i + 1) * FUNC_TEXT;
	f->module.nftab = i + 2;
	f->module.maxpc = f->module.etext = TEXT + (i + 1) * FUNC_TEXT;
	put_field(record, l->nameoff, f->names_end);
	put_field(record, l->args, s.args_bytes);
	put_field(record, l->deferreturn, s.deferreturn);
	put_field(record, l->pcsp, put_pcvalue(f, s.frame_bytes));
	put_field(record, l->npcdata, 2);
	put_field(record, l->flag, s.flag);
	put_field(record, l->nfuncdata, 3);
	memcpy(record + FUNC_RECORD, tables, sizeof(tables));
	memcpy(f->names + f->names_end, s.name, strlen(s.name) + 1);
	f->names_end += strlen(s.name) + 1;
	return i;
}

static inline uint64_t func_entry(size_t func)
{
	return TEXT + func * FUNC_TEXT;
}

/** Where one of the function's calls returns to. */
static inline uint64_t func_pc(size_t func)
{
	return func_entry(func) + AT_CALL;
}

/* So many bytes of the function's data, in the image. */
static inline uint64_t put_funcdata(struct stack_fixture *f, size_t func,
				    uint32_t which, uint64_t bytes)
{
	uint32_t off = f->gofunc_end;

	memcpy(f->funcs[func] + FUNC_RECORD + (2 + which) * 4, &off, 4);
	f->gofunc_end += (bytes + 7) & ~UINT64_C(7);
	assert_true(f->gofunc_end <= TABLE_BYTES);
	return GOFUNC + off;
}

/** A map of so many bits, of which the first 64 may be set. */
static inline void put_map(struct stack_fixture *f, size_t func, uint32_t which,
			   int32_t nbits, uint64_t bits)
{
	uint64_t at = put_funcdata(f, func, which, 16);

	fake_set(&f->image, at, 1, 4);
	fake_set(&f->image, at + 4, (uint32_t)nbits, 4);
	fake_set(&f->image, at + 8, bits, 8);
}

/** A stack object's record. */
static inline void put_object(struct stack_fixture *f, uint64_t at, int32_t off,
			      uint32_t bytes, int32_t ptr_bytes,
			      uint32_t gcdataoff)
{
	fake_set(&f->image, at, (uint32_t)off, 4);
	fake_set(&f->image, at + 4, bytes, 4);
	fake_set(&f->image, at + 8, (uint32_t)ptr_bytes, 4);
	fake_set(&f->image, at + 12, gcdataoff, 4);
}

/** The list of a function's objects: where its records begin. */
static inline uint64_t put_objects(struct stack_fixture *f, size_t func,
				   uint64_t count, uint64_t room)
{
	uint64_t at = put_funcdata(f, func, GR_FUNCDATA_STACK_OBJECTS,
				   8 + room * RECORD_BYTES);

	fake_set(&f->image, at, count, 8);
	return at + 8;
}

/**
 * Lay out frames, the outermost function first; the goroutine stands in the
 * last one. Fills @p sps with their stack pointers, if given.
 */
static inline void put_frames(struct stack_fixture *f, const size_t *funcs,
			      size_t n, uint64_t *sps)
{
	uint64_t sp = f->g.stack_hi;

	for (size_t i = 0; i < n; i++) {
		struct gr_func func;
		uint32_t frame_bytes;
		bool ok;

		assert_true(gr_func_find(&f->rt, func_pc(funcs[i]), &func));
		frame_bytes = gr_func_spdelta(&func, func_pc(funcs[i]), &ok);
		assert_true(ok);
		sp -= 8;
		fake_set(&f->image, sp, i ? func_pc(funcs[i - 1]) : 0, 8);
		sp -= frame_bytes;
		if (sps)
			sps[i] = sp;
	}
	f->g.sp = f->g.stack.start = sp;
	f->g.pc = func_pc(funcs[n - 1]);
}

/** Unwind it, and find out what lives. */
static inline struct gr_error *run_stack(struct stack_fixture *f)
{
	struct gr_error *err = gr_goroutines_unwind(&f->sched);

	return err ? err : gr_goroutines_mark_live(&f->sched);
}

static inline void run_stack_well(struct stack_fixture *f)
{
	assert_null(run_stack(f));
}

/** 'p': live, 'c': perhaps, '.': not; words from an address on. */
static inline void check_words(const struct stack_fixture *f, uint64_t addr,
			       const char *want)
{
	const struct gr_area *area = &f->g.stack;

	for (; *want; want++, addr += GR_WORD_BYTES) {
		size_t word = (addr - area->start) / GR_WORD_BYTES;
		char got = !gr_bitmap_test(area->live, word)	    ? '.' :
			   gr_bitmap_test(area->conservative, word) ? 'c' :
								      'p';

		if (got != *want)
			fail_msg("word at 0x%llx is '%c', not '%c'",
				 (unsigned long long)addr, got, *want);
	}
}
