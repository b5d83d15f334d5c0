// SPDX-License-Identifier: Apache-2.0
#include "inferior/mapped_elf.h"

#include <string.h>

#include "base/cleanup.h"

/* No program has longer notes. */
enum { MAX_NOTE_BYTES = 64 << 10 };

bool gr_mapped_elf_read(const struct gr_memory *memory, uint64_t addr,
			struct gr_mapped_elf *ret)
{
	Elf64_Ehdr header;

	if (memory->read(memory->ctx, addr, &header, sizeof(header)) <
		    sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) ||
	    header.e_phnum > GR_MAPPED_ELF_MAX_HEADERS ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	uint64_t known = memory->read(memory->ctx, addr + header.e_phoff,
				      ret->bytes + sizeof(header),
				      header.e_phnum * sizeof(Elf64_Phdr));
	// In `bytes` the program headers always follow the file header.
	header.e_phoff = sizeof(header);
	memcpy(ret->bytes, &header, sizeof(header));
	struct gr_bytes view = { ret->bytes, sizeof(header) + known };
	if (!gr_elf_view(view, &ret->elf) || !ret->elf.arch)
		return false;
	ret->addr = addr;
	return true;
}

struct gr_build_id gr_mapped_elf_id(const struct gr_memory *memory,
				    const struct gr_mapped_elf *mapped)
{
	uint64_t bias = mapped->addr - gr_elf_lowest_addr(&mapped->elf);
	struct gr_build_id id = { .gnu_bytes = 0 };

	_cleanup_free_ uint8_t *notes = malloc(MAX_NOTE_BYTES);
	for (size_t i = 0; notes && i < mapped->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&mapped->elf, i);
		uint64_t bytes = header.p_filesz < MAX_NOTE_BYTES ?
					 header.p_filesz :
					 MAX_NOTE_BYTES;

		if (header.p_type != PT_NOTE)
			continue;
		bytes = memory->read(memory->ctx, bias + header.p_vaddr, notes,
				     bytes);
		gr_build_id_collect((struct gr_bytes){ notes, bytes }, &id);
	}
	return id;
}
