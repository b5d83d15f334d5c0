/* SPDX-License-Identifier: Apache-2.0 */
/**
 * skeleton: what a scan reads of an ELF file apart from memory and debug
 * information, as a small ELF file: headers, build ids, whether there is a table
 * of Go functions, and some symbols. Its segments have no bytes.
 */
#ifndef GR_SKELETON_H
#define GR_SKELETON_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/elf.h"
#include "savedfile/coder.h"

/** A symbol to keep. `addr` is that in the file. */
struct gr_kept_symbol {
	const char *name;
	uint64_t addr, bytes;
	uint8_t type; /**< STT_OBJECT or STT_FUNC. */
};

/**
 * Append the skeleton of @p elf with @p symbols.
 * @return false if no memory is left.
 */
bool gr_skeleton_make(const struct gr_elf *elf,
		      const struct gr_kept_symbol *symbols, size_t nsymbols,
		      struct gr_byte_vector *ret);

#endif /* GR_SKELETON_H */
