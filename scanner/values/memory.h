/* SPDX-License-Identifier: Apache-2.0 */
/** memory: bytes of the target, for scripts. */
#ifndef GR_VALUES_MEMORY_H
#define GR_VALUES_MEMORY_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

enum { GR_MAX_READ_BYTES = 1 << 30 };

/**
 * Read [addr, addr + bytes). Lengths come from the target, so the function
 * never allocates more than twice the memory that can be read.
 *
 * @param[out] ret For free().
 * @return GR_ERROR_FAULT if some of it is missing, or if it is more than
 *	GR_MAX_READ_BYTES; GR_ERROR_NOT_SAVED if a file was saved without values.
 */
struct gr_error *gr_scan_read_memory(struct gr_scan *scan, uint64_t addr,
				     uint64_t bytes,
				     uint8_t **ret) GR_MUST_CHECK;

#endif /* GR_VALUES_MEMORY_H */
