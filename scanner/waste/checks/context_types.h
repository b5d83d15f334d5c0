/* SPDX-License-Identifier: Apache-2.0 */
/** context_types: the types that have the children of a context. Source:
 * context/context.go (cancelCtx, timerCtx). */
#ifndef GR_CONTEXT_TYPES_H
#define GR_CONTEXT_TYPES_H

#include "goruntime/types/types.h"

/** Offsets in a value of a type, each plus one; 0: it has no such field. */
struct gr_context_type {
	uint32_t children; /**< The map of the children. */
	uint32_t timer;	   /**< The timer that cancels it. */
	uint32_t done;	   /**< The pointer to the channel of Done(). */
	/** It has a function that is to be called when its parent is
	 * cancelled: context.AfterFunc(). */
	bool is_after_func;
};

struct gr_context_types {
	struct gr_context_type *of; /**< By type id. */
	size_t count;
	gr_type_id map; /**< map[canceler]struct{}; GR_TYPE_NONE: unknown. */
};

/** Find the types; @p ret needs gr_context_types_deinit() even if it fails. */
struct gr_error *
gr_context_types_find(struct gr_types *types,
		      struct gr_context_types *ret) GR_MUST_CHECK;
void gr_context_types_deinit(struct gr_context_types *found);

#endif /* GR_CONTEXT_TYPES_H */
