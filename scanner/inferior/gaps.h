/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Gaps: data that could not be read because of a torn dump or an invalid
 * pointer. A gap is never an error: gaps are counted by cause and reported with
 * every result.
 */
#ifndef GR_GAPS_H
#define GR_GAPS_H

#include "base/base.h"

/** X(identifier, name in the ledger and in JSON) */
#define GR_GAPS(X)                                                              \
	/** 4 KiB pages of memory that the plan wanted and that is missing. */  \
	X(UNREADABLE_PAGES, "unreadable_pages")                                 \
	/** Spans whose descriptor or bitmaps made no sense or were missing. */ \
	X(BAD_SPANS, "bad_spans")                                               \
	/** Precise pointers into a free slot of an in-use span. */             \
	X(FREE_SLOT_POINTERS, "free_slot_pointers")                             \
	/** The same, behind words that are perhaps no pointers: expected. */   \
	X(CONSERVATIVE_FREE_SLOTS, "conservative_free_slots")                   \
	/** Runtime types that could not be read. */                            \
	X(UNKNOWN_TYPES, "unknown_types")                                       \
	/** Generic types whose instance is not known. */                       \
	X(UNRESOLVED_GENERICS, "unresolved_generics")                           \
	/** Stacks whose unwinding stopped before their outermost frame. */     \
	X(FRAMES_NOT_UNWOUND, "frames_not_unwound")                             \
	/** Goroutines whose stack or state could not be read. */               \
	X(GOROUTINES_SKIPPED, "goroutines_skipped")                             \
	/** Frames scanned conservatively, as the collector would. */           \
	X(CONSERVATIVE_FRAMES, "conservative_frames")                           \
	/** Spans that the sweeper was working on. */                           \
	X(SPANS_MID_SWEEP, "spans_mid_sweep")                                   \
	/** Runtime lists cut off because they loop or never end. */            \
	X(BROKEN_LISTS, "broken_lists")                                         \
	/** Maps, channels and the like whose header made no sense. */          \
	X(BROKEN_CONTAINERS, "broken_containers")                               \
	/** Locations of variables that DWARF gives and we cannot follow. */    \
	X(UNKNOWN_LOCATIONS, "unknown_locations")                               \
	/** Threads that did not stop: their registers are not known. */        \
	X(THREADS_NOT_STOPPED, "threads_not_stopped")

enum gr_gap {
#define X(id, name) GR_GAP_##id,
	GR_GAPS(X)
#undef X
		GR_NGAPS,
};

struct gr_gaps {
	uint64_t count[GR_NGAPS];
	/**
	 * Name of the first broken list (GR_GAP_BROKEN_LISTS), static text;
	 * NULL if none.
	 */
	const char *broken_list;
};

static inline void gr_gap_add(struct gr_gaps *gaps, enum gr_gap cause,
			      uint64_t n)
{
	gaps->count[cause] += n;
}

/** Count one of GR_GAP_BROKEN_LISTS. @p name is static text for messages. */
static inline void gr_gap_broken_list(struct gr_gaps *gaps, const char *name)
{
	gr_gap_add(gaps, GR_GAP_BROKEN_LISTS, 1);
	if (!gaps->broken_list)
		gaps->broken_list = name;
}

/**
 * Drop the gaps of a walk: @p before holds the gaps at its start. Types are
 * read only once, so an unreadable type is counted only once, and its gap is
 * kept.
 */
static inline void gr_gaps_end_walk(struct gr_gaps *gaps,
				    const struct gr_gaps *before)
{
	uint64_t unknown = gaps->count[GR_GAP_UNKNOWN_TYPES];

	*gaps = *before;
	gaps->count[GR_GAP_UNKNOWN_TYPES] = unknown;
}

/** The cause's name as the ledger prints it. */
const char *gr_gap_name(enum gr_gap cause);

#endif /* GR_GAPS_H */
