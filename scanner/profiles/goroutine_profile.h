/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_profile: what all goroutines do, and with which stacks. */
#ifndef GR_GOROUTINE_PROFILE_H
#define GR_GOROUTINE_PROFILE_H

#include "goroutines/goroutine_list.h"
#include "profiles/stacks.h"

struct gr_scan;

enum gr_goroutine_selection {
	GR_GOROUTINES_ALL,    /**< All but the runtime's own. */
	GR_GOROUTINES_LEAKED, /**< Those that have leaked (leak_rule.h). */
};

/** A goroutine of the profile. */
struct gr_goroutine_stack {
	struct gr_goroutine_info goroutine;
	uint32_t stack;	      /**< One of the profile's, or GR_NO_STACK. */
	uint32_t sample;      /**< Index of the sample that counts it. */
	uint64_t stack_space; /**< Bytes that are allocated for its stack. */
	/** Outer calls are missing: the stack is very deep or damaged. */
	bool is_cut;
};

/** Goroutines that have all calls and all labels in common. */
struct gr_goroutine_sample {
	uint32_t stack;
	const struct gr_label *labels; /**< The profiler's, by key. */
	size_t nlabels;
	uint64_t goroutines;
	uint64_t stack_space; /**< The sum of all. */
};

/** The answer. Belongs to the caller. */
struct gr_goroutine_profile {
	struct gr_stacks stacks;
	struct gr_goroutine_stack *rows; /**< By id. */
	size_t nrows;
	struct gr_goroutine_sample *samples; /**< In the order of the rows. */
	size_t nsamples;
	/** Beside leaked goroutines: others that may have leaked. */
	uint64_t unproven;
	struct gr_gaps gaps; /**< The heap's, if it was read. */
};

/**
 * Make the profile. This takes time in proportion to the number of goroutines
 * and frames; only GR_GOROUTINES_LEAKED needs the heap and makes the object
 * graph.
 */
struct gr_error *
gr_scan_goroutine_profile(struct gr_scan *scan,
			  enum gr_goroutine_selection selection,
			  struct gr_goroutine_profile **ret) GR_MUST_CHECK;
void gr_goroutine_profile_destroy(struct gr_goroutine_profile *profile);

#endif /* GR_GOROUTINE_PROFILE_H */
