// SPDX-License-Identifier: Apache-2.0
/* Facts from files, good and damaged. */
#include "facts/elf_facts.h"

#include "base/cleanup.h"
#include "elf_builder.h"
#include "suite.h"

#include <sys/stat.h>

/** A file of which one field of the header is changed. */
struct kind_case {
	const char *name;
	size_t off, bytes;
	uint64_t value;
	size_t cut_bytes; /**< Size of the file; 0: all of it. */
	const char *kind, *machine, *compression, *missing_part;
	bool has_header;
};

#define FIELD(name) offsetof(Elf64_Ehdr, name), sizeof(((Elf64_Ehdr *)0)->name)

static const struct kind_case kind_cases[] = {
	{ "executable", FIELD(e_type), ET_EXEC, 0, "executable", "x86-64", NULL,
	  NULL, true },
	{ "library", FIELD(e_type), ET_DYN, 0, "shared object", "x86-64", NULL,
	  NULL, true },
	{ "object file", FIELD(e_type), ET_REL, 0, "other", "x86-64", NULL,
	  NULL, true },
	{ "core", FIELD(e_type), ET_CORE, 0, "core", "x86-64", NULL, NULL,
	  true },
	{ "arm64", FIELD(e_machine), EM_AARCH64, 0, "core", "AArch64", NULL,
	  NULL, true },
	{ "unknown processor", FIELD(e_machine), 0x7777, 0, "core", NULL, NULL,
	  NULL, true },
	{ "32 bits", EI_CLASS, 1, ELFCLASS32, 0, "core", "x86-64", NULL, NULL,
	  false },
	{ "big-endian", EI_DATA, 1, ELFDATA2MSB, 0, "other", NULL, NULL, NULL,
	  false },
	{ "text", 0, 4, 0x6f6c6c65, 0, NULL, NULL, NULL, NULL, false },
	{ "gzip", 0, 2, 0x8b1f, 0, NULL, NULL, "gzip", NULL, false },
	{ "nothing", 0, 0, 0, SIZE_MAX, NULL, NULL, NULL, NULL, false },
	{ "one byte", 0, 0, 0, 1, NULL, NULL, NULL, "ELF header", false },
	{ "a core of 63 bytes", 0, 0, 0, 63, "core", "x86-64", NULL,
	  "ELF header", false },
	{ "an executable of 63 bytes", FIELD(e_type), ET_EXEC, 63, "executable",
	  "x86-64", NULL, NULL, false },
	{ "a core that ends in its program headers", 0, 0, 0, 64 + 56 + 1,
	  "core", "x86-64", NULL, "program headers", true },
	{ "a core with program headers past all", FIELD(e_phoff),
	  UINT64_MAX - 7, 0, "core", "x86-64", NULL, "program headers", true },
	{ "program headers of another size", FIELD(e_phentsize), 55, 0, "core",
	  "x86-64", NULL, NULL, true },
	{ "a core that ends in its notes", 0, 0, 0,
	  sizeof(Elf64_Ehdr) + BUILDER_MAX_HEADERS * sizeof(Elf64_Phdr) + 8,
	  "core", "x86-64", NULL, "notes", true },
};

static void build_core(struct elf_builder *b)
{
	builder_init(b, ET_CORE);
	Elf64_Phdr *notes = builder_header(b, PT_NOTE);
	builder_note(b, notes, "CORE", NT_AUXV, "0123456789abcdef", 16);
	builder_load(b, 0x1000, 64, PF_R, 0);
	builder_finish(b);
}

static void check_text(const char *found, const char *wanted)
{
	if (wanted) {
		assert_non_null(found);
		assert_string_equal(found, wanted);
	} else {
		assert_null(found);
	}
}

TEST_ROWS(kind, kind_cases, c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf_facts facts;

	build_core(b);
	memcpy(b->file + c->off, &c->value, c->bytes);
	size_t bytes;
	_cleanup_free_ uint8_t *exact = builder_copy(b, c->cut_bytes, &bytes);
	gr_elf_facts_parse((struct gr_bytes){ exact, bytes }, &facts);
	check_text(facts.kind, c->kind);
	check_text(facts.machine, c->machine);
	check_text(facts.compression, c->compression);
	check_text(facts.missing_part, c->missing_part);
	assert_int_equal(facts.has_header, c->has_header);
	assert_int_equal(facts.file_bytes, bytes);
	if (c->missing_part)
		assert_true(facts.needed_bytes > bytes);
}

/** An executable with sections. */
struct section_case {
	const char *name;
	const char *names[2]; /**< The names of two sections. */
	uint32_t type;
	uint16_t nsections; /**< That the header promises; 0: all. */
	uint64_t text_addr;
};

static const struct section_case section_cases[] = {
	{ "second", { ".data", ".text" }, SHT_PROGBITS, 0, 0x600 },
	{ "two", { ".text", ".text" }, SHT_PROGBITS, 0, 0x500 },
	{ "none", { ".data", ".texts" }, SHT_PROGBITS, 0, UINT64_MAX },
	{ "no bytes", { ".data", ".text" }, SHT_NOBITS, 0, 0x600 },
	{ "more sections than there are",
	  { ".data", ".text" },
	  SHT_PROGBITS,
	  9000,
	  0x600 },
};

TEST_ROWS(sections, section_cases, c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_elf_facts facts;
	char names[64] = "";
	size_t second = 1 + strlen(c->names[0]) + 1;

	memcpy(names + 1, c->names[0], strlen(c->names[0]));
	memcpy(names + second, c->names[1], strlen(c->names[1]));
	builder_init(b, ET_EXEC);
	b->header.e_entry = 0x401234;
	builder_load(b, 0x401234, 100, PF_R, 0);
	size_t content_off = b->bytes;
	builder_append(b, "content", 8);
	size_t names_off = b->bytes;
	builder_append(b, names, sizeof(names));
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset = names_off,
		  .sh_size = sizeof(names) },
		{ .sh_name = 1,
		  .sh_type = c->type,
		  .sh_addr = 0x500,
		  .sh_offset = content_off,
		  .sh_size = 8 },
		{ .sh_name = second,
		  .sh_type = c->type,
		  .sh_addr = 0x600,
		  .sh_offset = content_off,
		  .sh_size = 8 },
	};
	builder_sections(b, sections, 4, 1);
	if (c->nsections)
		b->header.e_shnum = c->nsections;
	builder_finish(b);
	gr_elf_facts_parse((struct gr_bytes){ b->file, b->bytes }, &facts);
	assert_int_equal(facts.text_addr, c->text_addr);
	assert_int_equal(facts.entry, 0x401234);
	assert_int_equal(facts.lowest_page, 0x401000);
}

/* Nobody writes into the pipe: an open() that waits never returns. */
TEST(other_files)
{
	struct gr_elf_facts facts;
	char path[64];
	struct gr_error *err;

	snprintf(path, sizeof(path), "/tmp/goref-unit-pipe-%d", getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	err = gr_elf_facts_read(path, &facts);
	unlink(path);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_FORMAT);
	gr_error_destroy(err);
	err = gr_elf_facts_read(path, &facts);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_IO);
	gr_error_destroy(err);
	err = gr_elf_facts_read("/", &facts);
	assert_non_null(err);
	assert_int_equal(err->code, GR_ERROR_FORMAT);
	gr_error_destroy(err);
}

GR_SUITE("elf facts")
