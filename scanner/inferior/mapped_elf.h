/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mapped_elf: an ELF file as the memory of a target shows it, where the loader
 * or the kernel has mapped its first page.
 */
#ifndef GR_MAPPED_ELF_H
#define GR_MAPPED_ELF_H

#include "base/base.h"
#include "inferior/elf.h"
#include "inferior/notes.h"

/** The memory of a target. */
struct gr_memory {
	/** Copy the bytes from @p addr on; @return how many of them there are. */
	uint64_t (*read)(void *ctx, uint64_t addr, void *buf, uint64_t bytes);
	void *ctx;
};

/** No program has more program headers. */
enum { GR_MAPPED_ELF_MAX_HEADERS = 512 };

/** It is large: allocate it. */
struct gr_mapped_elf {
	uint64_t addr;	   /**< Address of the ELF header. */
	struct gr_elf elf; /**< Parsed from `bytes`. */
	uint8_t bytes[sizeof(Elf64_Ehdr) +
		      GR_MAPPED_ELF_MAX_HEADERS * sizeof(Elf64_Phdr)];
};

/**
 * Read the headers at @p addr.
 *
 * @return false if there are none, or if they are not those of a file for a
 * supported processor. Program headers that are not there are missing.
 */
bool gr_mapped_elf_read(const struct gr_memory *memory, uint64_t addr,
			struct gr_mapped_elf *ret);

/** The build ids that memory shows. */
struct gr_build_id gr_mapped_elf_id(const struct gr_memory *memory,
				    const struct gr_mapped_elf *mapped);

#endif /* GR_MAPPED_ELF_H */
