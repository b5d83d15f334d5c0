// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/elf_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "helpers/trace/cfi.h"
#include "helpers/trace/symbols.h"

enum {
	MAX_SEGMENTS = 64,
	PAGE_BYTES = 4096,
	MAX_BUILD_ID = 64,
};

/** A segment that is loaded. */
struct gr_elf_load {
	uint64_t off, bytes, addr;
};

struct gr_elf_file {
	struct gr_mapped_file mapped;
	uint8_t *image; /**< Owned, if it is not mapped. */
	Elf *elf;
	Dwarf *dwarf;		    /**< Only if .debug_frame is used. */
	Dwarf_CFI *cfi, *debug_cfi; /**< NULL if absent; debug_cfi: dwarf's. */
	struct gr_elf_load loads[MAX_SEGMENTS];
	size_t nloads;
	struct gr_func_symbols symbols;
	struct gr_elf_file *debug; /**< The separate file, for its symbols. */
	bool has_symbols, has_cfi; /**< They have been looked for. */
};

void gr_elf_file_destroy(struct gr_elf_file *file)
{
	if (!file)
		return;
	if (file->cfi)
		dwarf_cfi_end(file->cfi);
	if (file->dwarf)
		dwarf_end(file->dwarf);
	gr_func_symbols_deinit(&file->symbols);
	// There is at most one, which has none of its own.
	if (file->debug) {
		gr_func_symbols_deinit(&file->debug->symbols);
		elf_end(file->debug->elf);
		gr_mapped_file_close(&file->debug->mapped);
		free(file->debug);
	}
	elf_end(file->elf);
	gr_mapped_file_close(&file->mapped);
	free(file->image);
	free(file);
}

GR_DEFINE_CLEANUP(elf_file, struct gr_elf_file, gr_elf_file_destroy)
#define _cleanup_elf_file_ _cleanup_(gr_cleanup_elf_file)

static void read_loads(struct gr_elf_file *file)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(file->elf, &count))
		return;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		if (file->nloads == MAX_SEGMENTS ||
		    !gelf_getphdr(file->elf, i, &p))
			return;
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			file->loads[file->nloads++] =
				(struct gr_elf_load){ p.p_offset, p.p_filesz,
						      p.p_vaddr };
	}
}

static struct gr_error *begin(struct gr_elf_file *file, const uint8_t *data,
			      size_t bytes)
{
	GElf_Ehdr ehdr;

	elf_version(EV_CURRENT);
	if (bytes)
		file->elf = elf_memory((char *)(uintptr_t)data, bytes);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF ||
	    !gelf_getehdr(file->elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return gr_error_format(GR_ERROR_FORMAT,
				       "not an ELF file of x86-64");
	read_loads(file);
	return NULL;
}

struct gr_error *gr_elf_file_new(struct gr_mapped_file *mapped,
				 struct gr_elf_file **ret)
{
	_cleanup_elf_file_ struct gr_elf_file *file = calloc(1, sizeof(*file));

	if (!file) {
		gr_mapped_file_close(mapped);
		return &gr_enomem;
	}
	file->mapped = *mapped;
	*mapped = (struct gr_mapped_file){ 0 };
	struct gr_error *err =
		begin(file, file->mapped.bytes.data, file->mapped.bytes.size);
	if (!err)
		*ret = steal_ptr(file);
	return err;
}

struct gr_error *gr_elf_file_new_image(uint8_t *data, size_t bytes,
				       struct gr_elf_file **ret)
{
	_cleanup_elf_file_ struct gr_elf_file *file = calloc(1, sizeof(*file));

	if (!file) {
		free(data);
		return &gr_enomem;
	}
	file->image = data;
	struct gr_error *err = begin(file, data, bytes);
	if (!err)
		*ret = steal_ptr(file);
	return err;
}

bool gr_elf_file_address(const struct gr_elf_file *file, uint64_t off,
			 uint64_t *ret)
{
	for (size_t i = 0; i < file->nloads; i++) {
		const struct gr_elf_load *load = &file->loads[i];

		if (off < load->off || off - load->off >= load->bytes)
			continue;
		*ret = off - load->off + load->addr;
		return true;
	}
	return false;
}

bool gr_elf_file_read(const struct gr_elf_file *file, uint64_t off, void *data,
		      size_t bytes)
{
	const struct gr_bytes all = file->mapped.bytes;

	if (off > all.size || bytes > all.size - off)
		return false;
	memcpy(data, all.data + off, bytes);
	return true;
}

// ------------------------------------------------------- call frame information

/* Is there a .debug_frame, and no section that libdw would have to unpack? What
 * a packed section grows to is not bounded. */
static bool has_plain_debug_frame(Elf *elf)
{
	size_t names;
	bool found = false;
	GElf_Shdr shdr;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	// Bounded by the sections, which libelf has counted.
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *name =
			gelf_getshdr(scn, &shdr) ?
				elf_strptr(elf, names, shdr.sh_name) :
				NULL;
		if (!name || shdr.sh_flags & SHF_COMPRESSED ||
		    gr_has_prefix(name, ".zdebug"))
			return false;
		found = found || !strcmp(name, ".debug_frame");
	}
	return found;
}

static void find_cfi(struct gr_elf_file *file)
{
	if (file->has_cfi)
		return;
	file->has_cfi = true;
	file->cfi = dwarf_getcfi_elf(file->elf);
	if (!has_plain_debug_frame(file->elf))
		return;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (file->dwarf)
		file->debug_cfi = dwarf_getcfi(file->dwarf);
}

bool gr_elf_file_rule(struct gr_elf_file *file, uint64_t addr,
		      struct gr_rules *rules, struct gr_rule *rule)
{
	struct gr_rule empty = *rule;

	find_cfi(file);
	if (file->cfi && gr_cfi_rule(file->cfi, addr, rules, rule))
		return true;
	*rule = empty;
	return file->debug_cfi &&
	       gr_cfi_rule(file->debug_cfi, addr, rules, rule);
}

// ----------------------------------------------------------------------- names

/* Open the file of the distribution that has the symbols which were stripped. */
static struct gr_elf_file *open_debug(Elf *elf)
{
	char path[64 + 2 * MAX_BUILD_ID];
	struct gr_mapped_file mapped = { 0 };
	struct gr_elf_file *debug = NULL;
	const void *id;

	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
	if (bytes < 2 || bytes > MAX_BUILD_ID)
		return NULL;
	const uint8_t *p = id;
	struct gr_text text = gr_text_begin(path, sizeof(path));
	gr_text_put(&text, "/usr/lib/debug/.build-id/%02x/", p[0]);
	for (ssize_t i = 1; i < bytes; i++)
		gr_text_put(&text, "%02x", p[i]);
	gr_text_put(&text, ".debug");
	struct gr_error *err = gr_mapped_file_open(path, &mapped);
	if (!err)
		err = gr_elf_file_new(&mapped, &debug);
	gr_error_destroy(err);
	return debug;
}

static void find_symbols(struct gr_elf_file *file)
{
	if (file->has_symbols)
		return;
	file->has_symbols = true;
	if (gr_func_symbols_read(&file->symbols, file->elf, SHT_SYMTAB))
		return;
	file->debug = open_debug(file->elf);
	if (file->debug && gr_func_symbols_read(&file->debug->symbols,
						file->debug->elf, SHT_SYMTAB))
		return;
	gr_func_symbols_read(&file->symbols, file->elf, SHT_DYNSYM);
}

void gr_elf_file_name(struct gr_elf_file *file, uint64_t addr, char *name,
		      size_t name_bytes)
{
	find_symbols(file);
	if (!gr_func_symbols_find(&file->symbols, addr, name, name_bytes) &&
	    file->debug)
		gr_func_symbols_find(&file->debug->symbols, addr, name,
				     name_bytes);
}
