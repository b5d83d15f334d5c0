/* SPDX-License-Identifier: Apache-2.0 */
/**
 * elf_facts: facts about a file, from the file itself, before a scan.
 *
 * The file may be of any processor, damaged, or not ELF at all. Facts that it
 * does not have are absent; nothing is guessed.
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
	/** The name of the processor, such as "x86-64"; NULL: unknown. */
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
	struct gr_build_id id;
};

/**
 * Read the facts about the file at @p path.
 *
 * GR_ERROR_IO if it cannot be opened, or if it shrinks meanwhile;
 * GR_ERROR_FORMAT if it is not a regular file.
 */
struct gr_error *gr_elf_facts_read(const char *path,
				   struct gr_elf_facts *ret) GR_MUST_CHECK;

/** Read the facts about a file in memory. */
void gr_elf_facts_parse(struct gr_bytes file, struct gr_elf_facts *ret);

#endif /* GR_ELF_FACTS_H */
