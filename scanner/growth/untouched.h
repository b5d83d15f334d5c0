/* SPDX-License-Identifier: Apache-2.0 */
/**
 * untouched: memory that was mapped while the process was watched, and of that
 * what was not seen in use since then: it was resident or in swap at no tick, and
 * had no fault.
 */
#ifndef GR_UNTOUCHED_H
#define GR_UNTOUCHED_H

#include "growth/owners.h"

enum {
	GR_MAX_UNTOUCHED = 1 << 18, /* ranges between two ticks */
};

/** Pages [start, end) that one stack has made resident; 0: none is known. They
 * lie in the mapping [map_start, map_end), as far as it still is that of the call
 * that made it; 0: no call was seen. As Growth gives them to Python. */
struct gr_mapped_pages {
	uint64_t start, end;
	uint64_t map_start, map_end;
	uint32_t stack;
	uint32_t unused;
};
GR_VECTOR(gr_mapped_vector, struct gr_mapped_pages);

/** Zero-initialised, nothing was mapped. */
struct gr_untouched {
	/** By address, without overlaps. `order` is of no meaning. Memory that
	 * cannot be accessed is here, too: it may yet get its rights. */
	struct gr_remap_vector list;
	/** Ranges that were left out because there were too many: the smallest. */
	uint64_t left_out_bytes;
};

void gr_untouched_deinit(struct gr_untouched *untouched);

/**
 * Take the events since the last tick, and the pages of now. What is no longer
 * mapped, or belongs to a file, is dropped. If this fails, nothing has changed.
 *
 * @param touches Settled.
 */
struct gr_error *gr_untouched_update(struct gr_untouched *untouched,
				     const struct gr_residency *now,
				     const struct gr_touches *touches,
				     const struct gr_poll *poll) GR_MUST_CHECK;

/**
 * Take the events since the last tick into a list of all that was mapped, call
 * by call, as far as it is memory now: by address, without overlaps. `order` is
 * of no meaning. Where events are missing, memory that was given back may have
 * been mapped by another call. If this fails, nothing has changed.
 *
 * @param touches Settled.
 * @param left_out_bytes Grows by what was left out: the smallest ranges, if there
 *	were too many.
 */
struct gr_error *gr_mapped_update(struct gr_remap_vector *mapped,
				  const struct gr_residency *now,
				  const struct gr_touches *touches,
				  const struct gr_poll *poll,
				  uint64_t *left_out_bytes) GR_MUST_CHECK;

/** Pages with their mappings in that list. @p ret was empty, and needs
 * gr_mapped_vector_deinit() in any case. */
struct gr_error *gr_mapped_extents(const struct gr_remap_vector *mapped,
				   const struct gr_owned_vector *owned,
				   struct gr_mapped_vector *ret) GR_MUST_CHECK;

/**
 * The part of the list that can be written to.
 *
 * @param now As of the update.
 * @param owned Ranges with the stacks that mapped them; it was empty.
 * @param pages The same ranges with their mappings, which it borrows.
 */
struct gr_error *
gr_untouched_writable(const struct gr_untouched *untouched,
		      const struct gr_residency *now,
		      struct gr_owned_vector *owned,
		      struct gr_resident_vector *pages) GR_MUST_CHECK;

#endif /* GR_UNTOUCHED_H */
