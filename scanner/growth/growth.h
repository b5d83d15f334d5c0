/* SPDX-License-Identifier: Apache-2.0 */
/**
 * growth: the resident memory of a process while it runs, at ticks. At each one,
 * all its pages have a class of `rss`, and those that are new since the first
 * tick have the stack that touched them. Nothing is stopped.
 */
#ifndef GR_GROWTH_H
#define GR_GROWTH_H

#include "growth/class_sums.h"
#include "growth/untouched.h"

struct gr_growth;
struct gr_scan;

/** A tick. Texts are static. */
struct gr_growth_tick {
	/** The classes that have pages: names as of `rss`, but all memory of
	 * spans in use is "go_heap", because no mark tells live objects. */
	struct gr_rss_row rows[GR_NRSS_CLASSES];
	size_t nrows;
	uint64_t total_bytes;	/**< The sum of the rows: the pages found. */
	uint64_t rss_bytes;	/**< The same by smaps, read a moment before. */
	const char *residency;	/**< "exact" or "anonymous" */
	struct gr_flow flow;	/**< Since the last tick. */
	uint64_t tracked_bytes; /**< New since the first tick, and resident. */
	/** Memory that was mapped since the first tick, can be written to, and
	 * was not touched. */
	uint64_t untouched_bytes;
	/** Such memory in small ranges that were left out, being too many. */
	uint64_t untouched_left_out_bytes;
	/** Memory that was mapped in small ranges, of which each one's pages
	 * count as those of no mapping, as there were too many. */
	uint64_t mapped_left_out_bytes;
	bool has_left_out_stacks; /**< Threads had too many stacks. */
	uint64_t lost_events;	  /**< Since the first tick. */
	/** False: the heap changed too fast, and all of its arenas are
	 * "go_heap". */
	bool has_spans;
	uint64_t bad_spans; /**< Spans that were left out. */
	uint64_t cost_us;
};

/**
 * Make it for a scan of a process that runs, which outlives it.
 *
 * @param from_empty The program has just begun: the pages of the first tick are
 *	new, and may have events. Else they are old.
 */
struct gr_error *gr_growth_create(struct gr_scan *scan, bool from_empty,
				  struct gr_growth **ret) GR_MUST_CHECK;
void gr_growth_destroy(struct gr_growth *growth);

/** Add events as of gr_touches_add(). GR_ERROR_ARGUMENT: @p bytes is no multiple
 * of GR_TOUCH_EVENT_BYTES. */
struct gr_error *gr_growth_add_events(struct gr_growth *growth,
				      const uint8_t *data,
				      size_t bytes) GR_MUST_CHECK;

/** A thread's stack pointer was @p addr: its mapping is a stack as long as it
 * stays as it is at the next tick. */
struct gr_error *gr_growth_add_stack_pointer(struct gr_growth *growth,
					     uint64_t addr) GR_MUST_CHECK;

/**
 * Read the process, and take the events since the last tick. After an error, the
 * events are those of the next tick.
 *
 * @param has_gaps Events since the last tick may be missing.
 */
struct gr_error *gr_growth_take_tick(struct gr_growth *growth, bool has_gaps,
				     struct gr_growth_tick *ret) GR_MUST_CHECK;

/** The pages of the last tick by stack and class, the most first. They belong to
 * @p growth until the next tick. */
const struct gr_growth_stack_vector *
gr_growth_stacks(const struct gr_growth *growth);

/** Memory that was mapped since the first tick, could be written to at the last
 * one, and was not touched, by the stack that mapped it and by class, as
 * gr_growth_stacks(). */
const struct gr_growth_stack_vector *
gr_growth_untouched(const struct gr_growth *growth);

/** The mappings that had resident pages at the last tick, by address. */
const struct gr_mapping_class_vector *
gr_growth_mappings(const struct gr_growth *growth);

/** The pages of gr_growth_stacks() by address. @p ret was empty, and needs
 * gr_mapped_vector_deinit() in any case. */
struct gr_error *gr_growth_pages(const struct gr_growth *growth,
				 struct gr_mapped_vector *ret) GR_MUST_CHECK;

#endif /* GR_GROWTH_H */
