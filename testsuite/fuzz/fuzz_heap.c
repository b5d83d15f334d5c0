// SPDX-License-Identifier: Apache-2.0
/*
 * The address space of a small Go program, patched by the input: heap, types,
 * goroutines and roots rebuilt from it, and walked in every way there is; or
 * asked what ended it, what its goroutines wait for and which have leaked.
 */
#include "questions.h"
#include "inferior/elf.h"

#include <time.h>

enum { MAX_SECONDS = 10 };

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

	// It outlives the scan that opens it: nothing of that may be kept.
	(void)poll;
	(void)ctx;
	if (!dwarf)
		err = __real_gr_dwarf_open(path, debug_path, NULL, NULL,
					   &dwarf);
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

/* A word that inputs patch: an address to ask about. */
static uint64_t some_word(struct fuzz_input *in)
{
	uint64_t place = fuzz_take(in, 4) % core.ranges.size;

	return gr_load_u64(core.original + core.ranges.data[place].off);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	struct fuzz_input head = { data, bytes < 18 ? bytes : 18 };
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
	struct gr_error *err = gr_scan_create(&target, GR_EXTENT_HEAP, &scan);
	if (!err) {
		unsigned int how = fuzz_take(&head, 1);

		err = how & 1 ? fuzz_ask_goroutines(scan, how >> 1) :
				fuzz_ask_heap(scan, &head, some_word(&head));
		gr_scan_destroy(scan);
	}
	fuzz_check_error(err);
	fuzz_base_restore(&core);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	if (end.tv_sec - start.tv_sec > MAX_SECONDS)
		abort();
	return 0;
}
