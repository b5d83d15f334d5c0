// SPDX-License-Identifier: Apache-2.0
#include "inferior/elf.h"

#include "suite.h"

#include "base/cleanup.h"
#include "elf_builder.h"
#include "inferior/core.h"

/** A good file, of which one thing is changed. */
struct parse_case {
	const char *name;
	size_t off, bytes;
	uint64_t value;
	size_t cut_bytes; /**< File size, 0: all of it. */
	int code;	  /**< enum gr_error_code, or -1 for success. */
	const char *message;
	size_t phnum, lost;
};

#define FIELD(name) offsetof(Elf64_Ehdr, name), sizeof(((Elf64_Ehdr *)0)->name)

static const struct parse_case parse_cases[] = {
	{ "a good file", 0, 0, 0, 0, -1, NULL, 3, 0 },
	{ "an empty file", 0, 0, 0, SIZE_MAX, GR_ERROR_FORMAT, "F is empty", 0,
	  0 },
	{ "ends inside the header", 0, 0, 0, 40, GR_ERROR_FORMAT,
	  "F ends inside its ELF header", 0, 0 },
	{ "text", 0, 4, 0x6f6c6c65, 0, GR_ERROR_FORMAT, "F is not an ELF file",
	  0, 0 },
	{ "gzip", 0, 2, 0x8b1f, 0, GR_ERROR_FORMAT,
	  "F is compressed with gzip: unpack it first (gunzip)", 0, 0 },
	{ "zstd", 0, 4, 0xfd2fb528, 0, GR_ERROR_FORMAT,
	  "F is compressed with zstd: unpack it first (unzstd)", 0, 0 },
	{ "xz", 0, 5, 0x5a587a37fd, 0, GR_ERROR_FORMAT,
	  "F is compressed with xz: unpack it first (unxz)", 0, 0 },
	{ "lz4", 0, 4, 0x184d2204, 0, GR_ERROR_FORMAT,
	  "F is compressed with lz4: unpack it first (unlz4)", 0, 0 },
	{ "bzip2", 0, 3, 0x685a42, 0, GR_ERROR_FORMAT,
	  "F is compressed with bzip2: unpack it first (bunzip2)", 0, 0 },
	{ "32-bit", EI_CLASS, 1, ELFCLASS32, 0, GR_ERROR_ARCH, "32-bit", 0, 0 },
	{ "big-endian machine", EI_DATA, 1, ELFDATA2MSB, 0, GR_ERROR_ARCH,
	  "big-endian", 0, 0 },
	{ "arm64", FIELD(e_machine), EM_AARCH64, 0, -1, NULL, 3, 0 },
	{ "RISC-V", FIELD(e_machine), EM_RISCV, 0, GR_ERROR_ARCH, "RISC-V", 0,
	  0 },
	{ "unknown machine", FIELD(e_machine), 0x7777, 0, GR_ERROR_ARCH,
	  "machine 30583", 0, 0 },
	{ "more headers than fit", FIELD(e_phnum), 60000, 0, -1, NULL,
	  /* (file size - 64) / 56 */ 19, 60000 - 19 },
	{ "headers past the end", FIELD(e_phoff), UINT64_MAX - 7, 0, -1, NULL,
	  0, 3 },
	{ "headers of another size", FIELD(e_phentsize), 55, 0, -1, NULL, 0,
	  0 },
	{ "cut off inside the headers", 0, 0, 0, 64 + 56 + 20, -1, NULL, 1, 2 },
};

static void build(struct elf_builder *b)
{
	builder_init(b, ET_EXEC);
	builder_load(b, 0x402345, 100, PF_R, 0);
	builder_header(b, PT_NOTE);
	builder_load(b, 0x401234, 100, PF_R, 0);
	builder_finish(b);
}

TEST_ROWS(parse, parse_cases, c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf elf = { .phnum = 0 };

	build(b);
	memcpy(b->file + c->off, &c->value, c->bytes);
	size_t bytes;
	_cleanup_free_ uint8_t *exact = builder_copy(b, c->cut_bytes, &bytes);
	struct gr_error *err =
		gr_elf_parse("F", (struct gr_bytes){ exact, bytes }, &elf);
	if (c->code < 0) {
		assert_null(err);
		assert_int_equal(elf.phnum, c->phnum);
		assert_int_equal(elf.lost_headers, c->lost);
		for (size_t i = 0; i < elf.phnum; i++) {
			Elf64_Phdr header = gr_elf_program_header(&elf, i);
			gr_elf_segment_bytes(&elf, &header);
		}
		gr_elf_section(&elf, ".text", NULL);
		return;
	}
	assert_error_code(err, c->code);
	assert_non_null(strstr(err->message, c->message));
	gr_error_destroy(err);
}

TEST(lowest)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf elf;

	build(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &elf));
	assert_int_equal(gr_elf_lowest_addr(&elf), 0x401000);
}

TEST(many_headers)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	Elf64_Shdr section = { .sh_info = 14 };
	struct gr_elf elf;

	build(b);
	b->header.e_phnum = PN_XNUM;
	b->header.e_shoff = b->bytes;
	b->headers[0].p_offset = 64 + 12 * 56;
	builder_append(b, &section, sizeof(section));
	builder_finish(b);
	struct gr_bytes file = { b->file, b->bytes };
	assert_null(gr_elf_parse("F", file, &elf));
	assert_int_equal(elf.phnum, 14);
	// Without the section header, the first segment ends the headers.
	file.size -= 30;
	assert_null(gr_elf_parse("F", file, &elf));
	assert_int_equal(elf.phnum, 12);
}

TEST(sections)
{
	static const char names[] = "\0.names\0.data.x\0.zeros";
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf elf;
	uint64_t addr = 0;

	build(b);
	size_t names_off = b->bytes;
	builder_append(b, names, sizeof(names));
	const Elf64_Shdr sections[5] = {
		[1] = { .sh_name = 1,
			.sh_type = SHT_STRTAB,
			.sh_offset = names_off,
			.sh_size = sizeof(names) },
		[2] = { .sh_name = 0xffffffff, .sh_type = SHT_PROGBITS },
		[3] = { .sh_name = 8,
			.sh_type = SHT_PROGBITS,
			.sh_addr = 0x5000,
			.sh_offset = 10,
			.sh_size = 20 },
		[4] = { .sh_name = 16,
			.sh_type = SHT_NOBITS,
			.sh_offset = 10,
			.sh_size = 20 },
	};
	builder_sections(b, sections, 5, 1);
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &elf));
	struct gr_bytes found = gr_elf_section(&elf, ".data.x", &addr);
	assert_ptr_equal(found.data, b->file + 10);
	assert_int_equal(found.size, 20);
	assert_int_equal(addr, 0x5000);
	assert_null(gr_elf_section(&elf, ".zeros", NULL).data);
	assert_null(gr_elf_section(&elf, ".absent", NULL).data);
}

TEST(open)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf elf;
	char path[64];

	build(b);
	builder_write(b, b->bytes, path);
	assert_null(gr_elf_open(path, &elf));
	assert_int_equal(elf.phnum, 3);
	gr_elf_deinit(&elf);
	unlink(path);
	assert_fails(gr_elf_open(path, &elf), GR_ERROR_IO, NULL);
	assert_fails(gr_elf_open("/", &elf), GR_ERROR_FORMAT, NULL);
}

/* Many headers for the same bytes: those are given twice, no more. */
TEST(segments_again)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_segments segments = { 0 };
	struct gr_bytes bytes;
	Elf64_Phdr header;
	struct gr_elf elf;
	size_t count = 0;

	assert_non_null(b);
	builder_init(b, ET_EXEC);
	for (size_t i = 0; i < BUILDER_MAX_HEADERS; i++)
		builder_header(b, PT_LOAD)->p_filesz = 4096;
	builder_append(b, NULL, 4096);
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &elf));
	segments.elf = &elf;
	while (gr_segments_next(&segments, PT_LOAD, &header, &bytes)) {
		assert_int_equal(bytes.size, 4096);
		count++;
	}
	assert_in_range(count, 1, 2 * b->bytes / 4096 + 1);
}

/* A core whose headers give its notes again and again. */
TEST(notes_again)
{
	enum { NOTES_BYTES = 1 << 16 };
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	const struct gr_target target = { .kind = GR_TARGET_CORE };
	struct gr_core core;
	char path[64];

	assert_non_null(b);
	builder_init(b, ET_CORE);
	for (size_t i = 0; i < BUILDER_MAX_HEADERS; i++)
		builder_header(b, PT_NOTE)->p_filesz = NOTES_BYTES;
	builder_append(b, NULL, NOTES_BYTES);
	builder_finish(b);
	builder_write(b, b->bytes, path);
	struct gr_error *err = gr_core_open(path, &target, &core);
	unlink(path);
	assert_null(err);
	assert_in_range(core.bad_headers, BUILDER_MAX_HEADERS - 3,
			BUILDER_MAX_HEADERS - 1);
	gr_core_deinit(&core);
}

/* Many symbols with one long name: they cannot all have it. Those without a
 * name are given, too, so that the caller takes a step for each. */
TEST(symbols_share_a_name)
{
	enum { NSYMBOLS = 20000, NAME_BYTES = 10000 };
	static const char names[] = "\0.symtab\0.strtab";
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	_cleanup_free_ Elf64_Sym *symbols = calloc(NSYMBOLS, sizeof(*symbols));
	char text[NAME_BYTES + 1] = { 0 };
	struct gr_elf_symbols at = { .off = 0 };
	struct gr_elf_symbol symbol;
	size_t count = 0, named = 0;
	struct gr_elf elf;

	assert_true(b && symbols);
	memset(text, 'n', NAME_BYTES);
	for (size_t i = 0; i < NSYMBOLS; i++)
		symbols[i] = (Elf64_Sym){ .st_shndx = 1 + i % 2, .st_size = 8 };
	for (size_t i = 0; i < NSYMBOLS; i += 100)
		symbols[i].st_shndx = SHN_UNDEF;
	builder_init(b, ET_EXEC);
	const Elf64_Shdr sections[] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1,
		  .sh_type = SHT_SYMTAB,
		  .sh_offset = b->bytes,
		  .sh_size = NSYMBOLS * sizeof(*symbols) },
		{ .sh_name = 9,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = b->bytes + NSYMBOLS * sizeof(*symbols),
		  .sh_size = sizeof(text) },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset =
			  b->bytes + NSYMBOLS * sizeof(*symbols) + sizeof(text),
		  .sh_size = sizeof(names) },
	};
	builder_append(b, symbols, NSYMBOLS * sizeof(*symbols));
	builder_append(b, text, sizeof(text));
	builder_append(b, names, sizeof(names));
	builder_sections(b, sections, 4, 3);
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &elf));
	while (gr_elf_next_symbol(&elf, &at, &symbol)) {
		count++;
		named += *symbol.name != '\0';
	}
	assert_int_equal(count, NSYMBOLS - 1);
	assert_in_range(named, 100, (4 * NAME_BYTES + (1 << 20)) / NAME_BYTES);
}

GR_SUITE("elf")
