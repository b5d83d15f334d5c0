// SPDX-License-Identifier: Apache-2.0
#include "savedfile/skeleton.h"

#include "inferior/go_build.h"

/* Sections by which a Go program is known. */
static const char *const go_sections[] = { ".gopclntab",
					   ".data.rel.ro.gopclntab" };

enum { MAX_SECTIONS = 8 };

/** A file being put together: the header and the program headers come first,
 * the section headers last. */
struct skeleton {
	struct gr_byte_vector *out;
	size_t start; /* of the file in `out` */
	Elf64_Shdr sections[MAX_SECTIONS];
	size_t nsections;
	struct gr_byte_vector names; /* of the sections */
};

static bool append(struct gr_byte_vector *out, const void *data, size_t bytes)
{
	if (!gr_byte_vector_reserve(out, out->size + bytes))
		return false;
	if (bytes)
		memcpy(out->data + out->size, data, bytes);
	out->size += bytes;
	return true;
}

static uint64_t offset(const struct skeleton *s)
{
	return s->out->size - s->start;
}

/* Append bytes as a section. */
static bool add_section(struct skeleton *s, const char *name, uint32_t type,
			const void *data, size_t bytes)
{
	s->sections[s->nsections++] = (Elf64_Shdr){
		.sh_name = s->names.size,
		.sh_type = type,
		.sh_offset = offset(s),
		.sh_size = bytes,
	};
	return append(&s->names, name, strlen(name) + 1) &&
	       append(s->out, data, bytes);
}

/* The segments: notes with their bytes, others without. */
static bool add_segments(struct skeleton *s, const struct gr_elf *elf)
{
	size_t headers = s->out->size;

	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);

		if (!append(s->out, &header, sizeof(header)))
			return false;
	}
	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		struct gr_bytes notes = gr_elf_segment_bytes(elf, &header);

		header.p_offset = offset(s);
		header.p_filesz = 0;
		if (header.p_type == PT_NOTE) {
			header.p_filesz = notes.size;
			if (!append(s->out, notes.data, notes.size))
				return false;
		}
		memcpy(s->out->data + headers + i * sizeof(header), &header,
		       sizeof(header));
	}
	return true;
}

static bool add_symbols(struct skeleton *s,
			const struct gr_kept_symbol *symbols, size_t count)
{
	struct gr_byte_vector strings = { 0 }, table = { 0 };
	Elf64_Sym symbol = { 0 };
	bool ok = append(&strings, "", 1) &&
		  append(&table, &symbol, sizeof(symbol));

	for (size_t i = 0; ok && i < count; i++) {
		symbol = (Elf64_Sym){
			.st_name = strings.size,
			.st_info = ELF64_ST_INFO(STB_LOCAL, symbols[i].type),
			.st_shndx = 1,
			.st_value = symbols[i].addr,
			.st_size = symbols[i].bytes,
		};
		ok = append(&strings, symbols[i].name,
			    strlen(symbols[i].name) + 1) &&
		     append(&table, &symbol, sizeof(symbol));
	}
	ok = ok &&
	     add_section(s, ".symtab", SHT_SYMTAB, table.data, table.size) &&
	     add_section(s, ".strtab", SHT_STRTAB, strings.data, strings.size);
	gr_byte_vector_deinit(&strings);
	gr_byte_vector_deinit(&table);
	return ok;
}

/* Append a text of the build information, its length first. */
static bool add_text(struct gr_byte_vector *out, const void *text, size_t bytes)
{
	size_t rest = bytes;
	uint8_t digit;

	for (; rest >= 0x80; rest >>= 7) {
		digit = rest | 0x80;
		if (!append(out, &digit, 1))
			return false;
	}
	digit = rest;
	return append(out, &digit, 1) && append(out, text, bytes);
}

/* The lines with paths; those about the build may have secrets. */
static bool add_paths(struct gr_byte_vector *out, struct gr_bytes lines)
{
	struct gr_go_build_line line;
	uint64_t off = 0;
	bool ok = true;

	// Bounded by the bytes: each line has one.
	while (ok && gr_go_build_next(lines, &off, &line)) {
		if (!gr_go_build_is(&line, "path") &&
		    !gr_go_build_is(&line, "mod") &&
		    !gr_go_build_is(&line, "dep"))
			continue;
		ok = append(out, line.kind.data, line.kind.size) &&
		     append(out, "\t", 1) &&
		     append(out, line.path.data, line.path.size) &&
		     append(out, "\n", 1);
	}
	return ok;
}

/* The build information, as far as it has the names of modules. */
static bool add_build(struct skeleton *s, const struct gr_elf *elf)
{
	static const uint8_t mark[GR_GO_BUILD_MARK_BYTES];
	struct gr_byte_vector paths = { 0 }, section = { 0 };
	uint8_t head[GR_GO_BUILD_HEAD_BYTES];
	struct gr_go_build build;

	if (!gr_elf_section(elf, GR_GO_BUILD_SECTION, NULL).size)
		return true;
	if (!gr_go_build_find(elf, &build))
		return add_section(s, GR_GO_BUILD_SECTION, SHT_PROGBITS, "", 1);
	gr_go_build_make_head(head);
	bool ok = append(&paths, mark, sizeof(mark)) &&
		  add_paths(&paths, build.lines) &&
		  append(&paths, mark, sizeof(mark)) &&
		  append(&section, head, sizeof(head)) &&
		  add_text(&section, build.version.data, build.version.size) &&
		  add_text(&section, paths.data, paths.size) &&
		  add_section(s, GR_GO_BUILD_SECTION, SHT_PROGBITS,
			      section.data, section.size);
	gr_byte_vector_deinit(&paths);
	gr_byte_vector_deinit(&section);
	return ok;
}

static bool add_sections(struct skeleton *s, const struct gr_elf *elf,
			 const struct gr_kept_symbol *symbols, size_t nsymbols)
{
	bool ok = add_section(s, "", SHT_NULL, NULL, 0);

	// One byte shows that the section is there.
	for (size_t i = 0; ok && i < GR_ARRAY_SIZE(go_sections); i++)
		if (gr_elf_section(elf, go_sections[i], NULL).size)
			ok = add_section(s, go_sections[i], SHT_PROGBITS, "",
					 1);
	ok = ok && add_build(s, elf) && add_symbols(s, symbols, nsymbols) &&
	     append(&s->names, ".shstrtab", sizeof(".shstrtab"));
	if (!ok)
		return false;
	s->sections[s->nsections++] = (Elf64_Shdr){
		.sh_name = s->names.size - sizeof(".shstrtab"),
		.sh_type = SHT_STRTAB,
		.sh_offset = offset(s),
		.sh_size = s->names.size,
	};
	return append(s->out, s->names.data, s->names.size);
}

static bool make(struct skeleton *s, const struct gr_elf *elf,
		 const struct gr_kept_symbol *symbols, size_t nsymbols)
{
	Elf64_Ehdr header = elf->header;

	if (!append(s->out, &header, sizeof(header)) || !add_segments(s, elf) ||
	    !add_sections(s, elf, symbols, nsymbols))
		return false;
	header.e_phoff = sizeof(header);
	header.e_phnum = elf->phnum < PN_XNUM ? elf->phnum : 0;
	header.e_phentsize = sizeof(Elf64_Phdr);
	header.e_shoff = offset(s);
	header.e_shnum = s->nsections;
	header.e_shentsize = sizeof(Elf64_Shdr);
	header.e_shstrndx = s->nsections - 1;
	memcpy(s->out->data + s->start, &header, sizeof(header));
	return append(s->out, s->sections, s->nsections * sizeof(*s->sections));
}

bool gr_skeleton_make(const struct gr_elf *elf,
		      const struct gr_kept_symbol *symbols, size_t nsymbols,
		      struct gr_byte_vector *ret)
{
	struct skeleton s = { .out = ret, .start = ret->size };
	bool ok = make(&s, elf, symbols, nsymbols);

	gr_byte_vector_deinit(&s.names);
	return ok;
}
