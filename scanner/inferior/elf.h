/* SPDX-License-Identifier: Apache-2.0 */
/**
 * elf: maps ELF64 little-endian files of the supported processors (arch.h),
 * with bounds checks.
 *
 * It reads file and program headers, sections by name, notes and build IDs. The
 * file's contents are never trusted: an accessor returns bytes inside the file,
 * or nothing. Both cores and executables are opened here.
 */
#ifndef GR_ELF_H
#define GR_ELF_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "inferior/arch.h"
#include "inferior/sigbus.h"

#include <elf.h>

struct gr_mapping;

/** Size of a target page; missing memory is counted in these pages. */
#define GR_PAGE_BYTES UINT64_C(4096)

/**
 * A mapped ELF file. Zero-initialised, it is absent: no headers, no bytes.
 *
 * Invariant: all program headers [0, phnum) lie inside the file.
 */
struct gr_elf {
	struct gr_bytes file;	     /**< The whole file; mapped read-only. */
	struct gr_sigbus_area *area; /**< Guards the mapping; NULL: not ours. */
	Elf64_Ehdr header;
	const struct gr_arch *arch; /**< Not NULL if the file is open. */
	size_t phnum;		    /**< Checked; PN_XNUM resolved. */
	uint64_t lost_headers;	    /**< Promised headers beyond phnum. */
};

/**
 * Map @p path and check that it is ELF64, little endian, x86-64 or AArch64.
 *
 * GR_ERROR_IO if the file cannot be opened; GR_ERROR_FORMAT if it is not an ELF
 * file (for a compressed file, the message names the tool that unpacks it);
 * GR_ERROR_ARCH if it is for another machine.
 */
struct gr_error *gr_elf_open(const char *path,
			     struct gr_elf *ret) GR_MUST_CHECK;

/** gr_elf_open() of the file that process @p pid maps, even if it was renamed or
 * removed (mapped_file.h). The mapping has a path. */
struct gr_error *gr_elf_open_mapping(int32_t pid,
				     const struct gr_mapping *mapping,
				     struct gr_elf *ret) GR_MUST_CHECK;
void gr_elf_deinit(struct gr_elf *elf);

/**
 * Check the header at the start of @p file. The caller keeps owning the bytes;
 * @p path is for messages.
 */
struct gr_error *gr_elf_parse(const char *path, struct gr_bytes file,
			      struct gr_elf *ret) GR_MUST_CHECK;

/**
 * Read the header of any ELF64 little-endian file; its processor may be one
 * that is not supported, and `arch` is NULL then. The caller keeps owning the
 * bytes.
 *
 * @return false if it is no such file, or if it ends inside its header.
 */
bool gr_elf_view(struct gr_bytes file, struct gr_elf *ret);

/** The processor of an e_machine, for people; NULL if it has no name here. */
const char *gr_elf_machine_name(uint16_t machine);

/** The name of the format in which a file is compressed: "gzip"; or NULL. */
const char *gr_elf_compression(struct gr_bytes file);

/** "an executable", "a core file" and so on, for messages. */
const char *gr_elf_type_name(const struct gr_elf *elf);

/** Program header @p i of [0, elf->phnum). */
Elf64_Phdr gr_elf_program_header(const struct gr_elf *elf, size_t i);

/** The bytes of the segment, cut off at the end of the file. */
struct gr_bytes gr_elf_segment_bytes(const struct gr_elf *elf,
				     const Elf64_Phdr *header);

/**
 * An iterator over segments of one type. In a valid file each byte belongs to
 * one segment; damaged headers may return the same bytes repeatedly. Initialise
 * `elf` and zero the other members.
 */
struct gr_segments {
	const struct gr_elf *elf;
	size_t next;
	uint64_t given_bytes;
};

/**
 * Return the next segment and its bytes in the file; false at the end. A walk is
 * bounded by twice the bytes of the file.
 */
bool gr_segments_next(struct gr_segments *segments, uint32_t type,
		      Elf64_Phdr *header, struct gr_bytes *ret);

/** Address of the lowest PT_LOAD, rounded down to a page; 0 if none. */
uint64_t gr_elf_lowest_addr(const struct gr_elf *elf);

/** An iterator over sections. Zero-initialised, it is at the start. */
struct gr_elf_sections {
	uint32_t next, count;
	struct gr_bytes names;
};

/**
 * The next section with that @p name; false at the end. Section header 0 is
 * none. at->count is the number of sections that the file promises.
 */
bool gr_elf_next_section(const struct gr_elf *elf, struct gr_elf_sections *at,
			 const char *name, Elf64_Shdr *ret);

/**
 * The bytes of the first section @p name. They are empty if there is no such
 * section, if it has no bytes in the file, or if it is compressed. *@p addr
 * (may be NULL) is its address.
 */
struct gr_bytes gr_elf_section(const struct gr_elf *elf, const char *name,
			       uint64_t *addr);

/**
 * A symbol of .symtab or .dynsym. One without a name or without an address in
 * the file's own sections has the name "" and zeros.
 */
struct gr_elf_symbol {
	const char *name; /**< In the mapped file, or "". */
	uint64_t addr;	  /**< In the file; the bias is not added. */
	uint64_t bytes;
	uint8_t type; /**< STT_OBJECT, STT_FUNC, ... */
};

/** An iterator over the symbols. Zero-initialised, it is at the start. */
struct gr_elf_symbols {
	bool is_dynamic; /**< Those of .dynsym, which a stripped file has. */
	struct gr_bytes table, strings;
	uint64_t off;
	uint64_t name_bytes_left; /**< For the names of all other symbols. */
};

/**
 * The next symbol; false at the end, or if the file has no such table. All names
 * together are four times as long as .strtab at most, and a megabyte; symbols
 * beyond that have none.
 */
bool gr_elf_next_symbol(const struct gr_elf *elf, struct gr_elf_symbols *at,
			struct gr_elf_symbol *ret);

#endif /* GR_ELF_H */
