/* SPDX-License-Identifier: Apache-2.0 */
/** c_variable: the variables that are not Go's, by the symbol tables of files. */
#ifndef GR_C_VARIABLE_H
#define GR_C_VARIABLE_H

#include "goruntime/layout/runtime.h"

/**
 * The name of the variable that holds @p addr: `cache`, or `cache in
 * libfoo.so.1` if it is a library's. It is interned in rt->arena. *@p ret is
 * NULL if no symbol tells one. The symbols of a file are sorted once.
 */
struct gr_error *gr_c_variable_find(struct gr_runtime *rt, uint64_t addr,
				    const char **ret) GR_MUST_CHECK;

/** Free the sorted symbols and those that were named. */
void gr_c_variables_deinit(struct gr_c_variables *variables);

#endif /* GR_C_VARIABLE_H */
