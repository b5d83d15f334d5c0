/* SPDX-License-Identifier: Apache-2.0 */
/**
 * touches: what goref-trace has seen of a process's memory since the last tick:
 * page faults, and mappings that were made or given back.
 */
#ifndef GR_TOUCHES_H
#define GR_TOUCHES_H

#include "base/poll.h"
#include "base/vector.h"

enum {
	/* The flags of an event. */
	GR_TOUCH_IN_KERNEL = 1, /* a fault in kernel mode */
	GR_TOUCH_MAPPED = 2,	/* a mapping was made */
	GR_TOUCH_GIVEN_BACK = 4,
	GR_TOUCH_BRIEF = 8, /* the stack is not known */
	GR_TOUCH_EVENT_BYTES = 24,
	/* Events that are kept between two ticks. */
	GR_MAX_FAULTS = 8 << 20,
	GR_MAX_MAPPINGS = 1 << 18,
};

/** The latest fault of a page. */
struct gr_fault {
	uint64_t page; /**< Its address. */
	uint32_t stack;
	uint32_t order; /**< The number of the event. */
};
GR_VECTOR(gr_fault_vector, struct gr_fault);

/** A mapping that was made or given back: [start, end). */
struct gr_remap {
	uint64_t start, end;
	uint32_t stack;
	uint32_t order;
};
GR_VECTOR(gr_remap_vector, struct gr_remap);

/** Zero-initialised, nothing was seen. */
struct gr_touches {
	struct gr_fault_vector faults;
	struct gr_remap_vector mapped, given_back;
	uint32_t order; /**< The number of the next event. */
	uint64_t lost;	/**< Events for which there was no room. */
	/** Events since the last tick may be missing: that a page has none proves
	 * nothing. */
	bool has_gaps;
	size_t sorted; /**< Faults that are sorted, each page once. */
	/** How many of mapped and of given_back are disjoint already. */
	size_t flat[2];
};

void gr_touches_deinit(struct gr_touches *touches);

/**
 * Add @p count events of GR_TOUCH_EVENT_BYTES each: {u64 page address, u32
 * stack, u32 flags, u64 bytes}. If there are too many, the latest of each page
 * stays, also of mappings; what still has no room is counted, and is a gap.
 */
struct gr_error *gr_touches_add(struct gr_touches *touches, const uint8_t *data,
				size_t count,
				const struct gr_poll *poll) GR_MUST_CHECK;

/** Sort the faults by address, and make the mappings disjoint: the latest one
 * wins. */
struct gr_error *gr_touches_settle(struct gr_touches *touches,
				   const struct gr_poll *poll) GR_MUST_CHECK;

/** Forget all of them, but not what was lost. */
void gr_touches_clear(struct gr_touches *touches);

/** The index of the first fault at @p addr or behind it, when they are
 * settled. */
size_t gr_touches_from(const struct gr_touches *touches, uint64_t addr);

#endif /* GR_TOUCHES_H */
