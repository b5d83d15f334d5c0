// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include "inferior/elf.h"

#include <time.h>

enum { MAX_SECONDS = 10 };

static struct fuzz_base core;
static struct gr_elf core_elf;
static struct gr_dwarf *dwarf;
static const char *exe_path;

// The executable is the same every time, and reading its debug information
// is another harness: once is enough (the linker's --wrap).
struct gr_error *__real_gr_dwarf_open_file(const char *path, bool is_data_only,
					   struct gr_error *(*poll)(void *ctx),
					   void *ctx, struct gr_dwarf **ret);
struct gr_error *__wrap_gr_dwarf_open_file(const char *path, bool is_data_only,
					   struct gr_error *(*poll)(void *ctx),
					   void *ctx, struct gr_dwarf **ret);
void __real_gr_dwarf_destroy(struct gr_dwarf *ended);
void __wrap_gr_dwarf_destroy(struct gr_dwarf *ended);

struct gr_error *__wrap_gr_dwarf_open_file(const char *path, bool is_data_only,
					   struct gr_error *(*poll)(void *ctx),
					   void *ctx, struct gr_dwarf **ret)
{
	struct gr_error *err = NULL;

	// For types of C, files are read each time.
	if (is_data_only)
		return __real_gr_dwarf_open_file(path, true, poll, ctx, ret);
	// It outlives the scan that opens it: nothing of that may be kept.
	if (!dwarf)
		err = __real_gr_dwarf_open_file(path, false, NULL, NULL,
						&dwarf);
	*ret = dwarf;
	return err;
}

void __wrap_gr_dwarf_destroy(struct gr_dwarf *ended)
{
	if (ended != dwarf)
		__real_gr_dwarf_destroy(ended);
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

void fuzz_target_add(uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < core_elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core_elf, i);

		if (header.p_type != PT_LOAD ||
		    start - header.p_vaddr >= header.p_filesz)
			continue;
		uint64_t left = header.p_filesz - (start - header.p_vaddr);

		fuzz_base_add(&core, header.p_offset + (start - header.p_vaddr),
			      end - start < left ? end - start : left);
	}
}

void fuzz_target_init(void)
{
	exe_path = getenv("GOREF_FUZZ_EXE");
	if (!exe_path)
		exe_path = "";
	fuzz_base_init(&core, "GOREF_FUZZ_CORE");
	fuzz_check_error(gr_elf_open(core.file.path, &core_elf));
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

void fuzz_target_add_all(void)
{
	for (size_t i = 0; i < core_elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core_elf, i);

		if (header.p_type == PT_LOAD && header.p_flags & PF_W)
			add_words(header.p_offset, header.p_filesz);
	}
}

uint64_t fuzz_target_word(struct fuzz_input *in)
{
	uint64_t place = fuzz_take(in, 4) % core.ranges.size;

	return gr_load_u64(core.original + core.ranges.data[place].off);
}

struct gr_error *fuzz_target_open(enum gr_scan_extent extent,
				  struct gr_scan **ret)
{
	struct gr_target_module module = { .path = exe_path,
					   .bias = UINT64_MAX };
	struct gr_target target = { .kind = GR_TARGET_CORE,
				    .core_path = core.file.path,
				    .modules = &module,
				    .nmodules = 1 };

	return gr_scan_create(&target, extent, ret);
}

void fuzz_target_run(struct fuzz_input *in, enum gr_scan_extent extent,
		     struct gr_error *(*ask)(struct gr_scan *scan,
					     struct fuzz_input *head))
{
	struct fuzz_input head = { in->data, in->bytes < FUZZ_HEAD_BYTES ?
						     in->bytes :
						     FUZZ_HEAD_BYTES };
	struct timespec start, end;
	struct gr_scan *scan;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	in->data += head.bytes;
	in->bytes -= head.bytes;
	fuzz_base_patch(&core, in, addr_of);
	struct gr_error *err = fuzz_target_open(extent, &scan);
	if (!err) {
		err = ask(scan, &head);
		gr_scan_destroy(scan);
	}
	fuzz_check_error(err);
	fuzz_base_restore(&core);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	if (end.tv_sec - start.tv_sec > MAX_SECONDS)
		abort();
}
