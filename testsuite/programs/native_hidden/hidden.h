/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIDDEN_H
#define HIDDEN_H

#include <stdint.h>

/**
 * Allocate a block whose only holder is a word of a mapping.
 *
 * @param how "private"; "dontdump": no core has it; "file": a file that is
 *	shared; "child": shared memory that only another process has written;
 *	"large": this, but of a gigabyte.
 * @return the complement of the address, which holds nothing.
 */
uintptr_t hide(const char *how);

/** Write over dead words of the stack. */
void scrub(void);

#endif
