/* SPDX-License-Identifier: Apache-2.0 */
/** check_stacks: sizes of goroutine stacks. Source: runtime/stack.go (newstack,
 * shrinkstack). */
#ifndef GR_CHECK_STACKS_H
#define GR_CHECK_STACKS_H

#include "base/base.h"

enum {
	GR_SMALLEST_STACK = 2048, /* runtime: stackMin */
	/** runtime: stackGuard, of a program without a multiplier. */
	GR_STACK_GUARD = 928,
	GR_STACK_SMALL = 128, /* internal/abi: StackSmall */
};

/** The smallest stack in which @p used_bytes are used, and @p guard_bytes are
 * left: a power of two. */
static inline uint64_t gr_smallest_stack(uint64_t used_bytes,
					 uint64_t guard_bytes)
{
	uint64_t need = used_bytes + guard_bytes;
	uint64_t bytes = GR_SMALLEST_STACK;

	// Bounded by the bits of a number.
	while (bytes < need && bytes <= UINT64_MAX / 2)
		bytes *= 2;
	return bytes;
}

/** The size at which collections stop to halve a stack of @p stack_bytes. A
 * collection halves a stack of which less than a quarter is used, and the
 * frames that may not grow it count as used. */
static inline uint64_t
gr_shrunk_stack(uint64_t stack_bytes, uint64_t used_bytes, uint64_t guard_bytes)
{
	uint64_t used = used_bytes + guard_bytes - GR_STACK_SMALL;

	// Bounded by the bits of a number.
	while (stack_bytes / 2 >= GR_SMALLEST_STACK && used < stack_bytes / 4)
		stack_bytes /= 2;
	return stack_bytes;
}

#endif /* GR_CHECK_STACKS_H */
