// SPDX-License-Identifier: Apache-2.0
/*
 * locate: the memory at every kind of address of a made-up process. Each row
 * is a range; its first, its middle and its last byte are asked about, and the
 * bytes beside it, which belong to something else.
 */
#define FAKE_HAS_MAPPINGS
#include "naming/locate.h"
#include "scan/enter.h"

#include "goruntime/layout/c_variable.h"
#include "goruntime/layout/symbols.h"
#include "goruntime/types/types_internal.h"
#include "inferior/elf.h"
#include "scan/native.h"

#include "dwarf_tables.h"
#include "elf_builder.h"
#include "heap_builder.h"
#include "stack_builder.h"

enum {
	BIAS = 0x10000,
	DATA = 0x15000, /* BIAS + main.v of dwarf_tables.h */
	NOPTRDATA = DATA + 0x1000,
	BSS = DATA + 0x2000,
	NOPTRBSS = DATA + 0x3000,
	TYPES = DATA + 0x4000,
	SECTION_BYTES = 0x1000,
	SYMBOL_AT = 0x40,
	SYMBOL_BYTES = 24,
	RECORDS = 0x2000000, /* an m and the g of its signal stack */
	M_GSIGNAL = 72,
	G_STACK_LO = 8,
	SIGNAL_BYTES = 0x8000,
	STACK_BYTES = 1 << 16,
	LIBRARY_BYTES = 0x3000,
	MAPPED_BYTES = 0x4000,
	BOX_TYPE = 0x9000, /* addresses of two runtime type records */
	BIG_TYPE = 0x9100,
};
#define SIGNAL_LO UINT64_C(0x7f0000000000)
#define LIBRARY UINT64_C(0x7f1000000000)
#define C_DATA (LIBRARY + LIBRARY_BYTES)
#define C_BSS (C_DATA + SECTION_BYTES)
#define ANONYMOUS UINT64_C(0x7f2000000000)
#define SYSTEM_LO UINT64_C(0x7f3000000000)
#define FREE_HEAP (HEAP + 100 * PAGE)

/* Functions of the stack. */
enum { GOEXIT, MAIN, CALLEE };

struct world {
	struct fixture *heap;
	struct stack_fixture *stack;
	struct gr_goroutine goroutines[2];
	struct gr_symbol symbol;
	struct gr_program program;
	struct gr_stop stop;
	uint64_t m;
	uint64_t sps[3];
	struct elf_builder file;
	struct gr_elf elf;
};
static struct world *world;

bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret)
{
	static const struct gr_mapping_info mappings[] = {
		{ HEAP, HEAP + ARENA, true, false, NULL },
		{ LIBRARY, LIBRARY + LIBRARY_BYTES, false, true,
		  "/lib/libc.so.6" },
		{ ANONYMOUS, ANONYMOUS + MAPPED_BYTES, true, false, NULL },
	};

	(void)image;
	for (size_t i = 0; i < GR_ARRAY_SIZE(mappings); i++) {
		if (addr < mappings[i].start || addr >= mappings[i].end)
			continue;
		*ret = mappings[i];
		return true;
	}
	return false;
}

/* In place of the one in enter.c, which needs the real image. Nobody calls it. */
struct gr_error *gr_scan_enter(struct gr_scan *scan,
			       struct gr_sigbus_guard *guard,
			       struct gr_answers **ret)
{
	(void)scan;
	(void)guard;
	(void)ret;
	abort();
}

/* In place of the one that reads debug information: there is none of C. */
struct gr_error *gr_stop_c_variable(struct gr_stop *stop, uint64_t addr,
				    struct gr_c_typed *ret)
{
	(void)stop;
	*ret = (struct gr_c_typed){ addr, GR_TYPE_NONE };
	return NULL;
}

// ------------------------------------------------------------------ a world

/* Slots of 48 bytes without headers, of 1024 with one, and one large object.
 * Every second slot of the first span is in use. */
static void make_heap(struct world *w)
{
	struct fixture *f = w->heap;
	const struct shape shapes[] = {
		{ HEAP, 1, 48, 170, 10, 0, 0, BITS, 0 },
		{ HEAP + PAGE, 1, 1024, 8, 60, 0, 8, BITS + 0x400, 0 },
		{ HEAP + 2 * PAGE, 4, 4 * PAGE, 1, 0, 0, 1, BITS + 0x800, 0 },
	};

	fake_add(&f->image, HEAP, 6 * PAGE);
	fake_set(&f->image, ARENA_MAP + HEAP / ARENA * 8, RECORDS, 8);
	for (int i = 0; i < 22; i++)
		fake_set(&f->image, BITS + i, 0x55, 1);
	for (size_t i = 0; i < GR_ARRAY_SIZE(shapes); i++)
		put_span(f, shapes[i]);
	fake_set(&f->image, MSPANS + 2 * MSPAN_BYTES + 56, BIG_TYPE, 8);
	// Headers of the first two of the slots with one.
	fake_set(&f->image, HEAP + PAGE, BOX_TYPE, 8);
	fake_set(&f->image, HEAP + PAGE + 1024, BIG_TYPE, 8);
	read_heap(f);
	assert_null(gr_heap_map(f->heap));
}

/* The types of dwarf_tables.h, and what two records of the runtime say. */
static void make_types(struct world *w)
{
	struct fixture *f = w->heap;
	struct gr_module *m = &w->stack->module;

	m->dwarf = tables_create();
	m->bias = BIAS;
	f->rt.modules = m;
	f->rt.nmodules = 1;
	f->rt.arena = &w->program.arena;
	gr_types_destroy(f->types);
	assert_null(gr_types_create(&f->rt, &f->types));
	gr_type_id node = gr_types_find(f->types, "main.Größe");
	assert_int_not_equal(node, GR_TYPE_NONE);
	assert_null(gr_type_ref_add(f->types, GR_REF_RUNTIME, BOX_TYPE, node));
	struct gr_type big = {
		.name = "[512]int",
		.kind = GR_KIND_ARRAY,
		.size_bytes = 1000,
		.elem = GR_TYPE_NONE,
		.key = GR_TYPE_NONE,
		.header = GR_TYPE_NONE,
	};
	assert_true(gr_type_vector_append(&f->types->types, big));
	assert_null(gr_type_ref_add(f->types, GR_REF_RUNTIME, BIG_TYPE,
				    f->types->types.size - 1));
}

static void make_sections(struct world *w)
{
	struct gr_module *m = &w->stack->module;

	m->data = DATA;
	m->edata = DATA + SECTION_BYTES;
	m->noptrdata = NOPTRDATA;
	m->enoptrdata = NOPTRDATA + SECTION_BYTES;
	m->bss = BSS;
	m->ebss = BSS + SECTION_BYTES;
	m->noptrbss = NOPTRBSS;
	m->enoptrbss = NOPTRBSS + SECTION_BYTES;
	m->types = TYPES;
	m->etypes = TYPES + SECTION_BYTES;
	w->symbol = (struct gr_symbol){ "main.plain", BSS + SYMBOL_AT,
					SYMBOL_BYTES };
	w->program.rt.symbols = &w->symbol;
	w->program.rt.nsymbols = 1;
}

/* A library with data and bss, and no symbols. */
static void make_library(struct world *w)
{
	struct elf_builder *b = &w->file;

	builder_init(b, ET_DYN);
	builder_load(b, C_DATA, SECTION_BYTES, PF_R | PF_W, 0)->p_memsz =
		2 * SECTION_BYTES;
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &w->elf));
	w->stack->image.elf = &w->elf;
}

/* A goroutine with three frames, a system stack, a thread's signal stack. */
static void make_stacks(struct world *w)
{
	static const size_t calls[] = { GOEXIT, MAIN, CALLEE };
	struct stack_fixture *f = w->stack;
	struct gr_layout *layout = &f->rt.layout;

	put_func(f, (struct func_shape){ .name = "runtime.goexit",
					 .flag = GR_FUNC_TOP_FRAME });
	put_func(f,
		 (struct func_shape){ .name = "main.main", .frame_bytes = 64 });
	put_func(f, (struct func_shape){ .name = "main.f", .frame_bytes = 40 });
	put_frames(f, calls, 3, w->sps);
	f->g.goid = 17;
	run_stack_well(f);
	w->goroutines[0] = f->g;
	w->goroutines[1] = (struct gr_goroutine){
		.is_g0 = true,
		.stack_lo = SYSTEM_LO,
		.stack_hi = SYSTEM_LO + STACK_BYTES,
	};
	layout->m.gsignal = (struct gr_field){ M_GSIGNAL, 8 };
	layout->consts.arena_bytes = 1 << GR_ARENA_SHIFT;
	layout->consts.arena_l2_bits = 22;
	layout->g.stack_lo = (struct gr_field){ G_STACK_LO, 8 };
	layout->g.stack_hi = (struct gr_field){ G_STACK_LO + 8, 8 };
	fake_add(&f->image, RECORDS, 0x1000);
	w->m = RECORDS;
	fake_set(&f->image, w->m + M_GSIGNAL, RECORDS + 0x800, 8);
	fake_words(&f->image, RECORDS + 0x808, SIGNAL_LO,
		   SIGNAL_LO + SIGNAL_BYTES);
}

static struct world *make_world(void)
{
	world = suite_alloc(sizeof(*world));

	world->heap = setup();
	world->stack = stack_new(STACK_BYTES);
	make_types(world);
	make_heap(world);
	make_stacks(world);
	struct gr_stop *stop = &world->stop;
	stop->program = &world->program;
	stop->sched.rt = &stop->program->rt;
	stop->image = &world->stack->image;
	stop->program->rt = world->stack->rt;
	stop->program->types = world->heap->types;
	stop->heap = world->heap->heap;
	stop->sched.goroutines = world->goroutines;
	stop->sched.ngoroutines = 2;
	stop->sched.ms = &world->m;
	stop->sched.nms = 1;
	make_sections(world);
	make_library(world);
	return world;
}

static void free_world(struct world *w)
{
	gr_c_variables_deinit(&w->program.rt.c_variables);
	gr_dwarf_destroy(w->stack->module.dwarf);
	stack_free(w->stack);
	teardown(w->heap);
	gr_arena_deinit(&w->program.arena);
	free(w);
}

#undef FIXTURE
#define FIXTURE struct world *w, make_world, free_world

// --------------------------------------------------------------- the ranges

struct place {
	const char *name;
	uint64_t start, end; /* of the memory; frames: see frame */
	struct gr_located want;
	int frame; /* 1 + a number of sps; its range is not a constant */
};

#define SLOT(i) (HEAP + (i)*48)
#define BIG_SLOT(i) (HEAP + PAGE + (i)*1024)
#define OBJECT(type_name, start, size, slot, class)                         \
	{                                                                   \
		.kind = GR_LOCATED_OBJECT, .base_addr = (start),            \
		.bytes = (size), .type = (type_name), .slot_bytes = (slot), \
		.spanclass = (class)                                        \
	}

static const struct place places[] = {
	{ "an object", SLOT(2), SLOT(3), OBJECT("", SLOT(2), 48, 48, 10), 0 },
	{ "the last slot", SLOT(168), SLOT(169),
	  OBJECT("", SLOT(168), 48, 48, 10), 0 },
	{ "a free slot",
	  SLOT(3),
	  SLOT(4),
	  { .kind = GR_LOCATED_FREE_SLOT,
	    .base_addr = SLOT(3),
	    .bytes = 48,
	    .slot_bytes = 48,
	    .spanclass = 10,
	    .text = "free slot of the heap" },
	  0 },
	{ "the end of a span",
	  SLOT(170),
	  HEAP + PAGE,
	  { .kind = GR_LOCATED_SPAN_END,
	    .spanclass = 10,
	    .text = "unused end of a heap span" },
	  0 },
	{ "an array by its header", BIG_SLOT(0), BIG_SLOT(1),
	  OBJECT("[]main.Größe", BIG_SLOT(0) + 8, 1016, 1024, 60), 0 },
	{ "one value by its header", BIG_SLOT(1), BIG_SLOT(2),
	  OBJECT("[512]int", BIG_SLOT(1) + 8, 1016, 1024, 60), 0 },
	{ "a header of nil", BIG_SLOT(2), BIG_SLOT(3),
	  OBJECT("", BIG_SLOT(2) + 8, 1016, 1024, 60), 0 },
	{ "a large object", HEAP + 2 * PAGE, HEAP + 6 * PAGE,
	  OBJECT("[][512]int", HEAP + 2 * PAGE, 4 * PAGE, 4 * PAGE, 0), 0 },
	{ "free memory of the heap",
	  FREE_HEAP,
	  FREE_HEAP + PAGE,
	  { .kind = GR_LOCATED_FREE_HEAP,
	    .text = "free memory of the Go heap" },
	  0 },
	{ "a frame",
	  0,
	  0,
	  { .kind = GR_LOCATED_STACK,
	    .name = "main.f",
	    .goroutine_id = 17,
	    .text = "stack of goroutine 17, frame of main.f" },
	  3 },
	{ "its caller's frame",
	  0,
	  0,
	  { .kind = GR_LOCATED_STACK,
	    .name = "main.main",
	    .goroutine_id = 17,
	    .text = "stack of goroutine 17, frame of main.main" },
	  2 },
	{ "the unused part of a stack",
	  STACK_HI - STACK_BYTES,
	  STACK_HI - STACK_BYTES / 2,
	  { .kind = GR_LOCATED_STACK,
	    .goroutine_id = 17,
	    .text = "stack of goroutine 17" },
	  0 },
	{ "a system stack",
	  SYSTEM_LO,
	  SYSTEM_LO + STACK_BYTES,
	  { .kind = GR_LOCATED_SYSTEM_STACK,
	    .text = "system stack of a thread" },
	  0 },
	{ "a signal stack",
	  SIGNAL_LO,
	  SIGNAL_LO + SIGNAL_BYTES,
	  { .kind = GR_LOCATED_SIGNAL_STACK,
	    .text = "signal stack of a thread" },
	  0 },
	{ "a variable of DWARF",
	  DATA,
	  DATA + 8,
	  { .kind = GR_LOCATED_DATA,
	    .base_addr = DATA,
	    .bytes = 8,
	    .type = "*main.Größe",
	    .name = "main.v",
	    .section = "data",
	    .text = "data: variable main.v" },
	  0 },
	{ "data behind it",
	  DATA + 8,
	  DATA + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA, .section = "data", .text = "data" },
	  0 },
	{ "a variable of the symbol table",
	  BSS + SYMBOL_AT,
	  BSS + SYMBOL_AT + SYMBOL_BYTES,
	  { .kind = GR_LOCATED_DATA,
	    .base_addr = BSS + SYMBOL_AT,
	    .bytes = SYMBOL_BYTES,
	    .name = "main.plain",
	    .section = "bss",
	    .text = "bss: variable main.plain" },
	  0 },
	{ "bss before it",
	  BSS,
	  BSS + SYMBOL_AT,
	  { .kind = GR_LOCATED_DATA, .section = "bss", .text = "bss" },
	  0 },
	{ "data without pointers",
	  NOPTRDATA,
	  NOPTRDATA + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA,
	    .section = "noptrdata",
	    .text = "noptrdata" },
	  0 },
	{ "bss without pointers",
	  NOPTRBSS,
	  NOPTRBSS + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA, .section = "noptrbss", .text = "noptrbss" },
	  0 },
	{ "type data",
	  TYPES,
	  TYPES + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA,
	    .section = "type data",
	    .text = "type data" },
	  0 },
	{ "a mapped file",
	  LIBRARY,
	  LIBRARY + LIBRARY_BYTES,
	  { .kind = GR_LOCATED_MAPPED_FILE,
	    .name = "/lib/libc.so.6",
	    .text = "mapped from /lib/libc.so.6" },
	  0 },
	{ "data of a library",
	  C_DATA,
	  C_DATA + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA, .section = "data", .text = "data of " },
	  0 },
	{ "bss of a library",
	  C_BSS,
	  C_BSS + SECTION_BYTES,
	  { .kind = GR_LOCATED_DATA, .section = "bss", .text = "bss of " },
	  0 },
	{ "memory of no file",
	  ANONYMOUS,
	  ANONYMOUS + MAPPED_BYTES,
	  { .kind = GR_LOCATED_OUTSIDE, .text = "memory outside the Go heap" },
	  0 },
	{ "no memory",
	  0,
	  0x1000,
	  { .kind = GR_LOCATED_UNMAPPED, .text = "unmapped" },
	  0 },
};

static struct gr_located locate(uint64_t addr)
{
	struct gr_located at;
	assert_null(gr_stop_locate(&world->stop, addr, &at));
	assert_int_equal(at.addr, addr);
	return at;
}

static void check_text(const char *got, const char *want)
{
	assert_non_null(got);
	assert_string_equal(got, want ? want : "");
}

static void check_located(uint64_t addr, const struct gr_located *want)
{
	struct gr_located at = locate(addr);

	if (at.kind != want->kind)
		fail_msg("0x%llx is \"%s\", not \"%s\"",
			 (unsigned long long)addr,
			 gr_located_kind_name(at.kind),
			 gr_located_kind_name(want->kind));
	assert_int_equal(at.base_addr, want->base_addr);
	assert_int_equal(at.bytes, want->bytes);
	assert_int_equal(at.goroutine_id, want->goroutine_id);
	assert_int_equal(at.slot_bytes, want->slot_bytes);
	assert_int_equal(at.spanclass, want->spanclass);
	check_text(at.type, want->type);
	check_text(at.name, want->name);
	check_text(at.section, want->section);
	check_text(at.text, want->text);
}

static bool is_same(const struct gr_located *a, const struct gr_located *b)
{
	return a->kind == b->kind && a->base_addr == b->base_addr &&
	       !strcmp(a->text, b->text) && !strcmp(a->name, b->name);
}

/* The bytes beside a range belong to something else. */
static void check_beside(const struct place *p)
{
	struct gr_located inside = locate(p->start), at;
	bool is_part = p->want.kind == GR_LOCATED_FREE_HEAP ||
		       p->want.kind == GR_LOCATED_UNMAPPED ||
		       (p->want.kind == GR_LOCATED_STACK && !p->frame);

	if (is_part)
		return;
	at = locate(p->end);
	assert_false(is_same(&inside, &at));
	at = locate(p->start - 1);
	assert_false(is_same(&inside, &at));
}

TEST_F_ROWS(place, places, c)
{
	struct place p = *c;

	if (p.frame) {
		p.start = world->sps[p.frame - 1];
		p.end = world->sps[p.frame - 2];
		p.want.base_addr = p.start;
		p.want.bytes = p.end - p.start;
	}
	check_located(p.start, &p.want);
	check_located(p.start + (p.end - p.start) / 2, &p.want);
	check_located(p.end - 1, &p.want);
	check_beside(&p);
}

// --------------------------------------------------------------- other tests

/* Text has a function and an offset for each address. */
TEST_F(text)
{
	struct gr_located at = locate(func_entry(MAIN) + 0x2f);

	assert_int_equal(at.kind, GR_LOCATED_TEXT);
	assert_string_equal(at.name, "main.main");
	assert_string_equal(at.text, "text: main.main+0x2f");
	assert_int_equal(at.base_addr, func_entry(MAIN));
	at = locate(func_entry(CALLEE));
	assert_string_equal(at.text, "text: main.f+0x0");
	at = locate(func_entry(CALLEE) - 1);
	assert_string_equal(at.text, "text: main.main+0xff");
	assert_int_equal(locate(func_entry(CALLEE) + FUNC_TEXT).kind,
			 GR_LOCATED_UNMAPPED);
}

/* Damage of a thread's record hides its signal stack, and nothing else. */
TEST_F(torn_thread)
{
	uint64_t gone = UINT64_C(0xdead0000);

	world->m = gone;
	assert_int_equal(locate(SIGNAL_LO).kind, GR_LOCATED_UNMAPPED);
	assert_int_equal(locate(DATA).kind, GR_LOCATED_DATA);
	world->m = RECORDS;
	fake_set(&world->stack->image, RECORDS + M_GSIGNAL, gone, 8);
	assert_int_equal(locate(SIGNAL_LO).kind, GR_LOCATED_UNMAPPED);
	assert_int_equal(locate(LIBRARY).kind, GR_LOCATED_MAPPED_FILE);
}

/* A torn list of goroutines leaves none, and no array of them. */
TEST_F(no_goroutines)
{
	world->stop.sched.goroutines = NULL;
	world->stop.sched.ngoroutines = 0;
	assert_int_equal(locate(LIBRARY).kind, GR_LOCATED_MAPPED_FILE);
}

/* A header that leads nowhere gives no type. */
TEST_F(wild_header)
{
	struct fixture *f = world->heap;

	fake_set(&f->image, BIG_SLOT(3), UINT64_C(0xdeadbeef), 8);
	struct gr_located at = locate(BIG_SLOT(3) + 100);
	assert_int_equal(at.kind, GR_LOCATED_OBJECT);
	assert_string_equal(at.type, "");
}

/* Every address of the heap lies in the slot that a search over all spans
 * finds, and in no other. */
TEST_F(all_of_the_heap)
{
	const struct gr_heap *heap = world->heap->heap;

	for (uint64_t addr = HEAP - 24; addr < HEAP + 6 * PAGE + 24;
	     addr += 8) {
		struct gr_located at = locate(addr);
		gr_obj obj = naive_object(heap, addr);
		bool is_object = at.kind == GR_LOCATED_OBJECT;

		assert_int_equal(is_object,
				 obj != GR_OBJ_NONE &&
					 gr_heap_is_allocated(heap, obj));
		assert_int_equal(at.kind == GR_LOCATED_FREE_SLOT,
				 obj != GR_OBJ_NONE && !is_object);
		if (is_object)
			assert_int_equal(at.base_addr,
					 gr_heap_object_addr(heap, obj));
	}
}

GR_SUITE("locate")
