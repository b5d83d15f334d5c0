/* SPDX-License-Identifier: Apache-2.0 */
/**
 * growth_pages: what is in the pages of a growth, when it has ended: objects by
 * type, allocation site and holder, stacks by goroutine, blocks of C by holder.
 */
#ifndef GR_GROWTH_PAGES_H
#define GR_GROWTH_PAGES_H

#include "growth/untouched.h"
#include "inferior/gaps.h"

struct gr_scan;

/** Memory that has all of this in common. Strings belong to the scan. */
struct gr_growth_group {
	uint32_t stack; /**< It touched the pages; 0: none is known. */
	/** As a tick has it; the class of `rss`, which may say more; and that in
	 * words. All are static. */
	const char *class, *rss_class;
	const char *class_text;
	const char *type; /**< The objects' or blocks'; NULL: not known. */
	/** The innermost call that has allocated an object, if the runtime has
	 * sampled that; else NULL. */
	const char *site;
	/** The variable, goroutines or group at the start of the nearest path to
	 * an object or a block, or to a pointer into a mapping; the goroutines
	 * of a stack; the variable that has the pages of data, or `bss of
	 * libfoo.so`; "nobody"; or NULL. */
	const char *holder;
	uint64_t bytes; /**< In the pages, as far as these are resident. */
};
GR_VECTOR(gr_growth_group_vector, struct gr_growth_group);

/** The answer. It belongs to the caller. */
struct gr_growth_pages {
	struct gr_growth_group *groups; /**< The most bytes first. */
	size_t ngroups;
	uint64_t all_groups;
	uint64_t rest_bytes; /**< Those of groups that are left out. */
	uint64_t gone_bytes; /**< Pages that are no longer resident. */
	/** Those that came when there were too many groups: they have neither
	 * type nor holder. */
	uint64_t coarse_bytes;
	/** At least so much of the slots of the Go heap in use, also of those
	 * from before, lies in pages that were never touched; UINT64_MAX: not
	 * known. Resident free slots hide some. */
	uint64_t untouched_bytes;
	struct gr_gaps gaps;
};

/**
 * Look into pages. The scan was made with the extent GR_EXTENT_REPORT.
 *
 * @param pages By address, without overlaps; else GR_ERROR_ARGUMENT.
 */
struct gr_error *
gr_scan_growth_pages(struct gr_scan *scan, const struct gr_mapped_pages *pages,
		     size_t npages, size_t max_groups,
		     struct gr_growth_pages **ret) GR_MUST_CHECK;
void gr_growth_pages_destroy(struct gr_growth_pages *pages);

#endif /* GR_GROWTH_PAGES_H */
