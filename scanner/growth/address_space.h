/* SPDX-License-Identifier: Apache-2.0 */
/**
 * address_space: who has the memory at an address that no allocator of C has, and
 * how much of it is resident. Each look-up takes log n steps.
 */
#ifndef GR_ADDRESS_SPACE_H
#define GR_ADDRESS_SPACE_H

#include "native/native.h"
#include "scan/stop.h"

/** Zero-initialised is ready for gr_address_space_init(). */
struct gr_address_space {
	const struct gr_stop *stop;
	const struct gr_native *native;
	const struct gr_residency *residency;
	/** By mapping, the end of the last one of those that adjoin. */
	uint64_t *run_ends;
	/** By range of resident pages, the bytes of those before it. */
	uint64_t *bytes_before;
};

/** The stop has its C memory, which is @p native. */
struct gr_error *
gr_address_space_init(struct gr_address_space *space, struct gr_stop *stop,
		      const struct gr_native *native) GR_MUST_CHECK;
void gr_address_space_deinit(struct gr_address_space *space);

/** Resident bytes in [start, end); UINT64_MAX: not known. */
uint64_t gr_address_space_resident(const struct gr_address_space *space,
				   uint64_t start, uint64_t end);

/**
 * The end of the mapped memory from @p addr on that is no allocator's, neither
 * of Go's heap nor of its runtime, and no file's that the program runs; @p addr:
 * there is none.
 */
uint64_t gr_address_space_own_end(const struct gr_address_space *space,
				  uint64_t addr);

#endif /* GR_ADDRESS_SPACE_H */
