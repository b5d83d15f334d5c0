/* SPDX-License-Identifier: Apache-2.0 */
/**
 * unwind: the frames of one goroutine's stack, one after the other, as the
 * collector walks them (runtime/traceback.go: unwinder). Knows pclntab and the
 * stack's bytes; knows nothing of what is live in a frame.
 */
#ifndef GR_UNWIND_H
#define GR_UNWIND_H

#include "goruntime/goroutine.h"

/** Functions that the signal handler makes code appear to call. */
enum gr_injected {
	GR_INJECTED_NONE,
	GR_INJECTED_SIGPANIC,
	GR_INJECTED_ASYNC_PREEMPT,
	GR_INJECTED_DEBUG_CALL,
};

/** What a pc leads to; the same pcs come again on thousands of stacks. */
struct gr_pc_entry {
	uint64_t pc; /**< 0: free. */
	struct gr_func func;
	int32_t spdelta; /**< -1: the tables do not say. */
};

enum { GR_PC_CACHE_ENTRIES = 1024 };

struct gr_pc_cache {
	struct gr_pc_entry entries[GR_PC_CACHE_ENTRIES];
};

/** A walk over one stack. The frame is valid while a call returned true. */
struct gr_unwinder {
	struct gr_runtime *rt;
	const struct gr_goroutine *g;
	struct gr_pc_cache *cache; /**< NULL: none. */
	struct gr_frame frame;
	uint64_t return_pc; /**< 0: the frame is the outermost. */
	/** The link register in the frame, where it is known; else 0. */
	uint64_t lr;
	enum gr_injected callee;
	/** The frame was left by a call at which nothing tells what is live. */
	bool is_unsafe_call;
	/** The outermost frame was reached, nothing is missing. */
	bool is_complete;
	/** Where the part begins that could not be unwound. */
	uint64_t unknown_start;
};

/**
 * Go to the innermost frame. @p g is placed and g->stack.host is mapped.
 *
 * @return false if there is no frame (then unknown_start tells from where the
 * stack is unknown).
 */
bool gr_unwind_start(struct gr_unwinder *u, struct gr_runtime *rt,
		     const struct gr_goroutine *g, struct gr_pc_cache *cache);

/** Go to the caller's frame. @return false at the end, complete or not. */
bool gr_unwind_next(struct gr_unwinder *u);

/** The injected function that @p func is, if it is one. */
enum gr_injected gr_func_injected(const struct gr_runtime *rt,
				  const struct gr_func *func);

/**
 * Where runtime.asyncPreempt keeps a register of the function that it
 * interrupted, from its own sp; -1: nowhere. gr_unwind_saved_reg() is the way
 * back (runtime/mkpreempt.go).
 */
int gr_unwind_saved_off(const struct gr_arch *arch, unsigned int reg);
int gr_unwind_saved_reg(const struct gr_arch *arch, uint64_t off);

#endif /* GR_UNWIND_H */
