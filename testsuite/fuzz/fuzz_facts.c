// SPDX-License-Identifier: Apache-2.0
/*
 * An input is a core or another file: what it says of itself, and the files
 * that a core names. A file that has .gnu_debuglink is looked at, too.
 */
#include "facts/core_facts.h"
#include "facts/core_modules.h"
#include "facts/debug_file.h"
#include "facts/elf_facts.h"
#include "fuzz.h"
#include "inferior/elf.h"

static struct fuzz_base exe;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_base_init(&exe, "GOREF_FUZZ_EXE");
	return 0;
}

static void look_at_file(const char *path, struct gr_bytes bytes)
{
	struct gr_elf_facts facts;
	struct gr_debuglink link;
	struct gr_elf elf;
	char *found;

	struct gr_error *err = gr_elf_facts_read(path, &facts);
	if (!err && facts.missing_part && facts.needed_bytes <= bytes.size)
		abort();
	fuzz_check_error(err);
	if (gr_elf_view(bytes, &elf) && gr_debuglink_read(&elf, &link) &&
	    strchr(link.name, '/'))
		abort();
	err = gr_debug_file_find(path, "/nowhere", &found);
	if (!err)
		free(found);
	fuzz_check_error(err);
}

static void look_at_core(const char *path)
{
	struct gr_core_facts facts;
	struct gr_core_modules modules;

	struct gr_error *err = gr_core_facts_read(path, &facts);
	if (!err)
		gr_core_facts_deinit(&facts);
	fuzz_check_error(err);
	// A core may be its own executable: it has any dynamic section.
	const char *const exes[] = { exe.file.path, path };
	for (size_t i = 0; i < GR_ARRAY_SIZE(exes); i++) {
		err = gr_core_modules_find(path, exes[i], "/nowhere", &modules);
		if (!err) {
			if (!modules.count)
				abort();
			gr_core_modules_deinit(&modules);
		}
		fuzz_check_error(err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_file file;

	fuzz_file_init(&file, data, bytes);
	look_at_file(file.path, (struct gr_bytes){ data, bytes });
	look_at_core(file.path);
	fuzz_file_deinit(&file);
	return 0;
}
