/* SPDX-License-Identifier: Apache-2.0 */
/** site_table: sampled objects, counted by where they were allocated. */
#ifndef GR_SITE_TABLE_H
#define GR_SITE_TABLE_H

#include "inferior/gaps.h"
#include "profiles/sites.h"

struct gr_scan;

struct gr_site_options {
	bool with_root; /**< A row for each root that holds the objects, too. */
	bool is_garbage; /**< Count what is not reached instead. */
};

/** Objects that were allocated by one stack, and are billed to one root. */
struct gr_site_row {
	const char *key;       /**< The innermost call. Belongs to the scan. */
	uint32_t stack;	       /**< One of the table's; or GR_NO_STACK. */
	const char *root;      /**< NULL: the roots are not asked for. */
	const char *root_kind; /**< NULL with root. */
	struct gr_total sampled; /**< Objects of which the stack is known. */
	struct gr_total total;	 /**< All they stand for: estimated. */
};
GR_VECTOR(gr_site_row_vector, struct gr_site_row);

/** The answer. Belongs to the caller. */
struct gr_site_table {
	struct gr_sites sites;
	struct gr_site_row_vector rows; /**< Most bytes first. */
	struct gr_total sampled, total; /**< The sums of all rows. */
	/** All objects of the heap that are counted, sampled or not. */
	struct gr_total heap;
	struct gr_gaps gaps; /**< The target's and the walk's. */
};

/**
 * Count sampled objects by their sites. With a rate of 1 nearly all objects are
 * sampled, and nothing is estimated.
 *
 * @return GR_ERROR_ARGUMENT if the options exclude each other; and as
 *	gr_sites_read().
 */
struct gr_error *gr_scan_site_table(struct gr_scan *scan,
				    const struct gr_site_options *options,
				    struct gr_site_table **ret) GR_MUST_CHECK;
void gr_site_table_destroy(struct gr_site_table *table);

#endif /* GR_SITE_TABLE_H */
