/* SPDX-License-Identifier: Apache-2.0 */
/** core_memory: an open core, and reads of its memory. */
#ifndef GR_CORE_MEMORY_H
#define GR_CORE_MEMORY_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/core.h"
#include "inferior/mapped_elf.h"
#include "inferior/ranges.h"

/** Zero-initialised, it is closed. */
struct gr_core_memory {
	struct gr_core core;
	struct gr_ranges ranges;
};

/** Errors as in gr_core_open(). A guard (inferior/sigbus.h) must be active. */
struct gr_error *gr_core_memory_open(const char *path,
				     struct gr_core_memory *ret) GR_MUST_CHECK;
void gr_core_memory_close(struct gr_core_memory *memory);

/** The memory as an interface. It is valid while @p memory is open. */
struct gr_memory gr_core_memory_of(struct gr_core_memory *memory);

/** Copy the bytes from @p addr on; @return the number of bytes copied. */
uint64_t gr_core_memory_read(struct gr_core_memory *memory, uint64_t addr,
			     void *buf, uint64_t bytes);

#endif /* GR_CORE_MEMORY_H */
