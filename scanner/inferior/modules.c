// SPDX-License-Identifier: Apache-2.0
#include "inferior/modules.h"

bool gr_module_segment_is_constant(const Elf64_Phdr *header)
{
	return header->p_type == PT_LOAD && !(header->p_flags & PF_W) &&
	       header->p_filesz && header->p_filesz <= header->p_memsz;
}

// Return the file offset, rounded down to a page, of the segment with the
// lowest address.
static uint64_t lowest_file_off(const struct gr_elf *elf)
{
	uint64_t lowest = UINT64_MAX, off = 0;

	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		if (header.p_type != PT_LOAD || header.p_vaddr >= lowest)
			continue;
		lowest = header.p_vaddr;
		off = header.p_offset;
	}
	return off & ~(GR_PAGE_BYTES - 1);
}

static uint64_t find_bias(const struct gr_module_file *file, bool is_main,
			  struct gr_auxv auxv, const struct gr_mappings *files)
{
	const struct gr_elf *elf = &file->elf;

	if (elf->header.e_type == ET_EXEC)
		return 0;
	uint64_t bias = auxv.entry - elf->header.e_entry;
	if (is_main && auxv.entry && bias % GR_PAGE_BYTES == 0)
		return bias;
	const struct gr_mapping *mapping =
		gr_mappings_find_file(files, file->path, lowest_file_off(elf));
	// The executable file may have been moved since; the address of its
	// program headers identifies the mapping.
	if (!mapping && is_main && auxv.phdr)
		mapping = gr_mappings_find(files, auxv.phdr);
	if (!mapping)
		return UINT64_MAX;
	return mapping->start - gr_elf_lowest_addr(elf);
}

struct gr_error *gr_module_open(const struct gr_target_module *module,
				struct gr_elf *ret)
{
	return module->image.data ?
		       gr_elf_parse(module->path, module->image, ret) :
		       gr_elf_open(module->path, ret);
}

struct gr_error *gr_module_file_init(struct gr_module_file *file,
				     const struct gr_target_module *module,
				     bool is_main, struct gr_auxv auxv,
				     const struct gr_mappings *files)
{
	*file = (struct gr_module_file){ .path = module->path,
					 .bias = module->bias };
	struct gr_error *err = gr_module_open(module, &file->elf);
	if (err && (is_main || err->code == GR_ERROR_NO_MEMORY))
		return err;
	if (err) {
		gr_error_destroy(err);
		return NULL;
	}
	uint16_t type = file->elf.header.e_type;
	bool is_program = type == ET_EXEC || type == ET_DYN;
	if (!is_program && is_main)
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s is not an executable but %s",
				       file->path,
				       gr_elf_type_name(&file->elf));
	if (file->bias == UINT64_MAX)
		file->bias = find_bias(file, is_main, auxv, files);
	if (file->bias == UINT64_MAX && is_main)
		return gr_error_format(GR_ERROR_FORMAT,
				       "cannot find out where %s is loaded",
				       file->path);
	file->is_usable = is_program && file->bias != UINT64_MAX;
	return NULL;
}

void gr_module_file_deinit(struct gr_module_file *file)
{
	gr_elf_deinit(&file->elf);
	memset(file, 0, sizeof(*file));
}

bool gr_module_segment(const struct gr_module_file *file, uint64_t addr,
		       struct gr_mapping *ret)
{
	if (file->bias == UINT64_MAX)
		return false;
	for (size_t i = 0; i < file->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&file->elf, i);
		uint64_t start = file->bias + header.p_vaddr;
		if (header.p_type != PT_LOAD ||
		    addr - start >= header.p_memsz ||
		    header.p_memsz > UINT64_MAX - start)
			continue;
		*ret = (struct gr_mapping){
			.start = start,
			.end = start + header.p_memsz,
			.flags = header.p_flags,
			.path = file->path,
		};
		return true;
	}
	return false;
}
