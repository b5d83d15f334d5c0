/* SPDX-License-Identifier: Apache-2.0 */
/** c_variable: the variables that are not Go's, by the symbol tables of files. */
#ifndef GR_C_VARIABLE_H
#define GR_C_VARIABLE_H

#include "goruntime/layout/runtime.h"
#include "goruntime/layout/symbols.h"

/** A variable: [addr, addr + bytes) at run time. */
struct gr_c_variable {
	/** `cache`, or `cache in libfoo.so.1` if it is a library's; interned in
	 * rt->arena. NULL: no symbol tells it. */
	const char *name;
	uint64_t addr, bytes;
};

/** Find the variable that holds @p addr. The symbols of a file are sorted once. */
struct gr_error *gr_c_variable_find(struct gr_runtime *rt, uint64_t addr,
				    struct gr_c_variable *ret) GR_MUST_CHECK;

/**
 * The symbol of the variable that holds @p addr in module @p module of the image
 * (SIZE_MAX: none does). Its name is in the file, and NULL if there is none; its
 * address is that at run time. A saved file does not keep it for this.
 */
struct gr_error *gr_c_symbol_find(struct gr_runtime *rt, size_t module,
				  uint64_t addr,
				  struct gr_symbol *ret) GR_MUST_CHECK;

/** Free the sorted symbols and those that were named. */
void gr_c_variables_deinit(struct gr_c_variables *variables);

#endif /* GR_C_VARIABLE_H */
