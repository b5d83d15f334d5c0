/* SPDX-License-Identifier: Apache-2.0 */
/**
 * link_cache: the links of objects and roots, kept for the next question.
 *
 * Whoever asks for one link after the other in no order would otherwise read
 * the words of a large source each time: all entries of a map for the name of
 * one. A small source is read again, with the pointer bits of its span, which
 * are kept. Of a large one, the offsets of its links are kept, sorted by their
 * targets; what has not been used for the longest time goes if they are too
 * many.
 */
#ifndef GR_LINK_CACHE_H
#define GR_LINK_CACHE_H

#include "link.h"

struct gr_scan;

/** The cache belongs to the scan, until its graph is dropped. */
struct gr_link_cache;

/** The cache of a scan, which is made if there is none. The graph is made. */
struct gr_error *gr_link_cache_of(struct gr_scan *scan,
				  struct gr_link_cache **ret) GR_MUST_CHECK;

/**
 * Append the links from @p from, an object or a root, to @p to, in the order of
 * words; at most @p max. The time does not depend on the number of links of
 * @p from, but for the first question about it.
 */
struct gr_error *gr_link_cache_read(struct gr_link_cache *cache, gr_vertex from,
				    gr_vertex to, size_t max,
				    struct gr_link_vector *ret) GR_MUST_CHECK;

#endif /* GR_LINK_CACHE_H */
