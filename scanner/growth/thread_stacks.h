/* SPDX-License-Identifier: Apache-2.0 */
/** thread_stacks: where the stacks of the threads of a running process are, those
 * of C included. */
#ifndef GR_THREAD_STACKS_H
#define GR_THREAD_STACKS_H

#include "base/vector.h"
#include "inferior/mappings.h"
#include "inferior/target.h"

enum { GR_MAX_STACK_PLACES = 1 << 14 };

/** A place in a stack, and the mapping that had it. */
struct gr_stack_place {
	uint64_t sp;
	uint64_t start, end; /**< The mapping; UINT64_MAX: not looked at. */
};
GR_VECTOR(gr_stack_places, struct gr_stack_place);
GR_VECTOR(gr_stack_threads, struct gr_target_thread);

/** Zero-initialised, none is known. */
struct gr_thread_stacks {
	struct gr_stack_places places;
	/** The same as threads, for gr_image_threads(). */
	struct gr_stack_threads threads;
	bool is_full; /**< A place was left out. */
};

void gr_thread_stacks_deinit(struct gr_thread_stacks *stacks);

/** Note a stack pointer. If GR_MAX_STACK_PLACES are known, it is left out. */
struct gr_error *gr_thread_stacks_add(struct gr_thread_stacks *stacks,
				      uint64_t sp) GR_MUST_CHECK;

/** Note those of all threads of a process that are blocked, and fill the list of
 * threads. @p sp_register is where a thread has its own. */
struct gr_error *gr_thread_stacks_read(struct gr_thread_stacks *stacks,
				       int32_t pid,
				       uint8_t sp_register) GR_MUST_CHECK;

/** Forget places whose mapping has changed: it may be no stack any more. Their
 * threads get the stack pointer 0. */
void gr_thread_stacks_check(struct gr_thread_stacks *stacks,
			    const struct gr_mappings *mappings,
			    uint8_t sp_register);

#endif /* GR_THREAD_STACKS_H */
