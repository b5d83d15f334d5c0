// SPDX-License-Identifier: Apache-2.0
#include "inferior/notes.h"

#include "base/cleanup.h"
#include "elf_builder.h"
#include "inferior/mappings.h"
#include "suite.h"

/** Note segments: how many notes are in them. */
struct walk_case {
	const char *name;
	uint8_t bytes[40];
	size_t size;
	size_t count;
};

#define NOTE(namesz, descsz, type) \
	namesz, 0, 0, 0, descsz, 0, 0, 0, type, 0, 0, 0

static const struct walk_case walk_cases[] = {
	{ "no notes", { 0 }, 0, 0 },
	{ "one without owner and text", { NOTE(0, 0, 1) }, 12, 1 },
	{ "owner and text are padded",
	  { NOTE(3, 1, 4), 'G', 'o', 0, 0, 9, 0, 0, 0, NOTE(0, 0, 1) },
	  32,
	  2 },
	{ "the last one lacks its padding",
	  { NOTE(3, 1, 4), 'G', 'o', 0, 0, 9 },
	  17,
	  1 },
	{ "the text is cut off", { NOTE(3, 2, 4), 'G', 'o', 0, 0, 9 }, 17, 0 },
	{ "the owner is cut off", { NOTE(8, 0, 4), 'G', 'o', 0, 0 }, 16, 0 },
	{ "the header is cut off", { NOTE(0, 0, 1) }, 11, 0 },
	{ "sizes of 4 GiB",
	  { 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0 },
	  40,
	  0 },
};

TEST_ROWS(walk, walk_cases, c)
{
	struct gr_note note;
	size_t count = 0;

	_cleanup_free_ uint8_t *exact = malloc(c->size + 1);
	memcpy(exact, c->bytes, c->size);
	struct gr_bytes notes = { exact, c->size };
	for (uint64_t off = 0; gr_note_next(notes, &off, &note);)
		count++;
	assert_int_equal(count, c->count);
}

/** NT_PRSTATUS: word of user_regs_struct that a register comes from. */
struct reg_case {
	const char *name;
	size_t word;
};

static const struct reg_case reg_cases[] = {
	{ "rax", 10 }, { "rdx", 12 }, { "rcx", 11 }, { "rbx", 5 },
	{ "rsi", 13 }, { "rdi", 14 }, { "rbp", 4 },  { "rsp", 19 },
	{ "r8", 9 },   { "r9", 8 },   { "r10", 7 },  { "r11", 6 },
	{ "r12", 3 },  { "r13", 2 },  { "r14", 1 },  { "r15", 0 },
	{ "rip", 16 },
};

TEST(thread)
{
	uint64_t words[42] = { 0 };
	struct gr_target_thread thread;

	((uint32_t *)words)[8] = 4711;
	for (size_t i = 0; i < 27; i++)
		words[14 + i] = 1000 + i;
	struct gr_note note = { .type = NT_PRSTATUS,
				.desc = { (uint8_t *)words, sizeof(words) } };
	assert_true(gr_note_thread(&note, &gr_arch_x86_64, &thread));
	assert_int_equal(thread.lwp, 4711);
	assert_int_equal(thread.regs.fs_base, 1021);
	assert_true(thread.regs.is_in_call);
	assert_int_equal(thread.regs.call, 1015);
	for (int reg = 0; reg < GR_NREGS; reg++) {
		assert_string_equal(gr_arch_reg_name(&gr_arch_x86_64, reg),
				    reg_cases[reg].name);
		assert_int_equal(thread.regs.value[reg],
				 1000 + reg_cases[reg].word);
	}
	words[14 + 15] = UINT64_MAX;
	assert_true(gr_note_thread(&note, &gr_arch_x86_64, &thread));
	assert_false(thread.regs.is_in_call);
	note.desc.size = 112 + 27 * 8 - 1;
	assert_false(gr_note_thread(&note, &gr_arch_x86_64, &thread));
}

// struct user_pt_regs: x0 to x30, sp, pc, pstate.
TEST(arm64_thread)
{
	uint64_t words[14 + 34] = { 0 };
	struct gr_target_thread thread;

	((uint32_t *)words)[8] = 4711;
	for (size_t i = 0; i < 34; i++)
		words[14 + i] = 1000 + i;
	struct gr_note note = { .type = NT_PRSTATUS,
				.desc = { (uint8_t *)words, sizeof(words) } };
	assert_true(gr_note_thread(&note, &gr_arch_arm64, &thread));
	assert_int_equal(thread.lwp, 4711);
	assert_int_equal(thread.regs.value[0], 1000);
	assert_int_equal(thread.regs.value[GR_ARM64_FP], 1029);
	assert_int_equal(thread.regs.value[GR_ARM64_LR], 1030);
	assert_int_equal(thread.regs.value[GR_ARM64_SP], 1031);
	assert_int_equal(thread.regs.value[GR_ARM64_PC], 1032);
	assert_int_equal(thread.regs.fs_base, 0);
	assert_false(thread.regs.is_in_call);
	assert_string_equal(gr_arch_reg_name(&gr_arch_arm64, 28), "x28");
	note.desc.size = 112 + 33 * 8 - 1;
	assert_false(gr_note_thread(&note, &gr_arch_arm64, &thread));
}

TEST(delve_thread)
{
	uint8_t desc[128] = { 0 };
	uint64_t head[5] = { 99, 0x401000, 0x7000, 0x7008, 0x1234 };
	static const uint8_t regs[] = {
		3, 0, 'R', 'a', 'x', 8,	  0, 42, 0, 0,	 0, 0, 0,
		0, 0, 2,   0,	'X', '0', 1, 0,	 7, 200, 0, 0,
	};
	struct gr_target_thread thread;

	memcpy(desc, head, sizeof(head));
	desc[49] = 200; // More registers than follow.
	memcpy(desc + 53, regs, sizeof(regs));
	struct gr_note note = { .type = GR_NOTE_DELVE_THREAD,
				.desc = { desc, 53 + sizeof(regs) } };
	assert_true(gr_note_delve_thread(&note, &gr_arch_x86_64, &thread));
	assert_int_equal(thread.lwp, 99);
	assert_int_equal(thread.regs.value[GR_REG_RIP], 0x401000);
	assert_int_equal(thread.regs.value[GR_REG_RSP], 0x7000);
	assert_int_equal(thread.regs.value[GR_REG_RBP], 0x7008);
	assert_int_equal(thread.regs.value[GR_REG_RAX], 42);
	assert_int_equal(thread.regs.fs_base, 0x1234);
	note.desc.size = 52;
	assert_false(gr_note_delve_thread(&note, &gr_arch_x86_64, &thread));
}

struct entry_case {
	const char *name;
	const char *text;
	bool is_found;
	uint64_t entry;
};

static const struct entry_case entry_cases[] = {
	{ "Delve: entry point",
	  "linux/amd64\n1.9\nTarget Pid: 7\nEntry Point: 0x45f0a0\n", true,
	  0x45f0a0 },
	{ "Delve: no entry point", "linux/amd64\n1.9\n", false, 0 },
	{ "Delve: entry point is no number", "\nEntry Point: 0xzz\n", false,
	  0 },
	{ "Delve: entry point is too long",
	  "\nEntry Point: 0x12345678123456789\n", false, 0 },
};

TEST_ROWS(delve_entry, entry_cases, c)
{
	uint64_t entry = 0;
	struct gr_note note = {
		.desc = { (const uint8_t *)c->text, strlen(c->text) },
	};

	assert_int_equal(gr_note_delve_entry(&note, &entry), c->is_found);
	assert_int_equal(entry, c->entry);
}

TEST(auxv)
{
	uint64_t words[] = { AT_ENTRY, 0x401000, 77, 1,	       AT_PHDR,
			     0x400040, AT_NULL,	 0,  AT_ENTRY, 5 };
	struct gr_auxv auxv = gr_auxv_parse(
		(struct gr_bytes){ (uint8_t *)words, sizeof(words) });

	assert_int_equal(auxv.entry, 0x401000);
	assert_int_equal(auxv.phdr, 0x400040);
	auxv = gr_auxv_parse((struct gr_bytes){ (uint8_t *)words, 15 });
	assert_int_equal(auxv.entry, 0);
}

TEST(build_ids)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	uint8_t too_long[300] = { 0 };
	struct gr_elf elf;

	builder_init(b, ET_EXEC);
	Elf64_Phdr *notes = builder_header(b, PT_NOTE);
	builder_note(b, notes, "Go", 4, "abc/def", 7);
	builder_note(b, notes, "Go", 4, too_long, sizeof(too_long));
	builder_note(b, notes, "GNU", 1, "xxxx", 4);
	builder_note(b, notes, "GNU", NT_GNU_BUILD_ID, "12345", 5);
	builder_finish(b);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ b->file, b->bytes },
				 &elf));
	struct gr_build_id id = gr_build_id_of(&elf);
	assert_int_equal(id.go_bytes, 7);
	assert_memory_equal(id.go, "abc/def", 7);
	assert_int_equal(id.gnu_bytes, 5);
	assert_memory_equal(id.gnu, "12345", 5);
}

/** NT_FILE notes. */
struct file_case {
	const char *name;
	uint64_t count;	  /**< As the note says. */
	size_t cut_bytes; /**< Missing at its end. */
	size_t mappings;  /**< That come out. */
};

static const struct file_case file_cases[] = {
	{ "NT_FILE: two mappings", 2, 0, 2 },
	{ "NT_FILE: second path is cut off", 2, 1, 1 },
	{ "NT_FILE: count is absurd", UINT64_MAX / 24 + 1, 0, 0 },
	{ "NT_FILE: no room for the header", 2, 73, 0 },
};

TEST_ROWS(file_note, file_cases, c)
{
	struct {
		uint64_t words[8];
		char names[24];
	} note = { { c->count, 4096, 0x1000, 0x3000, 2, 0x3000, 0x4000, 0 },
		   "/bin/exe (deleted)\0/lib" };
	size_t bytes = sizeof(note) - c->cut_bytes;
	const struct gr_target target = { .kind = GR_TARGET_CORE };
	_cleanup_(gr_mappings_deinit) struct gr_mappings mappings = { 0 };

	_cleanup_free_ uint8_t *exact = malloc(bytes);
	memcpy(exact, &note, bytes);
	assert_null(gr_mappings_add_note(
		&mappings, (struct gr_bytes){ exact, bytes }, &target));
	assert_int_equal(mappings.list.size, c->mappings);
	assert_null(gr_mappings_sort(&mappings, NULL, NULL));
	if (!c->mappings)
		return;
	const struct gr_mapping *first = gr_mappings_find(&mappings, 0x2fff);
	assert_ptr_equal(first, &mappings.list.data[0]);
	assert_string_equal(first->path, "/bin/exe");
	assert_int_equal(first->file_off, 0x2000);
	assert_null(gr_mappings_find(&mappings, 0xfff));
	assert_ptr_equal(gr_mappings_find_file(&mappings, "/moved/exe", 0x2000),
			 first);
	assert_null(gr_mappings_find_file(&mappings, "/bin/exe", 0));
}

GR_SUITE("notes")
