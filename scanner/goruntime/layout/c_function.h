/* SPDX-License-Identifier: Apache-2.0 */
/** c_function: the functions that are not Go's, by the symbol tables of files. */
#ifndef GR_C_FUNCTION_H
#define GR_C_FUNCTION_H

#include "goruntime/layout/runtime.h"

/** Code that is not Go's. */
struct gr_c_function {
	size_t module;	  /**< In the target's list; SIZE_MAX: in no file. */
	const char *name; /**< In the arena; "": no symbol has the address. */
};

/**
 * Find what has the code at @p pc, which is not Go code. Symbols are those of
 * .symtab, and of .dynsym in a stripped file. The answer is kept for a saved
 * file.
 */
struct gr_error *gr_c_function_find(struct gr_runtime *rt, uint64_t pc,
				    struct gr_c_function *ret) GR_MUST_CHECK;

#endif /* GR_C_FUNCTION_H */
