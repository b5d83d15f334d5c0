// SPDX-License-Identifier: Apache-2.0
/*
 * The address space of a small Go program, patched by the input: heap, types,
 * goroutines and roots rebuilt from it, and walked in every way there is.
 */
#include "fuzz/fuzz.h"
#include "scanner.h"
#include "target/elf.h"

#include <time.h>

enum {
	MAX_SECONDS = 10,
	MAX_QUESTIONS = 4,
};

static struct fuzz_base core;
static struct gr_elf core_elf;
static struct gr_dwarf *dwarf;
static const char *exe_path;

// The executable is the same every time, and reading its debug information
// is another harness: once is enough (the linker's --wrap).
struct gr_error *__real_gr_dwarf_open(const char *path, const char *debug_path,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx, struct gr_dwarf **ret);
struct gr_error *__wrap_gr_dwarf_open(const char *path, const char *debug_path,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx, struct gr_dwarf **ret);
void __wrap_gr_dwarf_destroy(struct gr_dwarf *unused);

struct gr_error *__wrap_gr_dwarf_open(const char *path, const char *debug_path,
				      struct gr_error *(*poll)(void *ctx),
				      void *ctx, struct gr_dwarf **ret)
{
	struct gr_error *err = NULL;

	if (!dwarf)
		err = __real_gr_dwarf_open(path, debug_path, poll, ctx, &dwarf);
	*ret = dwarf;
	return err;
}

void __wrap_gr_dwarf_destroy(struct gr_dwarf *unused)
{
	(void)unused;
}

// Words that are not 0, in memory that can be written.
static void add_words(uint64_t off, uint64_t bytes)
{
	uint64_t start = off, end = off + bytes;

	for (uint64_t at = off; at + 8 <= end; at += 8) {
		if (gr_load_u64(core.original + at))
			continue;
		fuzz_base_add(&core, start, at - start);
		start = at + 8;
	}
	fuzz_base_add(&core, start, end - start);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	exe_path = getenv("GOREF_FUZZ_EXE");
	if (!exe_path)
		exe_path = "";
	fuzz_base_init(&core, "GOREF_FUZZ_CORE");
	fuzz_check_error(gr_elf_open(core.file.path, &core_elf));
	for (size_t i = 0; i < core_elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core_elf, i);

		if (header.p_type == PT_LOAD && header.p_flags & PF_W)
			add_words(header.p_offset, header.p_filesz);
	}
	return 0;
}

static uint64_t addr_of(uint64_t off)
{
	for (size_t i = 0; i < core_elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core_elf, i);

		if (header.p_type == PT_LOAD &&
		    off - header.p_offset < header.p_filesz)
			return header.p_vaddr + (off - header.p_offset);
	}
	return off;
}

static struct gr_error *walk(struct gr_scan *scan, struct fuzz_input *in)
{
	struct gr_walk_options options = { .max_depth = 256,
					   .max_nodes = 1 << 16 };
	unsigned int how = fuzz_take(in, 1);
	struct gr_result *result;

	options.attribution = how & 1 ? GR_ATTRIBUTION_FIRST :
					GR_ATTRIBUTION_NEAREST;
	options.per_goroutine = how & 2;
	struct gr_error *err = gr_scan_walk(scan, &options, &result);
	if (err)
		return err;
	const struct gr_ledger *ledger = gr_result_ledger(result);
	if (ledger->reached.objects > ledger->allocated.objects)
		abort();
	gr_result_destroy(result);
	return NULL;
}

static struct gr_error *verify(struct gr_scan *scan)
{
	struct gr_verdict *verdict;

	struct gr_error *err = gr_scan_verify(scan, 20, &verdict);
	if (!err)
		gr_verdict_destroy(verdict);
	return err;
}

/** Addresses to ask about: some word of memory, and reached objects. */
struct questions {
	uint64_t addrs[MAX_QUESTIONS];
	uint64_t nobjects;
	uint64_t seed;
};

// Each object takes a place with a chance that gives all the same.
static struct gr_error *note_object(void *ctx, uint64_t addr, uint64_t bytes)
{
	struct questions *q = ctx;

	(void)bytes;
	q->seed = q->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	uint64_t place = (q->seed >> 33) % ++q->nobjects;
	if (place && place < MAX_QUESTIONS)
		q->addrs[place] = addr;
	return NULL;
}

static struct gr_error *ask(struct gr_scan *scan, struct fuzz_input *in)
{
	struct gr_walk_options options = { .max_depth = 64,
					   .max_nodes = 1 << 16 };
	struct questions q = { .nobjects = 1, .seed = fuzz_take(in, 4) };
	uint64_t place = fuzz_take(in, 4) % core.ranges.size;
	struct gr_why *why;

	q.addrs[0] = gr_load_u64(core.original + core.ranges.data[place].off);
	struct gr_error *err = gr_scan_objects(scan, note_object, &q);
	for (int i = 0; !err && i < MAX_QUESTIONS; i++) {
		err = gr_scan_why(scan, &options, q.addrs[i], &why);
		if (!err)
			gr_why_destroy(why);
	}
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	struct fuzz_input head = { data, bytes < 17 ? bytes : 17 };
	struct gr_target_module module = { .path = exe_path,
					   .bias = UINT64_MAX };
	struct gr_target target = { .kind = GR_TARGET_CORE,
				    .core_path = core.file.path,
				    .modules = &module,
				    .nmodules = 1 };
	struct timespec start, end;
	struct gr_scan *scan;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	in.data += head.bytes;
	in.bytes -= head.bytes;
	fuzz_base_patch(&core, &in, addr_of);
	struct gr_error *err = gr_scan_create(&target, &scan);
	if (!err) {
		err = walk(scan, &head);
		if (!err)
			err = verify(scan);
		if (!err)
			err = ask(scan, &head);
		gr_scan_destroy(scan);
	}
	fuzz_check_error(err);
	fuzz_base_restore(&core);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	if (end.tv_sec - start.tv_sec > MAX_SECONDS)
		abort();
	return 0;
}
