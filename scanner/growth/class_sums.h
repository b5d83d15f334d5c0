/* SPDX-License-Identifier: Apache-2.0 */
/**
 * class_sums: the pages of a process that runs, by class, and pages that have an
 * owner by stack and class.
 */
#ifndef GR_CLASS_SUMS_H
#define GR_CLASS_SUMS_H

#include "graph/keys.h"
#include "growth/mapping_classes.h"
#include "growth/owners.h"
#include "resident/rss.h"

struct gr_stop;

/** Pages of one class that one stack has made resident, or mapped. */
struct gr_growth_stack {
	uint32_t stack;			/**< 0: none is known. */
	const char *class, *class_text; /**< Static. */
	uint64_t bytes;
};
GR_VECTOR(gr_growth_stack_vector, struct gr_growth_stack);

/** Zero-initialised but for `owned`, nothing is counted. */
struct gr_class_sums {
	const struct gr_owned_vector *owned;
	size_t next; /**< The index of the first that may yet count. */
	uint64_t bytes[GR_NRSS_CLASSES];
	struct gr_growth_stack_vector stacks;
	struct gr_keys index_of; /**< (stack, class) -> index of stacks */
	bool is_short_of_memory;
	struct gr_mapping_classes *mappings; /**< Or NULL: not wanted. */
};

void gr_class_sums_deinit(struct gr_class_sums *sums);

/** The name of a class, and what it is: static. All memory of spans in use is
 * "go_heap": without a mark, no object is known to be live. */
const char *gr_class_sums_name(enum gr_rss_class class);
const char *gr_class_sums_text(enum gr_rss_class class);

/** The class that a tick has in place of one that only a mark, or a graph of the
 * blocks, tells apart. */
enum gr_rss_class gr_class_sums_whole(enum gr_rss_class class);

/**
 * The classes of the mappings of the stop, for gr_class_sums_add() and free().
 * The stop was read by gr_scan_read_running().
 */
struct gr_error *gr_class_sums_prepare(struct gr_stop *stop,
				       uint8_t **ret) GR_MUST_CHECK;

/**
 * Take the resident pages of the stop apart.
 *
 * @param classes By gr_class_sums_prepare().
 * @param has_spans False: all arenas of the heap are "go_heap".
 */
struct gr_error *gr_class_sums_add(struct gr_class_sums *sums,
				   struct gr_stop *stop, const uint8_t *classes,
				   bool has_spans) GR_MUST_CHECK;

/** The same of other pages, which lie in the stop's mappings: by address. */
struct gr_error *
gr_class_sums_add_others(struct gr_class_sums *sums, struct gr_stop *stop,
			 const uint8_t *classes, bool has_spans,
			 const struct gr_residency *pages) GR_MUST_CHECK;

/** Sort the stacks: the most bytes first. */
void gr_class_sums_sort(struct gr_class_sums *sums);

#endif /* GR_CLASS_SUMS_H */
