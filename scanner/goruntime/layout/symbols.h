/* SPDX-License-Identifier: Apache-2.0 */
/**
 * symbols: names of variables from the file's symbol table, for programs with
 * a symbol table but no debug information (-ldflags=-w). Types are not known.
 */
#ifndef GR_SYMBOLS_H
#define GR_SYMBOLS_H

#include "goruntime/layout/runtime.h"
#include "inferior/elf.h"

/** A variable: [addr, addr + bytes) at run time. */
struct gr_symbol {
	const char *name;
	uint64_t addr, bytes;
};

/** Fill rt->symbols from a file whose load bias is @p bias. */
struct gr_error *gr_symbols_read(struct gr_runtime *rt,
				 const struct gr_elf *elf,
				 uint64_t bias) GR_MUST_CHECK;

/** Add a symbol that is in no file; its name must live as long as rt. */
struct gr_error *gr_symbols_add(struct gr_runtime *rt,
				struct gr_symbol symbol) GR_MUST_CHECK;

/** The variable that holds @p addr, or NULL. */
const struct gr_symbol *gr_symbols_at(const struct gr_runtime *rt,
				      uint64_t addr);

#endif /* GR_SYMBOLS_H */
