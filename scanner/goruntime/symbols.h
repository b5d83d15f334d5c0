/* SPDX-License-Identifier: Apache-2.0 */
/**
 * symbols: names of variables by the file's symbol table, for programs that
 * have that but no debug information (-ldflags=-w). Knows no types.
 */
#ifndef GR_SYMBOLS_H
#define GR_SYMBOLS_H

#include "goruntime/runtime.h"
#include "target/elf.h"

/** A variable: [addr, addr + bytes) at run time. */
struct gr_symbol {
	const char *name;
	uint64_t addr, bytes;
};

/** Fill rt->symbols from a file that lies @p bias behind its addresses. */
struct gr_error *gr_symbols_read(struct gr_runtime *rt,
				 const struct gr_elf *elf,
				 uint64_t bias) GR_MUST_CHECK;

/** Add one that no file names; @p symbol's name must live as long as rt. */
struct gr_error *gr_symbols_add(struct gr_runtime *rt,
				struct gr_symbol symbol) GR_MUST_CHECK;

/** The variable that holds @p addr, or NULL. */
const struct gr_symbol *gr_symbols_at(const struct gr_runtime *rt,
				      uint64_t addr);

#endif /* GR_SYMBOLS_H */
