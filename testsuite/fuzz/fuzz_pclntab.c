// SPDX-License-Identifier: Apache-2.0
/*
 * A made-up module: tables of functions, stack maps, stack objects and a
 * stack. The input is XORed over all of it; no input is a module that works.
 */
#include "fuzz.h"
#include "goruntime/sched/goroutine.h"
#include "goruntime/sched/unwind.h"
#include "testsuite/unit/fake_image.h"

enum {
	TEXT = 0x400000,
	TEXT_BYTES = 0x200,
	FUNC_BYTES = 44,
	RODATA = 0x500000,
	RODATA_BYTES = 512,
	STACK = 0x700000,
	STACK_BYTES = 512,
	NTABLES = 5,
};

/** Tables of pclntab, each of its own so that overruns are seen. */
static struct table {
	uint8_t *data;
	size_t bytes;
} tables[NTABLES] = {
	{ NULL, 256 }, // funcnametab, filetab
	{ NULL, 16 },  // cutab
	{ NULL, 96 },  // pctab
	{ NULL, 256 }, // pclntable
	{ NULL, 48 },  // ftab
};

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
	layout->bitvector.size_bytes = 16;
	layout->bitvector.n = (struct gr_field){ 0, 4 };
	layout->bitvector.bytedata = (struct gr_field){ 8, 8 };
	layout->stack_object.size_bytes = 16;
	layout->stack_object.off = (struct gr_field){ 0, 4 };
	layout->stack_object.size = (struct gr_field){ 4, 4 };
	layout->stack_object.ptr_bytes = (struct gr_field){ 8, 4 };
	layout->stack_object.gcdataoff = (struct gr_field){ 12, 4 };
	layout->vars.method_value_objs = RODATA + 160;
}

static void set_words(uint8_t *p, const uint32_t *words, size_t count)
{
	memcpy(p, words, count * sizeof(*words));
}

// Four functions of 0x80 bytes, the first of them one of reflect's; every
// one has all tables, and calls the next.
static void fill_tables(void)
{
	static const char names[] = "\0reflect.makeFuncStub\0main.second"
				    "\0main.third\0main.go";
	static const uint32_t nameoffs[] = { 1, 23, 35, 46 };
	static const uint8_t pctab[] = { 0, 34, 0x80, 1, 0, 2, 0x80,
					 1, 0,	4,    8, 3, 8, 0 };

	for (size_t i = 0; i < NTABLES; i++)
		memset(tables[i].data, 0, tables[i].bytes);
	memcpy(tables[0].data, names, sizeof(names));
	memcpy(tables[2].data, pctab, sizeof(pctab));
	for (uint32_t i = 0; i < 5; i++)
		set_words(tables[4].data + 8 * i,
			  (uint32_t[]){ 0x80 * i, 64 * i }, 2);
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t record[] = {
			0x80 * i, nameoffs[i], i ? 16 : GR_FUNC_ARGS_UNKNOWN,
			i,	  1,	       5,
			9,	  2,	       0,
			0,	  4u << 24,    5,
			5,	  0,	       32,
			64,	  96,
		};
		set_words(tables[3].data + 64 * i, record, 16);
	}
}

static void fill_memory(struct gr_image *image)
{
	uint8_t *rodata = fake_add(image, RODATA, RODATA_BYTES);
	uint8_t *stack = fake_add(image, STACK, STACK_BYTES);

	set_words(rodata, (uint32_t[]){ 2, 3, 0x07050301 }, 3);
	set_words(rodata + 32, (uint32_t[]){ 2, 2, 0x0301 }, 3);
	set_words(rodata + 64, (uint32_t[]){ 2, 0, -16u, 16, 8, 256 }, 6);
	set_words(rodata + 80, (uint32_t[]){ 0, 24, -24u, 264 }, 4);
	set_words(rodata + 160, (uint32_t[]){ -16u, 16, 16, 256 }, 4);
	set_words(rodata + 256, (uint32_t[]){ 3, 0, 4, 0x02830703 }, 4);
	for (uint32_t i = 0; i < STACK_BYTES / 8; i++)
		set_words(stack + 8 * i, (uint32_t[]){ STACK + 8 * i, 0 }, 2);
	// Frames of 16 bytes and a return address.
	for (uint32_t i = 1; i < 4; i++)
		set_words(stack + 24 * i - 8,
			  (uint32_t[]){ TEXT + 0x80 * i + 9, 0 }, 2);
}

static void xor_over(struct fuzz_input *in, uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes && in->bytes; i++)
		data[i] ^= fuzz_take(in, 1);
}

static void look_up(struct gr_runtime *rt)
{
	struct gr_func func;
	const char *file;
	uint32_t line;
	bool ok;

	for (uint64_t pc = TEXT - 1; pc < TEXT + TEXT_BYTES + 1; pc += 7) {
		if (!gr_func_find(rt, pc, &func))
			continue;
		if (pc < func.entry || pc >= func.end)
			abort();
		gr_func_spdelta(&func, pc, &ok);
		for (uint32_t i = 0; i < 4; i++)
			gr_func_pcdata(rt, &func, i, pc);
		gr_func_line(&func, pc, &file, &line);
	}
}

static void unwind(struct gr_runtime *rt, struct gr_goroutine *g)
{
	struct gr_unwinder u;
	struct gr_pc_cache *cache = calloc(1, sizeof(*cache));
	struct gr_frame frames[STACK_BYTES];
	size_t n = 0;

	if (!cache)
		abort();
	for (bool more = gr_unwind_start(&u, rt, g, cache); more;
	     more = gr_unwind_next(&u)) {
		if (n == GR_ARRAY_SIZE(frames))
			abort();
		frames[n++] = u.frame;
	}
	g->frames = frames;
	g->nframes = n;
	g->unknown_start = u.unknown_start;
	fuzz_check_error(gr_stack_mark_live(rt, g));
	free(g->stack.live);
	free(g->stack.conservative);
	free(cache);
}

static void run(struct fuzz_input *in, struct gr_image *image)
{
	struct gr_gaps gaps = { 0 };
	struct gr_arena arena = { 0 };
	struct gr_regs regs = { 0 };
	struct gr_module module = {
		.minpc = TEXT,
		.maxpc = TEXT + TEXT_BYTES,
		.text = TEXT,
		.etext = TEXT + TEXT_BYTES,
		.gofunc = RODATA,
		.rodata = RODATA,
		.funcnametab = { tables[0].data, tables[0].bytes },
		.filetab = { tables[0].data, tables[0].bytes },
		.cutab = { tables[1].data, tables[1].bytes },
		.pctab = { tables[2].data, tables[2].bytes },
		.pclntable = { tables[3].data, tables[3].bytes },
		.ftab = tables[4].data,
		.nftab = tables[4].bytes / 8,
		.pc_quantum = 1,
	};
	struct gr_runtime rt = { .image = image,
				 .arch = &gr_arch_x86_64,
				 .gaps = &gaps,
				 .arena = &arena,
				 .modules = &module,
				 .nmodules = 1 };
	uint64_t sp = STACK + fuzz_take(in, 2) % STACK_BYTES / 8 * 8;
	struct gr_goroutine g = {
		.stack_lo = STACK,
		.stack_hi = STACK + STACK_BYTES,
		.pc = TEXT + 9 + fuzz_take(in, 2) % TEXT_BYTES,
		.sp = sp,
		.regs = fuzz_take(in, 1) & 1 ? &regs : NULL,
		.stack = { .start = sp, .end = STACK + STACK_BYTES },
	};

	set_layout(&rt.layout);
	g.stack.host = fake_find(image, sp, STACK + STACK_BYTES - sp);
	for (size_t i = 0; i < NTABLES; i++)
		xor_over(in, tables[i].data, tables[i].bytes);
	for (size_t i = 0; i < image->npieces; i++)
		xor_over(in, image->pieces[i].data, image->pieces[i].bytes);
	look_up(&rt);
	unwind(&rt, &g);
	gr_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	struct gr_image image = { 0 };

	for (size_t i = 0; i < NTABLES; i++) {
		tables[i].data = malloc(tables[i].bytes);
		if (!tables[i].data)
			abort();
	}
	fill_tables();
	fill_memory(&image);
	run(&in, &image);
	fake_deinit(&image);
	for (size_t i = 0; i < NTABLES; i++)
		free(tables[i].data);
	return 0;
}
