/* SPDX-License-Identifier: Apache-2.0 */
/**
 * elf: ELF64 little-endian files of the processors that we know (arch.h),
 * mapped and bounds-checked.
 *
 * Knows file and program headers, sections by name, notes and build ids. What
 * the file says is never trusted: an accessor gives what is inside the file,
 * or nothing. Cores and executables are both opened here.
 */
#ifndef GR_ELF_H
#define GR_ELF_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "target/arch.h"
#include "target/sigbus.h"

#include <elf.h>

/** Target page, and the unit in which missing memory is counted. */
#define GR_PAGE_BYTES UINT64_C(4096)

/**
 * A mapped ELF file. Zero-initialised is an absent one: no headers, no bytes.
 *
 * Invariant: all program headers [0, phnum) lie inside the file.
 */
struct gr_elf {
	struct gr_bytes file;	     /**< The whole file; mapped read-only. */
	struct gr_sigbus_area *area; /**< Of the mapping; NULL: not ours. */
	Elf64_Ehdr header;
	const struct gr_arch *arch; /**< Never NULL of an open file. */
	size_t phnum;		    /**< Checked; PN_XNUM resolved. */
	uint64_t lost_headers; /**< Promised beyond phnum, not in the file. */
};

/**
 * Map @p path and check that it is ELF64, little endian, x86-64 or AArch64.
 *
 * GR_ERROR_IO when it cannot be opened; GR_ERROR_FORMAT when it is no ELF file
 * (for a compressed one the message names the tool that unpacks it);
 * GR_ERROR_ARCH when it is for another machine.
 */
struct gr_error *gr_elf_open(const char *path,
			     struct gr_elf *ret) GR_MUST_CHECK;
void gr_elf_deinit(struct gr_elf *elf);

/**
 * Check the header at the start of @p file, whose owner the caller remains;
 * @p path is for messages.
 */
struct gr_error *gr_elf_parse(const char *path, struct gr_bytes file,
			      struct gr_elf *ret) GR_MUST_CHECK;

/** "an executable", "a core file" and so on, for messages. */
const char *gr_elf_type_name(const struct gr_elf *elf);

/** Program header @p i of [0, elf->phnum). */
Elf64_Phdr gr_elf_program_header(const struct gr_elf *elf, size_t i);

/** The part of the segment that the file holds: cut off at its end. */
struct gr_bytes gr_elf_segment_bytes(const struct gr_elf *elf,
				     const Elf64_Phdr *header);

/** Address of the lowest PT_LOAD, rounded down to a page; 0 if none. */
uint64_t gr_elf_lowest_addr(const struct gr_elf *elf);

/**
 * Bytes of the section of that name, empty if there is none, if it has no
 * bytes in the file or is compressed. *@p addr (may be NULL) is its address.
 */
struct gr_bytes gr_elf_section(const struct gr_elf *elf, const char *name,
			       uint64_t *addr);

/** A symbol of .symtab that has an address in the file's own sections. */
struct gr_elf_symbol {
	const char *name; /**< In the mapped file. */
	uint64_t addr;	  /**< In the file; the bias is not added. */
	uint64_t bytes;
	uint8_t type; /**< STT_OBJECT, STT_FUNC, ... */
};

/** Where a walk over the symbols has come to; zero-initialised: before all. */
struct gr_elf_symbols {
	struct gr_bytes table, strings;
	uint64_t off;
};

/** The next symbol; false at the end, or if the file has no .symtab. */
bool gr_elf_next_symbol(const struct gr_elf *elf, struct gr_elf_symbols *at,
			struct gr_elf_symbol *ret);

#endif /* GR_ELF_H */
