/* SPDX-License-Identifier: Apache-2.0 */
/**
 * unwind: walks the frames of one goroutine's stack as the collector does
 * (runtime/traceback.go: unwinder). The module knows pclntab and the stack's
 * bytes. It does not know which words of a frame are live.
 */
#ifndef GR_UNWIND_H
#define GR_UNWIND_H

#include "goruntime/sched/goroutine.h"

/** Functions that the signal handler makes code appear to call. */
enum gr_injected {
	GR_INJECTED_NONE,
	GR_INJECTED_SIGPANIC,
	GR_INJECTED_ASYNC_PREEMPT,
	GR_INJECTED_DEBUG_CALL,
};

/** Cached lookup of a pc. Thousands of stacks have the same pcs. */
struct gr_pc_entry {
	uint64_t pc; /**< 0: free. */
	const struct gr_func *func;
	int32_t spdelta;   /**< -1: the tables do not say. */
	int32_t map_index; /**< Row of the stack maps; -1: the entry's. */
};

enum { GR_PC_CACHE_ENTRIES = 1024 };

/** The pcs and the functions that were looked up last. */
struct gr_pc_cache {
	struct gr_pc_entry entries[GR_PC_CACHE_ENTRIES];
	const struct gr_func *funcs[GR_PC_CACHE_ENTRIES];
};

/** A walk over one stack. The frame is valid if the last call returned true. */
struct gr_unwinder {
	struct gr_runtime *rt;
	const struct gr_goroutine *g;
	struct gr_pc_cache *cache;
	struct gr_frame frame;
	uint64_t return_pc; /**< 0: the frame is the outermost. */
	/** The link register in the frame, or 0 if it is not known. */
	uint64_t lr;
	enum gr_injected callee;
	/** The frame is left by a call for which no stack map exists. */
	bool is_unsafe_call;
	/** The walk reached the outermost frame; no frame is missing. */
	bool is_complete;
	/** The walk ended because memory for a function ran out. */
	bool is_out_of_memory;
	/** Start of the part of the stack that could not be unwound. */
	uint64_t unknown_start;
};

/**
 * Go to the innermost frame. The caller has set pc and sp of @p g and has
 * mapped g->stack.host.
 *
 * @return false if no frame is found. The stack is unknown from unknown_start
 * on then.
 */
bool gr_unwind_start(struct gr_unwinder *u, struct gr_runtime *rt,
		     const struct gr_goroutine *g, struct gr_pc_cache *cache);

/**
 * Go to the caller's frame. A walk is bounded by the words of the stack.
 *
 * @return false at the end, complete or not.
 */
bool gr_unwind_next(struct gr_unwinder *u);

/**
 * Return the offset from the sp of runtime.asyncPreempt at which it saves a
 * register of the interrupted function, or -1 if it does not save the
 * register. gr_unwind_saved_reg() is the inverse (runtime/mkpreempt.go).
 */
int gr_unwind_saved_off(const struct gr_arch *arch, unsigned int reg);
int gr_unwind_saved_reg(const struct gr_arch *arch, uint64_t off);

#endif /* GR_UNWIND_H */
