/* SPDX-License-Identifier: Apache-2.0 */
/** kallsyms: the names of the kernel's functions, also those of modules. */
#ifndef GR_TRACE_KALLSYMS_H
#define GR_TRACE_KALLSYMS_H

#include <stdio.h>

#include "base/base.h"
#include "base/error.h"

struct gr_kallsyms;

/** Read the text of /proc/kallsyms. */
struct gr_error *gr_kallsyms_read(FILE *file,
				  struct gr_kallsyms **ret) GR_MUST_CHECK;
void gr_kallsyms_destroy(struct gr_kallsyms *names);

/** How many functions have an address; 0: the kernel hides them. */
size_t gr_kallsyms_count(const struct gr_kallsyms *names);

/** The function that an address lies in or behind, with its module in brackets;
 * NULL before the first one. */
const char *gr_kallsyms_find(const struct gr_kallsyms *names, uint64_t addr);

#endif /* GR_TRACE_KALLSYMS_H */
