/* SPDX-License-Identifier: Apache-2.0 */
/**
 * huge: arrays of many megabytes, in huge pages where the kernel has some: to
 * touch a heap's worth of small ones for the first time takes longer than what
 * is then done with them.
 */
#ifndef GR_HUGE_H
#define GR_HUGE_H

#include "base/base.h"

/** Bytes of a huge page, on machines with small ones of 4096. */
enum { GR_HUGE_BYTES = 2 << 20 };

/**
 * Ask for huge pages for those of [data, data + bytes) that lie in the array
 * whole: memory that is not touched costs no more than before. A hint.
 */
void gr_huge_advise(void *data, size_t bytes);

/** calloc(), and that hint. For free(). */
void *gr_huge_calloc(size_t count, size_t elem_bytes);

#endif /* GR_HUGE_H */
