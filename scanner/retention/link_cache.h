/* SPDX-License-Identifier: Apache-2.0 */
/**
 * link_cache: the links of objects and roots, kept for the next question.
 *
 * A script may ask for the links of one source in any order. Without the cache,
 * each question would read all words of a large source, such as all entries of
 * a map for the name of one. A small source is read again; only the pointer
 * bits of its span are kept. For a large source, the offsets of its links are
 * kept, sorted by target. If the cache is full, it drops the source that has
 * not been used for the longest time.
 */
#ifndef GR_LINK_CACHE_H
#define GR_LINK_CACHE_H

#include "naming/link.h"

struct gr_answers;

/** The cache belongs to the answers, until the graph is dropped. */
struct gr_link_cache;

/** Return the cache; make it if there is none. The graph must have been made. */
struct gr_error *gr_link_cache_of(struct gr_answers *answers,
				  struct gr_link_cache **ret) GR_MUST_CHECK;

/**
 * Append the links from @p from, an object or a root, to @p to, in the order of
 * words; at most @p max. Only the first question about @p from takes time in
 * proportion to the number of its links.
 */
struct gr_error *gr_link_cache_read(struct gr_link_cache *cache, gr_vertex from,
				    gr_vertex to, size_t max,
				    struct gr_link_vector *ret) GR_MUST_CHECK;

#endif /* GR_LINK_CACHE_H */
