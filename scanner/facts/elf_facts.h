/* SPDX-License-Identifier: Apache-2.0 */
/**
 * elf_facts: what a file says of itself, before there is a scan of it.
 *
 * Any file may be asked, of any processor, damaged or not ELF at all. What it
 * does not tell is absent; nothing is invented.
 */
#ifndef GR_ELF_FACTS_H
#define GR_ELF_FACTS_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/notes.h"

/** The longest path that a file may name. */
enum { GR_FACTS_MAX_PATH = 4096 };

/** The facts about a file. Texts without an owner are constants. */
struct gr_elf_facts {
	uint64_t file_bytes;
	/** "gzip" and so on if the file is compressed, or NULL. */
	const char *compression;
	/** "executable" (at a fixed address), "shared object" (it may be an
	 * executable, too), "core" or "other"; NULL if the file is not ELF. */
	const char *kind;
	/** The processor for people, as "x86-64"; NULL if it has no name. */
	const char *machine;
	/**
	 * The part of a core's start that lies past the end of the file, and
	 * the end of that part: "ELF header", "program headers" or "notes".
	 * NULL if the start is whole, or if the file is no core.
	 */
	const char *missing_part;
	uint64_t needed_bytes;
	/** The rest is known of 64-bit little-endian files only. */
	bool has_header;
	uint64_t entry;
	/** The page of the segment with the lowest address; UINT64_MAX: none. */
	uint64_t lowest_page;
	/** The first section .text: its address is UINT64_MAX if there is
	 * none. */
	uint64_t text_addr, text_bytes;
	/** What the only section .interp names, or NULL; for free(). */
	char *loader;
	struct gr_build_id id;
};

/**
 * Read the facts about the file at @p path.
 *
 * GR_ERROR_IO if it cannot be opened, or if it shrinks meanwhile;
 * GR_ERROR_FORMAT if it is not a regular file. @p ret needs
 * gr_elf_facts_deinit() after success.
 */
struct gr_error *gr_elf_facts_read(const char *path,
				   struct gr_elf_facts *ret) GR_MUST_CHECK;
void gr_elf_facts_deinit(struct gr_elf_facts *facts);

/** The same of a file in memory. */
struct gr_error *gr_elf_facts_parse(struct gr_bytes file,
				    struct gr_elf_facts *ret) GR_MUST_CHECK;

#endif /* GR_ELF_FACTS_H */
