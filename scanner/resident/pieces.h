/* SPDX-License-Identifier: Apache-2.0 */
/** pieces: resident memory part by part, each with its class. */
#ifndef GR_RESIDENT_PIECES_H
#define GR_RESIDENT_PIECES_H

#include "goruntime/heap/heap.h"
#include "inferior/residency.h"
#include "resident/rss.h"

struct gr_c_blocks;
struct gr_c_pages;
struct gr_heap_arenas;
struct gr_marking;
struct gr_page_bits;
struct gr_sys_memory;

/** The sources of the classes, and who gets the pieces. */
struct gr_pieces {
	const struct gr_heap *heap;
	bool has_no_spans; /**< Then all of an arena is GR_RSS_LIVE. */
	const struct gr_marking *marking; /**< NULL: spans are not taken apart */
	const struct gr_heap_arenas *arenas;
	const struct gr_page_bits *page_bits;
	const struct gr_c_blocks *c_blocks;
	const struct gr_c_pages *c_pages;
	const struct gr_sys_memory *sys_memory; /**< sorted */
	/** Gets each piece, in the order of the residency's ranges: not empty,
	 * and perhaps of the class of the piece before. */
	void (*add)(void *ctx, enum gr_rss_class class, uint64_t start,
		    uint64_t end);
	void *ctx;
	/** Free pages of the heap that were not given back, as a sum. */
	uint64_t returnable_bytes;
};

/**
 * Take the resident pages apart.
 *
 * @param classes Of mappings, by gr_rss_classify().
 */
struct gr_error *gr_pieces_walk(struct gr_pieces *pieces,
				const struct gr_residency *residency,
				const uint8_t *classes) GR_MUST_CHECK;

/** The class of a slot of the heap; there is a marking. */
enum gr_rss_class gr_pieces_class_of(const struct gr_pieces *pieces,
				     gr_obj obj);

#endif /* GR_RESIDENT_PIECES_H */
