// SPDX-License-Identifier: Apache-2.0
/* Cores with as many headers, notes and mapped files as their bytes allow. */
#include "inferior/core.h"

#include "polls.h"

#include <elf.h>

enum {
	NHEADERS = 60000,
	NNOTES = 100000,
	NFILES = 100000,
	NOTE_BYTES = 12,
	NFILE_DESC = 16 + 24 * NFILES + 2 * NFILES,
};

struct fixture {
	char path[64];
	struct polls polls;
	struct gr_target target;
	struct gr_core core;
};

static void put_notes(FILE *file)
{
	static const Elf64_Nhdr empty = { .n_type = 1 };
	const Elf64_Nhdr files = { 5, NFILE_DESC, NT_FILE };
	const uint64_t head[2] = { NFILES, 1 };

	for (int i = 0; i < NNOTES; i++)
		assert_int_equal(fwrite(&empty, sizeof(empty), 1, file), 1);
	fwrite(&files, sizeof(files), 1, file);
	fwrite("CORE\0\0\0", 8, 1, file);
	fwrite(head, sizeof(head), 1, file);
	for (uint64_t i = NFILES; i--;) {
		const uint64_t entry[3] = { i << 12, (i + 1) << 12, 0 };
		fwrite(entry, sizeof(entry), 1, file);
	}
	for (int i = 0; i < NFILES; i++)
		fwrite("f", 2, 1, file);
}

/* Segments that lie in each other, the last of them first. */
static void put_core(FILE *file)
{
	const uint64_t notes_off =
		sizeof(Elf64_Ehdr) + (NHEADERS + 1) * sizeof(Elf64_Phdr);
	const uint64_t notes_bytes = NNOTES * NOTE_BYTES + 20 + NFILE_DESC;
	const Elf64_Ehdr elf = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(elf),
		.e_ehsize = sizeof(elf),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = NHEADERS + 1,
	};
	Elf64_Phdr header = { .p_type = PT_NOTE,
			      .p_offset = notes_off,
			      .p_filesz = notes_bytes };

	fwrite(&elf, sizeof(elf), 1, file);
	fwrite(&header, sizeof(header), 1, file);
	for (uint64_t i = NHEADERS; i--;) {
		header = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_W,
				       .p_offset = notes_off + i,
				       .p_vaddr = i << 12,
				       .p_filesz = 4096,
				       .p_memsz = (NHEADERS - i) << 13 };
		fwrite(&header, sizeof(header), 1, file);
	}
	put_notes(file);
}

static struct fixture *setup(void)
{
	struct fixture *f = suite_alloc(sizeof(*f));

	snprintf(f->path, sizeof(f->path), "/tmp/goref-core-XXXXXX");
	int fd = mkstemp(f->path);
	FILE *file = fdopen(fd, "w");
	assert_non_null(file);
	put_core(file);
	assert_int_equal(fclose(file), 0);
	f->target.ops.poll = polls_call;
	f->target.ctx = &f->polls;
	return f;
}

static void teardown(struct fixture *f)
{
	unlink(f->path);
	free(f);
}

TEST_WITH(many_of_all, struct fixture *f, setup, teardown)
{
	f->polls = (struct polls){ .last = 0 };
	assert_null(gr_core_open(f->path, &f->target, &f->core));
	assert_int_equal(f->core.memory.size, NHEADERS);
	assert_int_equal(f->core.files.list.size, NFILES);
	assert_true(f->core.lacks_anonymous);
	gr_core_deinit(&f->core);
	uint64_t all = f->polls.seen;
	assert_in_range(all, (2 * NHEADERS + NNOTES + NFILES) >> 12, 10000);
	for (uint64_t last = 1; last <= all; last += all / 20) {
		f->polls = (struct polls){ .last = last };
		polls_check_ended(&f->polls,
				  gr_core_open(f->path, &f->target, &f->core));
	}
}

GR_SUITE_WITH("core limits", polls_set_alarm, NULL)
