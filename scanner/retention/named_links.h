/* SPDX-License-Identifier: Apache-2.0 */
/** named_links: the pointers from one vertex to another, for scripts. */
#ifndef GR_NAMED_LINKS_H
#define GR_NAMED_LINKS_H

#include "base/base.h"
#include "base/error.h"

struct gr_scan;

/** A pointer from one vertex to another. */
struct gr_named_link {
	char *name;	    /**< As gr_link_name(). */
	uint64_t addr;	    /**< The word's; 0: it lies in no memory. */
	uint64_t off_bytes; /**< In the object, or in the root's variable. */
};

/** Pointers in the order of words. For the caller to free. */
struct gr_named_links {
	struct gr_named_link *links;
	size_t count;
};

/**
 * The pointers from @p from, an object or a root, to the object @p to.
 *
 * @param max The largest number of pointers to return; 0: 65,536.
 */
struct gr_error *gr_scan_named_links(struct gr_scan *scan, uint32_t from,
				     uint32_t to, uint32_t max,
				     struct gr_named_links *ret) GR_MUST_CHECK;
void gr_named_links_deinit(struct gr_named_links *links);

#endif /* GR_NAMED_LINKS_H */
