/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIDDEN_H
#define HIDDEN_H

#include <stdint.h>

/** Reserve memory at this place for hide(); NULL: something is there. */
void *reserve(uintptr_t place);

/**
 * Allocate a block whose only holder is a word of a mapping.
 *
 * @param how "private"; "dontdump": no core has it; "file": a file that is
 *	shared; "child": shared memory that only another process has written;
 *	"large": this, but of a gigabyte; "behind": private memory behind that
 *	of Go, with which the kernel joins it.
 * @param at What reserve() gave, where the mapping shall be; NULL: anywhere.
 * @return the complement of the address, which holds nothing.
 */
uintptr_t hide(const char *how, void *at);

/** Write over dead words of the stack. */
void scrub(void);

#endif
