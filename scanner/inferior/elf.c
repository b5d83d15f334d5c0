// SPDX-License-Identifier: Apache-2.0
#include "inferior/elf.h"

#include "inferior/mapped_file.h"

enum {
	/* Symbols may share the bytes of their names; linkers let few do so. */
	MAX_NAMES_SHARED = 4,
	SPARE_NAME_BYTES = 1 << 20,
};

/** Magic bytes of compressed files and the tools that unpack them. */
static const struct {
	const char *magic;
	size_t bytes;
	const char *format;
	const char *tool;
} compressed[] = {
	{ "\x1f\x8b", 2, "gzip", "gunzip" },
	{ "\x28\xb5\x2f\xfd", 4, "zstd", "unzstd" },
	{ "\xfd\x37\x7a\x58\x5a", 5, "xz", "unxz" },
	{ "\x04\x22\x4d\x18", 4, "lz4", "unlz4" },
	{ "BZh", 3, "bzip2", "bunzip2" },
};

/* The row of @p file in the table; its size if there is none. */
static size_t compression(struct gr_bytes file)
{
	size_t i = 0;

	while (i < GR_ARRAY_SIZE(compressed) &&
	       (file.size < compressed[i].bytes ||
		memcmp(file.data, compressed[i].magic, compressed[i].bytes)))
		i++;
	return i;
}

const char *gr_elf_compression(struct gr_bytes file)
{
	size_t i = compression(file);

	return i < GR_ARRAY_SIZE(compressed) ? compressed[i].format : NULL;
}

static struct gr_error *not_elf(const char *path, struct gr_bytes file)
{
	size_t i = compression(file);

	if (i < GR_ARRAY_SIZE(compressed))
		return gr_error_format(
			GR_ERROR_FORMAT,
			"%s is compressed with %s: unpack it first (%s)", path,
			compressed[i].format, compressed[i].tool);
	if (!file.size)
		return gr_error_format(GR_ERROR_FORMAT, "%s is empty", path);
	return gr_error_format(GR_ERROR_FORMAT, "%s is not an ELF file", path);
}

const char *gr_elf_machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_386:
		return "32-bit x86";
	case EM_AARCH64:
		return "AArch64";
	case EM_ARM:
		return "32-bit ARM";
	case EM_PPC64:
		return "64-bit PowerPC";
	case EM_S390:
		return "s390";
	case EM_RISCV:
		return "RISC-V";
	case EM_MIPS:
		return "MIPS";
	case 258:
		return "LoongArch";
	default:
		return NULL;
	}
}

static struct gr_error *wrong_machine(const char *path, const uint8_t *ident,
				      uint16_t machine)
{
	const char *bits = ident[EI_CLASS] == ELFCLASS64 ? "64" : "32";
	const char *order = ident[EI_DATA] == ELFDATA2LSB ? "little" : "big";
	const char *name = gr_elf_machine_name(machine);

	if (name)
		return gr_error_format(GR_ERROR_ARCH,
				       "%s is a %s-bit %s-endian file for "
				       "%s; only 64-bit x86-64 and AArch64 "
				       "can be read",
				       path, bits, order, name);
	return gr_error_format(GR_ERROR_ARCH,
			       "%s is a %s-bit %s-endian file for machine "
			       "%u; only 64-bit x86-64 and AArch64 can be "
			       "read",
			       path, bits, order, machine);
}

// e_phnum has 16 bits. More headers are announced by PN_XNUM, with the real
// number in section header 0. A core that was cut off has lost that one; then
// the notes, which follow the headers, tell where these end.
static uint64_t header_count(const struct gr_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	Elf64_Shdr section;
	Elf64_Phdr first;

	if (header->e_phnum != PN_XNUM)
		return header->e_phnum;
	if (header->e_shoff &&
	    gr_bytes_get(elf->file, header->e_shoff, &section,
			 sizeof(section)) &&
	    section.sh_info)
		return section.sh_info;
	if (header->e_shoff &&
	    gr_bytes_get(elf->file, header->e_phoff, &first, sizeof(first)) &&
	    first.p_offset > header->e_phoff)
		return (first.p_offset - header->e_phoff) / sizeof(first);
	return PN_XNUM;
}

bool gr_elf_view(struct gr_bytes file, struct gr_elf *ret)
{
	struct gr_elf elf = { .file = file };

	if (!gr_bytes_get(file, 0, &elf.header, sizeof(elf.header)) ||
	    memcmp(elf.header.e_ident, ELFMAG, SELFMAG) ||
	    elf.header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	elf.arch = gr_arch_find(elf.header.e_machine);
	// Another size means a damaged file, or a file without program headers.
	uint64_t phoff = elf.header.e_phoff;
	if (elf.header.e_phentsize == sizeof(Elf64_Phdr)) {
		uint64_t fit = phoff > file.size ?
				       0 :
				       (file.size - phoff) / sizeof(Elf64_Phdr);
		uint64_t promised = header_count(&elf);
		elf.phnum = promised < fit ? promised : fit;
		elf.lost_headers = promised - elf.phnum;
	}
	*ret = elf;
	return true;
}

struct gr_error *gr_elf_parse(const char *path, struct gr_bytes file,
			      struct gr_elf *ret)
{
	uint8_t ident[EI_NIDENT];

	if (!gr_bytes_get(file, 0, ident, sizeof(ident)) ||
	    memcmp(ident, ELFMAG, SELFMAG))
		return not_elf(path, file);
	uint16_t machine = EM_NONE;
	if (gr_bytes_has(file, offsetof(Elf64_Ehdr, e_machine), 2)) {
		const uint8_t *p = file.data + offsetof(Elf64_Ehdr, e_machine);
		machine = ident[EI_DATA] == ELFDATA2MSB ? p[0] << 8 | p[1] :
							  gr_load_u16(p);
	}
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
	    !gr_arch_find(machine))
		return wrong_machine(path, ident, machine);
	if (!gr_elf_view(file, ret))
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s ends inside its ELF header", path);
	return NULL;
}

/* Check the header of a file that is mapped, which becomes part of @p ret. */
static struct gr_error *
parse_mapped(const char *path, struct gr_mapped_file *file, struct gr_elf *ret)
{
	struct gr_error *err = gr_elf_parse(path, file->bytes, ret);

	if (err)
		gr_mapped_file_close(file);
	else
		ret->area = file->area;
	return err;
}

struct gr_error *gr_elf_open(const char *path, struct gr_elf *ret)
{
	struct gr_mapped_file file;
	struct gr_error *err = gr_mapped_file_open(path, &file);

	return err ? err : parse_mapped(path, &file, ret);
}

struct gr_error *gr_elf_open_mapping(int32_t pid,
				     const struct gr_mapping *mapping,
				     struct gr_elf *ret)
{
	struct gr_mapped_file file;
	struct gr_error *err = gr_mapped_file_open_mapping(pid, mapping, &file);

	return err ? err : parse_mapped(mapping->path, &file, ret);
}

void gr_elf_deinit(struct gr_elf *elf)
{
	// Without an area, the bytes are not ours, and stay.
	struct gr_mapped_file file = { .bytes = elf->file, .area = elf->area };

	gr_mapped_file_close(&file);
	memset(elf, 0, sizeof(*elf));
}

const char *gr_elf_type_name(const struct gr_elf *elf)
{
	switch (elf->header.e_type) {
	case ET_REL:
		return "an object file";
	case ET_EXEC:
		return "an executable";
	case ET_DYN:
		return "an executable or a shared object";
	case ET_CORE:
		return "a core file";
	default:
		return "an ELF file of unknown type";
	}
}

Elf64_Phdr gr_elf_program_header(const struct gr_elf *elf, size_t i)
{
	Elf64_Phdr ret;

	memcpy(&ret, elf->file.data + elf->header.e_phoff + i * sizeof(ret),
	       sizeof(ret));
	return ret;
}

struct gr_bytes gr_elf_segment_bytes(const struct gr_elf *elf,
				     const Elf64_Phdr *header)
{
	if (header->p_offset >= elf->file.size)
		return (struct gr_bytes){ NULL, 0 };
	uint64_t left = elf->file.size - header->p_offset;
	return gr_bytes_slice(elf->file, header->p_offset,
			      header->p_filesz < left ? header->p_filesz :
							left);
}

bool gr_segments_next(struct gr_segments *segments, uint32_t type,
		      Elf64_Phdr *header, struct gr_bytes *ret)
{
	const struct gr_elf *elf = segments->elf;

	while (segments->next < elf->phnum &&
	       segments->given_bytes / 2 <= elf->file.size) {
		*header = gr_elf_program_header(elf, segments->next++);
		if (header->p_type != type)
			continue;
		*ret = gr_elf_segment_bytes(elf, header);
		segments->given_bytes += ret->size;
		return true;
	}
	return false;
}

uint64_t gr_elf_lowest_addr(const struct gr_elf *elf)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		if (header.p_type == PT_LOAD && header.p_vaddr < lowest)
			lowest = header.p_vaddr;
	}
	return lowest == UINT64_MAX ? 0 : lowest & ~(GR_PAGE_BYTES - 1);
}

static bool section_header(const struct gr_elf *elf, uint64_t i,
			   Elf64_Shdr *ret)
{
	if (elf->header.e_shentsize != sizeof(*ret) || !elf->header.e_shoff ||
	    elf->header.e_shoff > elf->file.size)
		return false;
	return gr_bytes_get(elf->file, elf->header.e_shoff + i * sizeof(*ret),
			    ret, sizeof(*ret));
}

bool gr_elf_next_section(const struct gr_elf *elf, struct gr_elf_sections *at,
			 const char *name, Elf64_Shdr *ret)
{
	Elf64_Shdr first, names;

	if (!at->next) {
		if (!section_header(elf, 0, &first))
			return false;
		// Numbers that do not fit 16 bits are in section header 0.
		at->count = elf->header.e_shnum ? elf->header.e_shnum :
						  (uint32_t)first.sh_size;
		uint32_t index = elf->header.e_shstrndx == SHN_XINDEX ?
					 first.sh_link :
					 elf->header.e_shstrndx;
		if (!section_header(elf, index, &names))
			return false;
		at->names = gr_bytes_slice(elf->file, names.sh_offset,
					   names.sh_size);
		at->next = 1;
	}
	while (at->next < at->count && section_header(elf, at->next, ret)) {
		at->next++;
		// Only as many bytes of the name as needed are compared.
		struct gr_bytes found = gr_bytes_slice(at->names, ret->sh_name,
						       strlen(name) + 1);
		if (found.data && !memcmp(found.data, name, found.size))
			return true;
	}
	return false;
}

struct gr_bytes gr_elf_section(const struct gr_elf *elf, const char *name,
			       uint64_t *addr)
{
	static const struct gr_bytes none = { NULL, 0 };
	struct gr_elf_sections at = { .next = 0 };
	Elf64_Shdr section;

	if (!gr_elf_next_section(elf, &at, name, &section) ||
	    section.sh_type == SHT_NOBITS || section.sh_flags & SHF_COMPRESSED)
		return none;
	if (addr)
		*addr = section.sh_addr;
	return gr_bytes_slice(elf->file, section.sh_offset, section.sh_size);
}

/* Return "" if there is no name, if it is too long, or if the names of all
 * symbols are. */
static const char *symbol_name(struct gr_elf_symbols *at, uint64_t off)
{
	uint64_t left = off < at->strings.size ? at->strings.size - off : 0;
	const char *name = gr_bytes_name(at->strings, off);
	uint64_t bytes = name			  ? strlen(name) :
			 left < GR_NAME_MAX_BYTES ? left :
						    GR_NAME_MAX_BYTES;

	if (bytes > at->name_bytes_left) {
		at->name_bytes_left = 0;
		return "";
	}
	at->name_bytes_left -= bytes;
	return name ? name : "";
}

bool gr_elf_next_symbol(const struct gr_elf *elf, struct gr_elf_symbols *at,
			struct gr_elf_symbol *ret)
{
	Elf64_Sym symbol;

	if (!at->off) {
		at->table = gr_elf_section(
			elf, at->is_dynamic ? ".dynsym" : ".symtab", NULL);
		at->strings = gr_elf_section(
			elf, at->is_dynamic ? ".dynstr" : ".strtab", NULL);
		at->name_bytes_left =
			at->strings.size * MAX_NAMES_SHARED + SPARE_NAME_BYTES;
	}
	// The first entry is the null symbol.
	if (!gr_bytes_get(at->table, at->off += sizeof(symbol), &symbol,
			  sizeof(symbol)))
		return false;
	*ret = (struct gr_elf_symbol){ .name = "", .type = STT_NOTYPE };
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
	    !at->name_bytes_left)
		return true;
	ret->name = symbol_name(at, symbol.st_name);
	if (!*ret->name)
		return true;
	ret->addr = symbol.st_value;
	ret->bytes = symbol.st_size;
	ret->type = ELF64_ST_TYPE(symbol.st_info);
	return true;
}
