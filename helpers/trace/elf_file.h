/* SPDX-License-Identifier: Apache-2.0 */
/**
 * elf_file: an ELF file that the process maps: its call frame information and
 * the names of its functions. Nothing in it is trusted.
 *
 * The file is mapped, and it may shrink meanwhile: a guard (inferior/sigbus.h)
 * must be active in all functions but gr_elf_file_destroy().
 */
#ifndef GR_TRACE_ELF_FILE_H
#define GR_TRACE_ELF_FILE_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/rules.h"
#include "inferior/mapped_file.h"

struct gr_elf_file;

/** Take over an open file. GR_ERROR_FORMAT if it is no ELF file of x86-64. */
struct gr_error *gr_elf_file_new(struct gr_mapped_file *file,
				 struct gr_elf_file **ret) GR_MUST_CHECK;

/** Take over @p data, an image of @p bytes bytes in memory from malloc(). */
struct gr_error *gr_elf_file_new_image(uint8_t *data, size_t bytes,
				       struct gr_elf_file **ret) GR_MUST_CHECK;

void gr_elf_file_destroy(struct gr_elf_file *file);

/** The address in the file's own numbers of the byte at an offset. */
bool gr_elf_file_address(const struct gr_elf_file *file, uint64_t off,
			 uint64_t *ret);

/** Copy bytes of the file; false if it has none there. The file may shrink at any
 * time: use a gr_sigbus_guard. */
bool gr_elf_file_read(const struct gr_elf_file *file, uint64_t off, void *data,
		      size_t bytes);

/**
 * Make the rule for an address. @p rule is initialised but for its pc.
 *
 * @return false if the file has no call frame information for it.
 */
bool gr_elf_file_rule(struct gr_elf_file *file, uint64_t addr,
		      struct gr_rules *rules, struct gr_rule *rule);

/** Copy the name of the function at an address; it is empty if there is none. */
void gr_elf_file_name(struct gr_elf_file *file, uint64_t addr, char *name,
		      size_t name_bytes);

#endif /* GR_TRACE_ELF_FILE_H */
