// SPDX-License-Identifier: Apache-2.0
/* Facts about programs from cores, and the list of the loader in cores. */
#include "facts/core_facts.h"

#include "base/cleanup.h"
#include "elf_builder.h"
#include "facts/core_modules.h"
#include "suite.h"

#include <signal.h>

enum {
	BASE = 0x400000,
	DATA = 0x600000,
	DEBUG = 0x100, /**< struct r_debug in the data. */
	MAPS = 0x200,  /**< Structs link_map, 64 bytes each. */
	NAMES = 0x800, /**< Names of files, 64 bytes each. */
	NAME_BYTES = 64,
	DATA_BYTES = 0x1000,
};

/** A core and its executable as files. */
struct world {
	struct elf_builder exe, core;
	uint8_t *data; /**< At DATA in the core. */
	char exe_path[64], core_path[64];
};

static void put_word(struct world *w, uint64_t off, uint64_t value)
{
	memcpy(w->data + off, &value, sizeof(value));
}

static void build_exe(struct elf_builder *b)
{
	builder_init(b, ET_EXEC);
	b->header.e_entry = BASE;
	Elf64_Phdr *load = builder_header(b, PT_LOAD);
	Elf64_Phdr *note = builder_header(b, PT_NOTE);
	Elf64_Phdr *dynamic = builder_header(b, PT_DYNAMIC);
	builder_note(b, note, "Go", 4, "abc/def", 7);
	note->p_vaddr = BASE + note->p_offset;
	dynamic->p_vaddr = DATA;
	dynamic->p_memsz = 32;
	*load = (Elf64_Phdr){ .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = BASE,
			      .p_filesz = b->bytes,
			      .p_memsz = b->bytes };
	builder_finish(b);
}

static void add_thread(struct elf_builder *b, Elf64_Phdr *notes, uint32_t tid,
		       uint16_t signal)
{
	uint8_t desc[336] = { 0 };

	memcpy(desc + 12, &signal, sizeof(signal));
	memcpy(desc + 32, &tid, sizeof(tid));
	builder_note(b, notes, "CORE", NT_PRSTATUS, desc, sizeof(desc));
}

static void add_siginfo(struct elf_builder *b, Elf64_Phdr *notes,
			uint32_t number, uint32_t code, uint64_t field)
{
	uint32_t desc[32] = { number, 0, code, 0 };

	memcpy(desc + 4, &field, sizeof(field));
	builder_note(b, notes, "CORE", NT_SIGINFO, desc, sizeof(desc));
}

static void add_files(struct elf_builder *b, Elf64_Phdr *notes, const char *exe,
		      const char *library)
{
	struct {
		uint64_t words[2 + 9];
		char names[256];
	} desc = { { 3, 4096, BASE, BASE + 0x1000, 0, DATA, DATA + 0x1000, 1,
		     0x700000, 0x701000, 0 },
		   "" };
	int n = snprintf(desc.names, sizeof(desc.names), "%s%c%s%c%s", exe, 0,
			 exe, 0, library);

	builder_note(b, notes, "CORE", NT_FILE, &desc,
		     sizeof(desc.words) + n + 1);
}

/* The core of the executable, which has loaded a library, with the notes that
 * @p add_notes adds. */
static void world_init(struct world *w,
		       void (*add_notes)(struct world *w, Elf64_Phdr *notes))
{
	const uint64_t auxv[] = { AT_PHDR,   BASE + 64,	  AT_ENTRY,
				  BASE,	     AT_RANDOM,	  DATA + 0x40,
				  AT_EXECFN, DATA + NAMES };
	struct elf_builder *b = &w->core;

	memset(w, 0, sizeof(*w));
	build_exe(&w->exe);
	builder_write(&w->exe, w->exe.bytes, w->exe_path);
	builder_init(b, ET_CORE);
	Elf64_Phdr *notes = builder_header(b, PT_NOTE);
	add_notes(w, notes);
	builder_note(b, notes, "CORE", NT_AUXV, auxv, sizeof(auxv));
	Elf64_Phdr *text = builder_load(b, BASE, w->exe.bytes, PF_R | PF_X, 0);
	memcpy(b->file + text->p_offset, w->exe.file, w->exe.bytes);
	Elf64_Phdr *data = builder_load(b, DATA, DATA_BYTES, PF_R | PF_W, 0);
	w->data = b->file + data->p_offset;
	memset(w->data, 0, DATA_BYTES);
	builder_load(b, 0x700000, 0x100, PF_R | PF_X, 0);
	memcpy(w->data + 0x40, "0123456789abcdef", 16);
	memcpy(w->data + NAMES, "/given/to/execve", 17);
	put_word(w, 0, DT_DEBUG);
	put_word(w, 8, DATA + DEBUG);
	put_word(w, DEBUG, 1);
	put_word(w, DEBUG + 8, DATA + MAPS);
}

static void world_write(struct world *w)
{
	builder_finish(&w->core);
	builder_write(&w->core, w->core.bytes, w->core_path);
}

static void world_deinit(struct world *w)
{
	unlink(w->exe_path);
	unlink(w->core_path);
	free(w);
}

GR_DEFINE_CLEANUP(world, struct world, world_deinit)

/* Entry @p i of the loader's list. */
static void put_map(struct world *w, uint64_t i, uint64_t bias,
		    const char *name, bool is_last)
{
	uint64_t at = MAPS + 64 * i, text = NAMES + NAME_BYTES * (i + 1);

	put_word(w, at, bias);
	put_word(w, at + 8, DATA + text);
	put_word(w, at + 24, is_last ? 0 : DATA + at + 64);
	assert_true(strlen(name) < NAME_BYTES);
	memcpy(w->data + text, name, strlen(name) + 1);
}

/* ---------------------------------------------------------------------- facts */

static void add_all_notes(struct world *w, Elf64_Phdr *notes)
{
	uint8_t process[136] = { [24] = 77 };

	add_thread(&w->core, notes, 7701, SIGSEGV);
	builder_note(&w->core, notes, "CORE", NT_PRPSINFO, process,
		     sizeof(process));
	add_siginfo(&w->core, notes, SIGSEGV, 1, 0x1234567890);
	add_files(&w->core, notes, "/where/app (deleted)", "/lib/b.so");
	add_thread(&w->core, notes, 7702, SIGSEGV);
	add_siginfo(&w->core, notes, SIGUSR1, 0, 3);
}

TEST(facts)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));
	struct gr_core_facts facts;

	world_init(w, add_all_notes);
	world_write(w);
	assert_null(gr_core_facts_read(w->core_path, &facts));
	assert_string_equal(facts.exe_path, "/where/app");
	assert_int_equal(facts.id.go_bytes, 7);
	assert_memory_equal(facts.id.go, "abc/def", 7);
	assert_int_equal(facts.pid, 77);
	assert_int_equal(facts.random_bytes, 16);
	assert_memory_equal(facts.random, "0123456789abcdef", 16);
	assert_int_equal(facts.signal, SIGSEGV);
	assert_int_equal(facts.siginfo.code, 1);
	assert_int_equal(facts.siginfo.fault_addr, 0x1234567890);
	assert_int_equal(facts.ncode_files, 1);
	assert_string_equal(facts.code_files[0], "/lib/b.so");
	assert_int_equal(facts.nthreads, 2);
	assert_int_equal(facts.thread_ids[0], 7701);
	assert_int_equal(facts.thread_ids[1], 7702);
	gr_core_facts_deinit(&facts);
}

/* The signal of a debugger replaced that of the note. */
static void add_other_signal(struct world *w, Elf64_Phdr *notes)
{
	add_thread(&w->core, notes, 7701, SIGTRAP);
	add_siginfo(&w->core, notes, SIGSEGV, 1, 5);
}

/* Only the second thread tells where its signal came from. */
static void add_second_signal(struct world *w, Elf64_Phdr *notes)
{
	add_thread(&w->core, notes, 7701, SIGABRT);
	add_thread(&w->core, notes, 7702, SIGABRT);
	add_siginfo(&w->core, notes, SIGABRT, 0, 12);
}

static void add_short_notes(struct world *w, Elf64_Phdr *notes)
{
	builder_note(&w->core, notes, "CORE", NT_PRSTATUS, "x", 1);
	builder_note(&w->core, notes, "CORE", NT_PRPSINFO, "x", 1);
	builder_note(&w->core, notes, "CORE", NT_SIGINFO, "x", 1);
	builder_note(&w->core, notes, "CORE", NT_FILE, "x", 1);
}

/** Cores that tell less. */
struct less_case {
	const char *name;
	void (*add_notes)(struct world *w, Elf64_Phdr *notes);
	int32_t signal, siginfo;
	size_t nthreads;
};

static const struct less_case less_cases[] = {
	{ "another signal", add_other_signal, SIGTRAP, 0, 1 },
	{ "signal of another thread", add_second_signal, SIGABRT, 0, 2 },
	{ "short notes", add_short_notes, 0, 0, 0 },
};

TEST_ROWS(less, less_cases, c)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));
	struct gr_core_facts facts;

	world_init(w, c->add_notes);
	world_write(w);
	assert_null(gr_core_facts_read(w->core_path, &facts));
	// Without the list of files, it is the name given to execve().
	assert_string_equal(facts.exe_path, "/given/to/execve");
	assert_int_equal(facts.id.go_bytes, 7);
	assert_int_equal(facts.pid, 0);
	assert_int_equal(facts.signal, c->signal);
	assert_int_equal(facts.siginfo.number, c->siginfo);
	assert_int_equal(facts.nthreads, c->nthreads);
	assert_int_equal(facts.ncode_files, 0);
	gr_core_facts_deinit(&facts);
}

/* -------------------------------------------------------------------- modules */

static void check_modules(struct world *w, size_t count, size_t nspecial)
{
	struct gr_core_modules list;

	world_write(w);
	assert_null(gr_core_modules_find(w->core_path, w->exe_path, "/nowhere",
					 &list));
	assert_int_equal(list.count, count);
	assert_int_equal(list.nspecial, nspecial);
	assert_string_equal(list.data[0].path, w->exe_path);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(list.data[i].bias, 0x1000 * i);
	gr_core_modules_deinit(&list);
}

/* The loader's list has the executable first. A library is there once. */
TEST(modules)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));

	world_init(w, add_all_notes);
	put_map(w, 0, 0x9000, "", false);
	put_map(w, 1, 0x1000, "/proc/self/exe", false);
	put_map(w, 2, 0x7000, "/proc/self/exe", false);
	put_map(w, 3, 0x7000, "/dev/null", false);
	put_map(w, 4, 0x7000, "/is/not/here", false);
	put_map(w, 5, 0x7000, "no/folder", false);
	put_map(w, 6, 0x7000, w->exe_path, true);
	check_modules(w, 2, 1);
}

TEST(list_that_loops)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));

	world_init(w, add_all_notes);
	put_map(w, 0, 0, "", false);
	put_map(w, 1, 0x1000, "/proc/self/exe", false);
	put_word(w, MAPS + 64 + 24, DATA + MAPS + 64);
	check_modules(w, 2, 0);
}

/* The first file of a second namespace is not left out. */
TEST(namespaces)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));

	world_init(w, add_all_notes);
	put_word(w, DEBUG, 2);
	put_word(w, DEBUG + 40, DATA + 0x180);
	put_word(w, 0x180, 2);
	put_word(w, 0x188, DATA + MAPS + 64);
	put_word(w, 0x180 + 40, DATA + DEBUG);
	put_map(w, 0, 0, "", true);
	put_map(w, 1, 0x1000, "/proc/self/exe", true);
	check_modules(w, 2, 0);
}

TEST(no_list)
{
	_cleanup_(gr_cleanup_world) struct world *w = malloc(sizeof(*w));

	world_init(w, add_all_notes);
	put_word(w, 8, UINT64_MAX - 3);
	check_modules(w, 1, 0);
}

GR_SUITE("core facts")
