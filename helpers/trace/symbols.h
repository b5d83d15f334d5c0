/* SPDX-License-Identifier: Apache-2.0 */
/** symbols: the functions of a symbol table, by address. */
#ifndef GR_TRACE_SYMBOLS_H
#define GR_TRACE_SYMBOLS_H

#include <libelf.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/vector.h"

struct gr_func_symbol {
	uint64_t key; /**< Address * 4 + rank: local ones come first. */
	uint32_t bytes, name;
};

GR_VECTOR(gr_func_symbol_vector, struct gr_func_symbol);

/** Zero-initialised, it is empty. */
struct gr_func_symbols {
	struct gr_func_symbol_vector list; /**< Sorted. */
	struct gr_bytes names;		   /**< In the ELF file. */
};

void gr_func_symbols_deinit(struct gr_func_symbols *symbols);

/**
 * Read the first table of a type (SHT_SYMTAB, SHT_DYNSYM).
 *
 * @return false if there is none with functions, or no memory for it.
 */
bool gr_func_symbols_read(struct gr_func_symbols *symbols, Elf *elf,
			  uint32_t type);

/** Copy the name of the function at an address; false if there is none. */
bool gr_func_symbols_find(const struct gr_func_symbols *symbols, uint64_t addr,
			  char *name, size_t name_bytes);

#endif /* GR_TRACE_SYMBOLS_H */
