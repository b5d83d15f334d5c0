/* SPDX-License-Identifier: Apache-2.0 */
/** answer: the checks, and the answer to a waste question. */
#ifndef GR_WASTE_ANSWER_H
#define GR_WASTE_ANSWER_H

#include "base/base.h"
#include "inferior/gaps.h"

/** X(identifier, name, needs the values of the program) */
#define GR_WASTE_CHECKS(X)                           \
	X(DUPLICATE_STRINGS, "duplicate-strings", 1) \
	X(SLICE_CAPACITY, "slice-capacity", 0)       \
	X(PINNED_ARRAY, "pinned-array", 0)           \
	X(SPARSE_MAP, "sparse-map", 0)               \
	X(CONSTANT_FIELD, "constant-field", 1)       \
	X(GOROUTINE_STACK, "goroutine-stack", 0)     \
	X(STUCK_FINALIZER, "stuck-finalizer", 0)     \
	X(GC_HEADROOM, "gc-headroom", 0)             \
	X(CONTEXT_CHILDREN, "context-children", 0)   \
	X(POOL, "pool", 0)                           \
	X(SIZE_CLASS, "size-class", 0)               \
	X(FIELD_ORDER, "field-order", 0)             \
	X(TINY_OBJECTS, "tiny-objects", 0)           \
	X(FAR_TIMERS, "far-timers", 0)               \
	X(LIBRARY_TAX, "library-tax", 0)

enum gr_waste_check {
#define X(id, name, values) GR_WASTE_##id,
	GR_WASTE_CHECKS(X)
#undef X
		GR_NWASTE_CHECKS,
};

enum {
	/** Parts of min_share that are the whole heap. */
	GR_WASTE_WHOLE = 1000000,
	GR_WASTE_ALL = (1 << GR_NWASTE_CHECKS) - 1,
};

struct gr_waste_options {
	uint32_t checks; /**< Bit 1 << enum gr_waste_check: ask it. */
	/** Rows with less of gr_waste.heap_bytes are left out: millionths. */
	uint32_t min_share;
};

/** A finding. Strings belong to the scan, or are static. */
struct gr_waste_row {
	const char *check; /**< Its name, as above. */
	/** That would be saved, as if this were the only change. 0: advice that
	 * saves nothing by itself, or not a known number. */
	uint64_t bytes;
	uint64_t count; /**< Objects, maps, goroutines ... that waste them. */
	/** The struct, variable, function or package to change; "" if the
	 * finding is about the whole program. */
	const char *type;
	const char *field;  /**< In it: `.name`, `.cache[]`; or "". */
	uint64_t example;   /**< Address of one of them; 0: none. */
	const char *advice; /**< A sentence: what to do. */
};

/** A check that the question asks, and whether it was answered. */
struct gr_waste_asked {
	const char *check;
	/** "" if it was answered; else why not, for a person. */
	const char *why_not;
	bool needs_values;
};

/** The answer. Belongs to the caller. */
struct gr_waste {
	struct gr_waste_row *rows; /**< Most bytes first; then by check. */
	size_t nrows;
	/** The sum of the rows, without what two of them would both save. */
	uint64_t total_bytes;
	/** Slots of the objects that are reached: what shares are of. */
	uint64_t heap_bytes;
	uint64_t heap_objects;
	/** Stacks of all goroutines, which are no part of heap_bytes. */
	uint64_t stack_bytes;
	/** Rows that were left out by min_share, and all their bytes. */
	uint64_t small_rows, small_bytes;
	/** Views whose lengths made no sense; they count as the whole array. */
	uint64_t broken_views;
	/** Objects with too many separate views; they count as used whole. */
	uint64_t crowded_arrays;
	struct gr_waste_asked *asked; /**< The checks of the options. */
	size_t nasked;
	struct gr_gaps gaps;
};

const char *gr_waste_check_name(enum gr_waste_check check);

/** Does the check read values: strings, numbers? */
bool gr_waste_check_needs_values(enum gr_waste_check check);

#endif /* GR_WASTE_ANSWER_H */
