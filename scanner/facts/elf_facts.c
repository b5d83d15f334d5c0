// SPDX-License-Identifier: Apache-2.0
#include "facts/elf_facts.h"

#include <elf.h>

#include "base/cleanup.h"
#include "inferior/elf.h"
#include "inferior/mapped_file.h"

/* The bytes of the file header that are alike in all classes of ELF files. */
enum { COMMON_BYTES = 20 };

static const char *kind_of(uint16_t type)
{
	switch (type) {
	case ET_EXEC:
		return "executable";
	case ET_DYN:
		return "shared object";
	case ET_CORE:
		return "core";
	default:
		return "other";
	}
}

/* Read the fields that a file of any class and byte order has. */
static void read_common(struct gr_bytes file, struct gr_elf_facts *ret)
{
	uint8_t head[COMMON_BYTES];

	if (!gr_bytes_get(file, 0, head, sizeof(head)) ||
	    memcmp(head, ELFMAG, SELFMAG))
		return;
	uint16_t type = gr_load_u16(head + offsetof(Elf64_Ehdr, e_type));
	uint16_t machine = gr_load_u16(head + offsetof(Elf64_Ehdr, e_machine));
	if (head[EI_DATA] == ELFDATA2MSB) {
		type = __builtin_bswap16(type);
		machine = __builtin_bswap16(machine);
	}
	ret->kind = kind_of(type);
	ret->machine = gr_elf_machine_name(machine);
}

/* ------------------------------------------------------- the start of a core */

/* Is it a core, as far as its bytes show? A file may end inside its header. */
static bool begins_as_core(struct gr_bytes file)
{
	static const uint8_t magic[] = { 0x7f, 'E',	   'L',
					 'F',  ELFCLASS64, ELFDATA2LSB };
	uint64_t known = file.size < sizeof(magic) ? file.size : sizeof(magic);
	uint64_t type_off = offsetof(Elf64_Ehdr, e_type);

	return known && !memcmp(file.data, magic, known) &&
	       (!gr_bytes_has(file, type_off, 2) ||
		gr_load_u16(file.data + type_off) == ET_CORE);
}

static uint64_t end_of(uint64_t off, uint64_t bytes)
{
	uint64_t end;

	return __builtin_add_overflow(off, bytes, &end) ? UINT64_MAX : end;
}

static void find_missing_part(struct gr_bytes file, struct gr_elf_facts *ret)
{
	Elf64_Ehdr header;
	Elf64_Phdr row;

	if (!gr_bytes_get(file, 0, &header, sizeof(header))) {
		ret->missing_part = "ELF header";
		ret->needed_bytes = sizeof(header);
		return;
	}
	if (header.e_phentsize != sizeof(row))
		return;
	uint64_t end = end_of(header.e_phoff, header.e_phnum * sizeof(row));
	if (end > file.size) {
		ret->missing_part = "program headers";
		ret->needed_bytes = end;
		return;
	}
	for (size_t i = 0; i < header.e_phnum; i++) {
		memcpy(&row, file.data + header.e_phoff + i * sizeof(row),
		       sizeof(row));
		end = end_of(row.p_offset, row.p_filesz);
		if (row.p_type != PT_NOTE || end <= file.size)
			continue;
		ret->missing_part = "notes";
		ret->needed_bytes = end;
		return;
	}
}

/* --------------------------------------------------------------- its contents */

static uint64_t lowest_page(const struct gr_elf *elf)
{
	for (size_t i = 0; i < elf->phnum; i++)
		if (gr_elf_program_header(elf, i).p_type == PT_LOAD)
			return gr_elf_lowest_addr(elf);
	return UINT64_MAX;
}

static void read_text(const struct gr_elf *elf, struct gr_elf_facts *ret)
{
	struct gr_elf_sections at = { .next = 0 };
	Elf64_Shdr section;

	ret->text_addr = UINT64_MAX;
	if (!gr_elf_next_section(elf, &at, ".text", &section))
		return;
	ret->text_addr = section.sh_addr;
	ret->text_bytes = section.sh_size;
}

void gr_elf_facts_parse(struct gr_bytes file, struct gr_elf_facts *ret)
{
	struct gr_elf elf;

	*ret = (struct gr_elf_facts){ .file_bytes = file.size,
				      .compression = gr_elf_compression(file),
				      .lowest_page = UINT64_MAX,
				      .text_addr = UINT64_MAX };
	read_common(file, ret);
	if (begins_as_core(file))
		find_missing_part(file, ret);
	ret->has_header = gr_elf_view(file, &elf);
	if (!ret->has_header)
		return;
	ret->entry = elf.header.e_entry;
	ret->lowest_page = lowest_page(&elf);
	// The notes of a core are about its program, and may be many.
	if (elf.header.e_type != ET_CORE)
		ret->id = gr_build_id_of(&elf);
	read_text(&elf, ret);
}

struct gr_error *gr_elf_facts_read(const char *path, struct gr_elf_facts *ret)
{
	_cleanup_(gr_mapped_file_close) struct gr_mapped_file file = { 0 };
	struct gr_sigbus_guard guard;

	gr_sigbus_guard_begin(&guard);
	struct gr_error *err = gr_mapped_file_open(path, &file);
	if (!err)
		gr_elf_facts_parse(file.bytes, ret);
	return gr_sigbus_guard_end(&guard, err);
}
