/* SPDX-License-Identifier: Apache-2.0 */
/**
 * inline: the calls that the compiler inlined, at a pc of a function. Source:
 * runtime/symtabinl.go (inlineUnwinder), runtime/symtab.go in Go 1.19.
 */
#ifndef GR_INLINE_H
#define GR_INLINE_H

#include "goruntime/layout/pclntab.h"

/** A call as the source has it. Strings belong to the module. */
struct gr_logical_frame {
	uint64_t pc; /**< In the physical function: of the call, or of its line. */
	const char *function;
	const char *file; /**< "" if it is not known. */
	uint32_t line;
	bool is_inlined;
	uint8_t func_id; /**< Its kind: gr_layout.consts.funcid_; 0: ordinary. */
};

enum { GR_MAX_INLINED = 64 };

/**
 * The calls at @p pc of @p func, the innermost first; the last one is that of
 * the function itself. A damaged tree ends early.
 *
 * @param pc An instruction of the call: for a return address, the byte before.
 * @param frames At most GR_MAX_INLINED of them.
 */
struct gr_error *gr_inline_frames(struct gr_runtime *rt,
				  const struct gr_func *func, uint64_t pc,
				  struct gr_logical_frame *frames,
				  size_t *count) GR_MUST_CHECK;

/**
 * The name of the function in entry @p index of the tree of @p func, a value of
 * GR_PCDATA_INL_TREE_INDEX; NULL if there is no such entry.
 */
const char *gr_inline_name(struct gr_runtime *rt, const struct gr_func *func,
			   int32_t index);

#endif /* GR_INLINE_H */
