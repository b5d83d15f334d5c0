// SPDX-License-Identifier: Apache-2.0
/* c_variable: names of variables of C, also after a search that was ended. */
#include "goruntime/layout/c_variable.h"
#include "inferior/elf.h"

#include "elf_builder.h"
#include "fake_image.h"
#include "polls.h"

enum {
	NSYMBOLS = 9000, /* read with two polls, and sorted with more */
	NAME_BYTES = 8,
	FIRST = 0x100000,
	VARIABLE_BYTES = 24,
	STEP = 32,
};

struct fixture {
	struct elf_builder b;
	struct gr_elf elf;
	struct gr_image image;
	struct gr_arena arena;
	struct gr_runtime rt;
	struct polls polls;
	Elf64_Sym symbols[NSYMBOLS];
	char text[NSYMBOLS * NAME_BYTES];
};

/* Symbols are in the order of falling addresses. */
static uint64_t addr_of(unsigned int i)
{
	return FIRST + (uint64_t)(NSYMBOLS - i) * STEP;
}

static void put_file(struct fixture *f)
{
	static const char names[] = "\0.symtab\0.strtab";
	struct elf_builder *b = &f->b;

	for (unsigned int i = 1; i < NSYMBOLS; i++) {
		snprintf(f->text + i * NAME_BYTES, NAME_BYTES, "v%u", i);
		f->symbols[i] = (Elf64_Sym){
			.st_name = i * NAME_BYTES,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = 1,
			.st_value = addr_of(i),
			.st_size = VARIABLE_BYTES,
		};
	}
	builder_init(b, ET_EXEC);
	uint64_t off = b->bytes;
	const Elf64_Shdr sections[] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1,
		  .sh_type = SHT_SYMTAB,
		  .sh_offset = off,
		  .sh_size = sizeof(f->symbols) },
		{ .sh_name = 9,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = off + sizeof(f->symbols),
		  .sh_size = sizeof(f->text) },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset = off + sizeof(f->symbols) + sizeof(f->text),
		  .sh_size = sizeof(names) },
	};
	builder_append(b, f->symbols, sizeof(f->symbols));
	builder_append(b, f->text, sizeof(f->text));
	builder_append(b, names, sizeof(names));
	builder_sections(b, sections, 4, 3);
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &f->elf));
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	put_file(f);
	f->image.elf = &f->elf;
	f->rt.image = &f->image;
	f->rt.arena = &f->arena;
	return f;
}

static void teardown(struct fixture *f)
{
	gr_c_variables_deinit(&f->rt.c_variables);
	gr_arena_deinit(&f->arena);
	free(f);
}

#define FIXTURE struct fixture *f, setup, teardown

/* The names of some variables, from the first byte to the last. */
static void check_names(struct fixture *f)
{
	struct gr_c_variable found;

	polls_set(&f->polls, &f->rt, 0);
	for (unsigned int i = 1; i < NSYMBOLS; i += 97) {
		char want[NAME_BYTES];

		snprintf(want, sizeof(want), "v%u", i);
		assert_null(gr_c_variable_find(&f->rt, addr_of(i), &found));
		assert_string_equal(found.name, want);
		assert_int_equal(found.addr, addr_of(i));
		assert_int_equal(found.bytes, VARIABLE_BYTES);
		assert_null(gr_c_variable_find(
			&f->rt, addr_of(i) + VARIABLE_BYTES - 1, &found));
		assert_string_equal(found.name, want);
		assert_int_equal(found.addr, addr_of(i));
		assert_int_equal(found.bytes, VARIABLE_BYTES);
		assert_null(gr_c_variable_find(
			&f->rt, addr_of(i) + VARIABLE_BYTES, &found));
		assert_null(found.name);
	}
	assert_null(gr_c_variable_find(&f->rt, FIRST - 1, &found));
	assert_null(found.name);
}

TEST_F(names)
{
	check_names(f);
}

/* The next question has all names, wherever the one before was ended. */
TEST_F(ended)
{
	struct gr_c_variable found;

	check_names(f);
	uint64_t all = f->polls.seen;
	assert_in_range(all, 3, 1000);
	for (uint64_t last = 1; last <= all; last++) {
		gr_c_variables_deinit(&f->rt.c_variables);
		polls_set(&f->polls, &f->rt, last);
		struct gr_error *err =
			gr_c_variable_find(&f->rt, addr_of(5), &found);
		polls_check_ended(&f->polls, err);
		check_names(f);
	}
}

GR_SUITE("variables of C")
