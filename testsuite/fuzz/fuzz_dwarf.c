// SPDX-License-Identifier: Apache-2.0
/*
 * The debug information of a small Go program, patched by the input: opened,
 * and the variables of its functions asked for.
 */
#include "dwarf/dwarf.h"
#include "fuzz.h"
#include "inferior/elf.h"

enum {
	MAX_FUNCTIONS = 64,
	MAX_PCS = 4,
};

static struct fuzz_base exe;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const names[] = {
		".debug_abbrev", ".debug_info",	    ".debug_line",
		".debug_frame",	 ".debug_loc",	    ".debug_ranges",
		".debug_addr",	 ".debug_loclists", ".debug_rnglists",
	};
	struct gr_elf elf;

	(void)argc;
	(void)argv;
	fuzz_base_init(&exe, "GOREF_FUZZ_DEBUG");
	fuzz_check_error(gr_elf_open(exe.file.path, &elf));
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		struct gr_bytes part = gr_elf_section(&elf, names[i], NULL);

		if (part.data)
			fuzz_base_add(&exe, part.data - elf.file.data,
				      part.size);
	}
	// The table of sections, too.
	fuzz_base_add(&exe, elf.header.e_shoff,
		      sizeof(Elf64_Shdr) * elf.header.e_shnum);
	gr_elf_deinit(&elf);
	return 0;
}

static void ask(struct gr_dwarf *dwarf, uint32_t i,
		const struct gr_dwarf_function *function)
{
	struct gr_dwarf_capture *captures = NULL;
	size_t count;
	uint32_t type;

	for (uint64_t n = 0; n < MAX_PCS; n++) {
		struct gr_dwarf_local *locals = NULL;
		uint64_t pc = function->low +
			      (function->high - function->low) * n / MAX_PCS;

		fuzz_check_error(
			gr_dwarf_locals(dwarf, i, pc, &locals, &count));
		free(locals);
	}
	fuzz_check_error(gr_dwarf_captures(dwarf, i, &captures, &count));
	free(captures);
	fuzz_check_error(gr_dwarf_first_param_type(dwarf, i, &type));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	uint32_t first = fuzz_take(&in, 2);
	struct gr_dwarf *dwarf;
	size_t count;

	fuzz_base_patch(&exe, &in, NULL);
	struct gr_error *err =
		gr_dwarf_open(exe.file.path, NULL, NULL, NULL, &dwarf);
	if (!err) {
		const struct gr_dwarf_function *functions =
			gr_dwarf_functions(dwarf, &count);

		for (size_t i = 0; i < count && i < MAX_FUNCTIONS; i++) {
			uint32_t n = (first + i) % count;

			ask(dwarf, n, &functions[n]);
		}
		gr_dwarf_destroy(dwarf);
	}
	fuzz_check_error(err);
	fuzz_base_restore(&exe);
	return 0;
}
