// SPDX-License-Identifier: Apache-2.0
/*
 * The unwinder of the tracer. The first byte of an input chooses: tables of Go,
 * an expression and its stack, or call frame information in an ELF file. No
 * table is one that works by itself.
 */
#include "fuzz.h"

#include <elf.h>

#include "helpers/trace/elf_file.h"
#include "helpers/trace/go_frames.h"

enum {
	TEXT = 0x400000,
	TEXT_BYTES = 0x200,
	STACK = 0x700000,
	TABLES = 0x10000,
	TABLE_BYTES = 1024,
	NAMES_AT = 72,
	PCS_AT = 160,
	FUNCS_AT = 192,
	MAX_FRAME_INFO = 4096,
};

// --------------------------------------------------------------- tables of Go

static bool read_tables(void *ctx, uint64_t addr, void *data, size_t bytes)
{
	uint64_t off = addr - TABLES;

	if (off > TABLE_BYTES || bytes > TABLE_BYTES - off)
		return false;
	memcpy(data, (uint8_t *)ctx + off, bytes);
	return true;
}

static void fuzz_go(struct fuzz_input *in)
{
	uint8_t *data = calloc(1, TABLE_BYTES);
	const uint64_t offs[] = { NAMES_AT, PCS_AT, PCS_AT, PCS_AT, FUNCS_AT };
	struct gr_go_module where = {
		.text = TEXT,
		.etext = TEXT + TEXT_BYTES,
		.pclntable = TABLES + FUNCS_AT,
		.pclntable_bytes = TABLE_BYTES - FUNCS_AT,
		.ftab = TABLES + FUNCS_AT,
		.ftab_count = 2 + fuzz_take(in, 1) % 8,
		.text_start = TEXT,
	};
	struct gr_rule rule = { .role = GR_ROLE_UNKNOWN };
	struct gr_go_tables tables;

	if (!data)
		return;
	memcpy(data, (uint32_t[]){ 0xfffffff0 + fuzz_take(in, 1) % 2 }, 4);
	data[6] = 1;
	data[7] = 8;
	memcpy(data + 32, offs, sizeof(offs));
	for (size_t i = NAMES_AT; i < TABLE_BYTES && in->bytes; i++)
		data[i] ^= fuzz_take(in, 1);
	struct gr_error *err =
		gr_go_tables_read(&where, read_tables, data, &tables);
	free(data);
	for (uint64_t pc = TEXT - 1; !err && pc <= TEXT + TEXT_BYTES; pc++) {
		gr_go_rule(&tables, pc, &rule);
		gr_go_name(&tables, pc);
	}
	if (!err)
		gr_go_tables_deinit(&tables);
	gr_error_destroy(err);
}

// ---------------------------------------------------------------- expressions

static void fuzz_expression(struct fuzz_input *in)
{
	struct gr_operation ops[GR_MAX_OPERATIONS + 1] = { 0 };
	struct gr_frame_regs regs = { .known = fuzz_take(in, 4) };
	size_t count = fuzz_take(in, 1) % GR_ARRAY_SIZE(ops);
	uint64_t value;

	for (size_t i = 0; i < GR_SAMPLE_REGS; i++)
		regs.values[i] = STACK + fuzz_take(in, 1);
	for (size_t i = 0; i < count; i++) {
		ops[i].atom = fuzz_take(in, 1);
		ops[i].number = (int8_t)fuzz_take(in, 1);
		ops[i].number2 = (int8_t)fuzz_take(in, 1);
	}
	// A copy of its own, so that overruns are seen.
	uint8_t *stack = malloc(in->bytes + 1);
	if (!stack)
		return;
	memcpy(stack, in->data, in->bytes);
	struct gr_sample sample = { .chunks = { { STACK, stack, in->bytes } } };
	gr_expression_evaluate(ops, &regs, STACK, &sample, false, &value);
	free(stack);
}

// ----------------------------------------------------- call frame information

/** A file with code at TEXT and its call frame information. */
struct tiny_elf {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3];
	char names[32];
	uint8_t frames[MAX_FRAME_INFO];
};

static void fill(struct tiny_elf *elf, size_t bytes)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";

	memcpy(elf->ehdr.e_ident, ELFMAG, SELFMAG);
	elf->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	elf->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	elf->ehdr.e_type = ET_EXEC;
	elf->ehdr.e_machine = EM_X86_64;
	elf->ehdr.e_version = EV_CURRENT;
	elf->ehdr.e_ehsize = sizeof(elf->ehdr);
	elf->ehdr.e_phoff = offsetof(struct tiny_elf, phdr);
	elf->ehdr.e_phentsize = sizeof(elf->phdr);
	elf->ehdr.e_phnum = 1;
	elf->ehdr.e_shoff = offsetof(struct tiny_elf, shdrs);
	elf->ehdr.e_shentsize = sizeof(*elf->shdrs);
	elf->ehdr.e_shnum = 3;
	elf->ehdr.e_shstrndx = 2;
	elf->phdr = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_X | PF_R,
				  .p_vaddr = TEXT,
				  .p_filesz = sizeof(*elf),
				  .p_memsz = sizeof(*elf) };
	elf->shdrs[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = TEXT + offsetof(struct tiny_elf, frames),
		.sh_offset = offsetof(struct tiny_elf, frames),
		.sh_size = bytes,
		.sh_addralign = 8,
	};
	elf->shdrs[2] = (Elf64_Shdr){
		.sh_name = 11,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct tiny_elf, names),
		.sh_size = sizeof(elf->names),
		.sh_addralign = 1,
	};
	memcpy(elf->names, names, sizeof(names));
}

static void fuzz_frames(struct fuzz_input *in)
{
	size_t bytes = in->bytes < MAX_FRAME_INFO ? in->bytes : MAX_FRAME_INFO;
	struct tiny_elf *elf = calloc(1, sizeof(*elf));
	struct gr_rules rules = { .slots = NULL };
	struct gr_elf_file *file = NULL;
	char name[64];

	if (!elf)
		return;
	fill(elf, bytes);
	memcpy(elf->frames, in->data, bytes);
	struct gr_error *err =
		gr_elf_file_new_image((uint8_t *)elf, sizeof(*elf), &file);
	for (uint64_t addr = TEXT; !err && addr < TEXT + 64; addr++) {
		struct gr_rule rule = { .role = GR_ROLE_UNKNOWN };

		gr_rules_make_room(&rules);
		gr_elf_file_rule(file, addr, &rules, &rule);
		gr_elf_file_name(file, addr, name, sizeof(name));
	}
	gr_error_destroy(err);
	gr_elf_file_destroy(file);
	gr_rules_deinit(&rules);
}

/* As gr_unwinder_limit_memory() does: libdw takes memory for all registers below
 * one that a file names. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=64";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };

	switch (fuzz_take(&in, 1) % 3) {
	case 0:
		fuzz_go(&in);
		break;
	case 1:
		fuzz_expression(&in);
		break;
	default:
		fuzz_frames(&in);
		break;
	}
	return 0;
}
