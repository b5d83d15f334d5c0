/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stacks: the stacks of a profile, and the calls in them, each once. A stack is
 * a number: that of its innermost call and of the stack of the caller.
 */
#ifndef GR_STACKS_H
#define GR_STACKS_H

#include "base/vector.h"
#include "goruntime/sched/goroutine.h"
#include "graph/keys.h"

#define GR_NO_STACK UINT32_MAX

/** A call as the source has it. Strings belong to the module. */
struct gr_stack_line {
	const char *function;
	const char *file; /**< "" if it is not known. */
	uint32_t line;
};
GR_VECTOR(gr_stack_line_vector, struct gr_stack_line);

/** A call in the code, with those that the compiler inlined there. */
struct gr_stack_call {
	uint64_t pc;	    /**< At the call instruction or in it. */
	uint32_t off_bytes; /**< The frame's pc in the function. */
	uint32_t first;	    /**< Its lines, the innermost first. */
	uint32_t nlines;    /**< All but the last one are inlined. */
};
GR_VECTOR(gr_stack_call_vector, struct gr_stack_call);

struct gr_stack {
	uint32_t caller; /**< A stack, or GR_NO_STACK. */
	uint32_t call;	 /**< Index of the innermost call. */
	uint32_t ncalls;
};
GR_VECTOR(gr_stack_vector, struct gr_stack);

/** Zero-initialised is ready. A caller's number is smaller. */
struct gr_stacks {
	struct gr_stack_line_vector lines;
	struct gr_stack_call_vector calls;
	struct gr_stack_vector stacks;
	struct gr_keys by_pc;	/**< (pc, wrappers) -> call */
	struct gr_keys by_call; /**< (call, caller) -> stack */
};

/**
 * Add a stack that the runtime has recorded: return addresses, the innermost
 * first. Inlined calls may have addresses of their own or may be missing.
 *
 * @param hides_runtime Leave out the runtime's calls at the innermost end,
 * unless there are no others.
 * @param ret GR_NO_STACK if there is no call.
 */
struct gr_error *gr_stacks_add_pcs(struct gr_stacks *stacks,
				   struct gr_runtime *rt, const uint64_t *pcs,
				   size_t npcs, bool hides_runtime,
				   uint32_t *ret) GR_MUST_CHECK;

/** A call of a stack, inlined or not. Strings belong to the module. */
struct gr_stack_frame {
	const char *function;
	const char *file; /**< "" if it is not known. */
	uint32_t line;
	uint32_t off_bytes; /**< The pc in the function that is not inlined. */
	bool is_inlined;
};

void gr_stacks_deinit(struct gr_stacks *stacks);

/**
 * Add the stack of a goroutine as the runtime's own profiles have it: without
 * wrappers, which the compiler makes, and without runtime.goexit.
 *
 * @param ret GR_NO_STACK if there is no call.
 */
struct gr_error *gr_stacks_add_frames(struct gr_stacks *stacks,
				      struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      uint32_t *ret) GR_MUST_CHECK;

/**
 * All calls of a stack, the innermost first, for free(). NULL: no memory.
 */
struct gr_stack_frame *gr_stacks_frames(const struct gr_stacks *stacks,
					uint32_t stack, size_t *count);

#endif /* GR_STACKS_H */
