// SPDX-License-Identifier: Apache-2.0
/* Debug information that makes more of its bytes than any compiler. */
#include "dwarf/dwarf.h"
#include "dwarf/index.h"
#include "goruntime/types/types_internal.h"

#include "base/arena.h"
#include "fake_image.h"
#include "suite.h"

#include <elf.h>
#include <libdwarf/dwarf.h>
#include <unistd.h>

// ----------------------------------------------------------------- a file

enum { NSECTIONS = 6, MAX_BYTES = 8 << 20 };

struct section {
	const char *name;
	uint8_t *data;
	size_t bytes;
	uint64_t flags;
};

/** A file in DWARF 4: abbreviations, DIEs and strings. */
struct file {
	struct section abbrev, info, str, ranges;
	char path[64];
	struct gr_dwarf *dwarf;
};

static void put(struct section *s, const void *data, size_t bytes)
{
	assert_true(bytes <= MAX_BYTES - s->bytes);
	memcpy(s->data + s->bytes, data, bytes);
	s->bytes += bytes;
}

static void put_number(struct section *s, uint64_t value, size_t bytes)
{
	put(s, &value, bytes);
}

static void put_leb(struct section *s, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_number(s, (value & 0x7f) | 0x80, 1);
	put_number(s, value, 1);
}

/* An abbreviation without its attributes. */
static void put_abbrev(struct file *f, uint64_t code, uint16_t tag,
		       bool has_children)
{
	put_leb(&f->abbrev, code);
	put_leb(&f->abbrev, tag);
	put_number(&f->abbrev, has_children, 1);
}

static void put_attribute(struct file *f, uint16_t number, uint16_t form)
{
	put_leb(&f->abbrev, number);
	put_leb(&f->abbrev, form);
}

enum {
	UNIT = 1,
	TYPE,
	STRUCT,
	MEMBER,
	TYPEDEF,
	MANY,
	FUNCTION,
	LOCAL,
	BLOCK,
	PIECES
};
enum { LOW_PC = 0x1000, FUNCTION_BYTES = 0x100000 };

static struct file *setup(void)
{
	struct file *f = suite_alloc(sizeof(*f));

	f->abbrev.name = ".debug_abbrev";
	f->info.name = ".debug_info";
	f->str.name = ".debug_str";
	f->ranges.name = ".debug_ranges";
	f->ranges.data = malloc(MAX_BYTES);
	assert_non_null(f->ranges.data);
	f->abbrev.data = malloc(MAX_BYTES);
	f->info.data = malloc(MAX_BYTES);
	f->str.data = malloc(MAX_BYTES);
	assert_true(f->abbrev.data && f->info.data && f->str.data);
	put_abbrev(f, UNIT, DW_TAG_compile_unit, true);
	put_attribute(f, DW_AT_language, DW_FORM_data1);
	put_attribute(f, 0, 0);
	put_abbrev(f, TYPE, DW_TAG_base_type, false);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_byte_size, DW_FORM_data1);
	put_attribute(f, 0, 0);
	put_abbrev(f, STRUCT, DW_TAG_structure_type, true);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, 0, 0);
	put_abbrev(f, MEMBER, DW_TAG_member, false);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_type, DW_FORM_ref4);
	put_attribute(f, 0, 0);
	put_abbrev(f, TYPEDEF, DW_TAG_typedef, false);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_type, DW_FORM_ref4);
	put_attribute(f, 0, 0);
	put_abbrev(f, FUNCTION, DW_TAG_subprogram, true);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_low_pc, DW_FORM_addr);
	put_attribute(f, DW_AT_high_pc, DW_FORM_data4);
	put_attribute(f, 0, 0);
	put_abbrev(f, LOCAL, DW_TAG_variable, false);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_type, DW_FORM_ref4);
	put_attribute(f, DW_AT_location, DW_FORM_exprloc);
	put_attribute(f, 0x2907, DW_FORM_udata); // DW_AT_go_closure_offset
	put_attribute(f, 0, 0);
	put_abbrev(f, BLOCK, DW_TAG_lexical_block, true);
	put_attribute(f, 0, 0);
	put_abbrev(f, PIECES, DW_TAG_subprogram, false);
	put_attribute(f, DW_AT_name, DW_FORM_strp);
	put_attribute(f, DW_AT_ranges, DW_FORM_sec_offset);
	put_attribute(f, 0, 0);
	// The length in the unit's header is set at the end.
	put_number(&f->info, 0, 4);
	put_number(&f->info, 4, 2);
	put_number(&f->info, 0, 4);
	put_number(&f->info, 8, 1);
	put_leb(&f->info, UNIT);
	put_number(&f->info, DW_LANG_Go, 1);
	put(&f->str, "name", 5);
	return f;
}

static void teardown(struct file *f)
{
	gr_dwarf_destroy(f->dwarf);
	if (f->path[0])
		unlink(f->path);
	free(f->abbrev.data);
	free(f->info.data);
	free(f->str.data);
	free(f->ranges.data);
	free(f);
}

#define FIXTURE struct file *f, setup, teardown

/* Headers, sections one after the other, section headers. */
static void write_file(struct file *f)
{
	struct section names = { .name = ".shstrtab" };
	struct section none = { .name = "" };
	struct section *sections[NSECTIONS] = { &none,	 &f->abbrev, &f->info,
						&f->str, &f->ranges, &names };
	Elf64_Shdr headers[NSECTIONS] = { 0 };
	Elf64_Ehdr elf = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(elf),
		.e_ehsize = sizeof(elf),
		.e_shentsize = sizeof(headers[0]),
		.e_shnum = NSECTIONS,
		.e_shstrndx = NSECTIONS - 1,
	};
	uint64_t off = sizeof(elf) + sizeof(headers);
	uint8_t text[256];

	names.data = text;
	for (size_t i = 0; i < NSECTIONS; i++) {
		headers[i].sh_name = names.bytes;
		put(&names, sections[i]->name, strlen(sections[i]->name) + 1);
	}
	for (size_t i = 1; i < NSECTIONS; i++) {
		headers[i].sh_type = i + 1 < NSECTIONS ? SHT_PROGBITS :
							 SHT_STRTAB;
		headers[i].sh_flags = sections[i]->flags;
		headers[i].sh_offset = off;
		headers[i].sh_size = sections[i]->bytes;
		headers[i].sh_addralign = 1;
		off += sections[i]->bytes;
	}
	snprintf(f->path, sizeof(f->path), "/tmp/goref-limits-XXXXXX");
	int fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	assert_int_equal(write(fd, headers, sizeof(headers)), sizeof(headers));
	for (size_t i = 1; i < NSECTIONS; i++)
		assert_int_equal(write(fd, sections[i]->data,
				       sections[i]->bytes),
				 sections[i]->bytes);
	close(fd);
}

/* A poll that is number `refused` ends it. */
static uint64_t refused;

static struct gr_error *count_poll(void *ctx)
{
	uint64_t *polls = ctx;

	++*polls;
	assert_true(!refused || *polls <= refused);
	return *polls == refused ?
		       gr_error_format(GR_ERROR_INTERRUPTED, "interrupted") :
		       NULL;
}

static struct gr_error *open_file(struct file *f, uint64_t *polls)
{
	uint32_t unit_bytes;

	put_number(&f->info, 0, 1);
	put_number(&f->abbrev, 0, 1);
	unit_bytes = f->info.bytes - 4;
	memcpy(f->info.data, &unit_bytes, sizeof(unit_bytes));
	write_file(f);
	*polls = refused = 0;
	return gr_dwarf_open(f->path, NULL, count_poll, polls, &f->dwarf);
}

static size_t count_types(struct file *f)
{
	size_t count;

	gr_dwarf_types(f->dwarf, &count);
	return count;
}

enum { NTYPES = 100000 };

/* All types share a name of so many bytes. */
static void put_types(struct file *f, size_t name_bytes)
{
	uint64_t name = f->str.bytes;

	memset(f->str.data + name, 'n', name_bytes);
	f->str.data[name + name_bytes] = '\0';
	f->str.bytes += name_bytes + 1;
	for (int i = 0; i < NTYPES; i++) {
		put_leb(&f->info, TYPE);
		put_number(&f->info, name, 4);
		put_number(&f->info, 8, 1);
	}
}

/* A name that is too long counts as absent. */
TEST_F(too_long_name)
{
	uint64_t polls;

	put_types(f, GR_NAME_MAX_BYTES + 1);
	assert_null(open_file(f, &polls));
	size_t count;
	const struct gr_dwarf_type *types = gr_dwarf_types(f->dwarf, &count);

	assert_int_equal(count, NTYPES);
	for (size_t i = 0; i < count; i++)
		assert_null(strstr(types[i].name, "nn"));
}

/* The longest name is paid for by each type. */
TEST_F(shared_name)
{
	uint64_t polls;

	put_types(f, GR_NAME_MAX_BYTES);
	assert_null(open_file(f, &polls));
	assert_in_range(count_types(f), 1, NTYPES / 3);
	assert_in_range(polls, count_types(f) / 16 - 1, UINT32_MAX);
}

/* 100,000 types of one byte have 3,000 attributes each. */
TEST_F(many_attributes)
{
	enum { NTYPES = 100000, NATTRS = 3000 };
	uint64_t polls;

	put_abbrev(f, MANY, DW_TAG_base_type, false);
	for (int i = 0; i < NATTRS; i++)
		put_attribute(f, DW_AT_lo_user + 0x100 + i,
			      DW_FORM_flag_present);
	put_attribute(f, 0, 0);
	for (int i = 0; i < NTYPES; i++)
		put_leb(&f->info, MANY);
	assert_null(open_file(f, &polls));
	assert_in_range(count_types(f), 1, NTYPES / 10);
	assert_in_range(polls, 100, UINT32_MAX);
}

/* 2,000 names for a struct of 2,000 fields: these are there once. */
TEST_F(typedefs_of_one_struct)
{
	enum { NFIELDS = 2000, NTYPEDEFS = 2000 };
	struct gr_arena arena = { 0 };
	struct gr_module module = { .addr = 1 };
	struct gr_image image = { 0 };
	struct gr_runtime rt = { .image = &image,
				 .arena = &arena,
				 .modules = &module,
				 .nmodules = 1 };
	uint64_t polls, number = f->info.bytes, record;

	put_leb(&f->info, TYPE);
	put_number(&f->info, 0, 4);
	put_number(&f->info, 8, 1);
	record = f->info.bytes;
	put_leb(&f->info, STRUCT);
	put_number(&f->info, 0, 4);
	for (int i = 0; i < NFIELDS; i++) {
		put_leb(&f->info, MEMBER);
		put_number(&f->info, 0, 4);
		put_number(&f->info, number, 4);
	}
	put_leb(&f->info, 0);
	for (int i = 0; i < NTYPEDEFS; i++) {
		uint64_t name = f->str.bytes;
		char text[16];

		put(&f->str, text,
		    snprintf(text, sizeof(text), "main.T%d", i) + 1);
		put_leb(&f->info, TYPEDEF);
		put_number(&f->info, name, 4);
		put_number(&f->info, record, 4);
	}
	assert_null(open_file(f, &polls));
	assert_int_equal(count_types(f), NTYPEDEFS + 2);
	module.dwarf = f->dwarf;
	struct gr_types *types;
	assert_null(gr_types_create(&rt, &types));
	assert_int_equal(gr_types_field_count(types), NFIELDS);
	gr_type_id last = gr_types_find(types, "main.T1999");
	assert_int_not_equal(last, GR_TYPE_NONE);
	assert_int_equal(gr_types_get(types, last)->nfields, NFIELDS);
	gr_types_destroy(types);
	gr_arena_deinit(&arena);
}

// -------------------------------------------------- questions about functions

/* Open a file of one function: variables 0.x, 1.x, ... of a type of one byte,
 * behind so many blocks that begin. */
static void open_function(struct file *f, uint64_t *polls, unsigned int nblocks,
			  unsigned int nlocals)
{
	uint64_t type = f->info.bytes;

	put_leb(&f->info, TYPE);
	put_number(&f->info, 0, 4);
	put_number(&f->info, 8, 1);
	put_leb(&f->info, FUNCTION);
	put_number(&f->info, 0, 4);
	put_number(&f->info, LOW_PC, 8);
	put_number(&f->info, FUNCTION_BYTES, 4);
	for (unsigned int i = 0; i < nblocks; i++)
		put_leb(&f->info, BLOCK);
	for (unsigned int i = 0; i < nlocals; i++) {
		uint64_t name = f->str.bytes;
		char text[16];

		put(&f->str, text, snprintf(text, sizeof(text), "%u.x", i) + 1);
		put_leb(&f->info, LOCAL);
		put_number(&f->info, name, 4);
		put_number(&f->info, type, 4);
		put_leb(&f->info, 2);
		put_number(&f->info, DW_OP_fbreg, 1);
		put_leb(&f->info, 0);
		put_leb(&f->info, 8 * (i + 1));
	}
	for (unsigned int i = 0; i <= nblocks; i++)
		put_leb(&f->info, 0);
	assert_null(open_file(f, polls));
	*polls = 0;
}

/* Many functions whose code lies in the same 25,000 pieces. */
TEST_F(many_ranges)
{
	enum { NFUNCTIONS = 10000, NRANGES = 25000, KEPT = 4096 };
	uint64_t polls;
	size_t count;

	for (uint64_t i = 0; i < NRANGES; i++) {
		put_number(&f->ranges, LOW_PC + 2 * i, 8);
		put_number(&f->ranges, LOW_PC + 2 * i + 1, 8);
	}
	put_number(&f->ranges, 0, 8);
	put_number(&f->ranges, 0, 8);
	for (int i = 0; i < NFUNCTIONS; i++) {
		put_leb(&f->info, PIECES);
		put_number(&f->info, 0, 4);
		put_number(&f->info, 0, 4);
	}
	assert_null(open_file(f, &polls));
	gr_dwarf_functions(f->dwarf, &count);
	assert_int_equal(count % KEPT, 0);
	assert_in_range(count / KEPT, 10, NFUNCTIONS / 10);
	assert_in_range(polls, count / KEPT - 1, 1 << 16);
}

typedef struct gr_error *ask_function(struct file *f, size_t *count);

static struct gr_error *ask_locals(struct file *f, size_t *count)
{
	_cleanup_free_ struct gr_dwarf_local *locals = NULL;

	return gr_dwarf_locals(f->dwarf, 0, LOW_PC, &locals, count);
}

static struct gr_error *ask_captures(struct file *f, size_t *count)
{
	_cleanup_free_ struct gr_dwarf_capture *captures = NULL;

	return gr_dwarf_captures(f->dwarf, 0, &captures, count);
}

static struct gr_error *ask_first_param(struct file *f, size_t *count)
{
	uint32_t type;
	struct gr_error *err = gr_dwarf_first_param_type(f->dwarf, 0, &type);

	*count = type != GR_DWARF_NONE;
	return err;
}

/* It asks often, and ends when it may not go on. */
static void check_question(struct file *f, uint64_t *polls, ask_function *ask,
			   size_t want)
{
	size_t count;

	assert_null(ask(f, &count));
	assert_int_equal(count, want);
	assert_in_range(*polls, 10, 10000);
	for (uint64_t all = *polls, i = 0; i < 4; i++) {
		*polls = 0;
		refused = 1 + i * (all - 1) / 4;
		assert_fails(ask(f, &count), GR_ERROR_INTERRUPTED, NULL);
		assert_int_equal(*polls, refused);
	}
	refused = 0;
}

TEST_F(many_locals)
{
	uint64_t polls;

	open_function(f, &polls, 0, 100000);
	check_question(f, &polls, ask_locals, 4096);
}

TEST_F(many_captures)
{
	uint64_t polls;

	open_function(f, &polls, 5, 100000);
	check_question(f, &polls, ask_captures, 1024);
}

TEST_F(no_first_param)
{
	uint64_t polls;

	open_function(f, &polls, 0, 100000);
	check_question(f, &polls, ask_first_param, 0);
}

/* Blocks in blocks: those far inside are not entered. */
TEST_F(deep_blocks)
{
	uint64_t polls;
	size_t count;

	open_function(f, &polls, 100000, 1);
	assert_null(ask_locals(f, &count));
	assert_int_equal(count, 0);
	assert_null(ask_captures(f, &count));
	assert_int_equal(count, 0);
}

/* All questions together end before a file of this size has so much to say. */
TEST_F(all_questions)
{
	struct gr_error *err = NULL;
	uint64_t polls;
	size_t count, asked = 0;

	open_function(f, &polls, 0, 50000);
	for (; !err; asked++) {
		assert_true(asked < 1000);
		err = ask_locals(f, &count);
	}
	assert_error_code(err, GR_ERROR_FORMAT);
	gr_error_destroy(err);
	assert_in_range(asked, 10, 500);
	assert_in_range(polls, 1 << 14, 1 << 15);
}

/* A section that says that it unpacks to a gigabyte. */
TEST_F(packed_too_well)
{
	const Elf64_Chdr packed = { .ch_type = ELFCOMPRESS_ZLIB,
				    .ch_size = 1 << 30,
				    .ch_addralign = 1 };
	uint64_t polls;

	f->str.flags = SHF_COMPRESSED;
	f->str.bytes = 0;
	put(&f->str, &packed, sizeof(packed));
	memset(f->str.data + f->str.bytes, 0, 1000);
	f->str.bytes += 1000;
	assert_fails(open_file(f, &polls), GR_ERROR_FORMAT, "damaged");
}

/* Names that all belong into one slot of an index. */
TEST(one_slot)
{
	enum { NNAMES = 1100, MASK = 4095, NAME_BYTES = 16 };
	char(*text)[NAME_BYTES] = calloc(NNAMES, NAME_BYTES);
	const char **names = calloc(NNAMES, sizeof(*names));
	struct gr_column column = { names, sizeof(*names) };
	struct gr_index index;
	size_t count = 0;

	assert_true(text && names);
	for (unsigned int i = 0; count < NNAMES; i++) {
		// A letter for each four bits.
		for (unsigned int j = 0; j < 8; j++)
			text[count][j] = 'a' + (i >> 4 * j) % 16;
		names[count] = text[count];
		count += (gr_name_hash(text[count]) & MASK) == 7;
	}
	assert_true(gr_index_init(&index, NNAMES));
	assert_int_equal(index.mask, MASK);
	for (uint32_t i = 0; i < NNAMES; i++)
		gr_index_add_name(&index, column, i);
	assert_int_equal(gr_index_find_name(&index, column, names[0]), 0);
	assert_int_equal(gr_index_find_name(&index, column, names[1000]), 1000);
	assert_int_equal(gr_index_find_name(&index, column, names[1099]),
			 UINT32_MAX);
	gr_index_deinit(&index);
	free(names);
	free(text);
}

GR_SUITE("dwarf limits")
