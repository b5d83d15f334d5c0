/* SPDX-License-Identifier: Apache-2.0 */
/**
 * mapping_holders: who has a pointer into memory that a call has mapped, and that
 * no allocator is known to divide. Pointers of Go are those that the collector
 * follows. Any word in a variable of C counts, as it does for blocks.
 *
 * That nobody holds a mapping is never proven: its address can be computed.
 */
#ifndef GR_MAPPING_HOLDERS_H
#define GR_MAPPING_HOLDERS_H

#include "growth/page_holders.h"
#include "growth/untouched.h"

/** The memory that one call has mapped, touched or not: [start, end). */
struct gr_held_mapping {
	uint64_t start, end;
	uint32_t holder; /**< An index of names; UINT32_MAX: not known. */
	uint32_t rank;	 /**< How near the holder is; the lowest wins. */
};
GR_VECTOR(gr_held_mappings, struct gr_held_mapping);

/** Find the holders of the mappings of pages, which come by address. @p ret was
 * empty, and needs gr_held_mappings_deinit() in any case. */
struct gr_error *
gr_mapping_holders_find(struct gr_page_holders *holders,
			const struct gr_mapped_pages *pages, size_t npages,
			struct gr_held_mappings *ret) GR_MUST_CHECK;

/** The holder of the mapping at @p addr, or UINT32_MAX. */
uint32_t gr_mapping_holder_at(const struct gr_held_mappings *list,
			      uint64_t addr);

#endif /* GR_MAPPING_HOLDERS_H */
