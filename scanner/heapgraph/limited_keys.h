/* SPDX-License-Identifier: Apache-2.0 */
/** limited_keys: tables of keys whose size depends on the target. */
#ifndef GR_LIMITED_KEYS_H
#define GR_LIMITED_KEYS_H

#include "goruntime/layout/runtime.h"
#include "graph/keys.h"

/** gr_keys_add(); if the table must grow, the memory limit is checked before.
 * The error is that of gr_image_want(), or gr_enomem. */
static inline struct gr_error *
gr_limited_keys_add(struct gr_runtime *rt, struct gr_keys *keys, uint64_t key,
		    uint32_t parent, uint32_t index)
{
	struct gr_error *err = NULL;

	// The old slots live until they are copied.
	if (keys->count * 2 >= keys->capacity)
		err = gr_image_want(rt->image,
				    keys->capacity * 2 * sizeof(*keys->slots));
	return err || gr_keys_add(keys, key, parent, index) ? err : &gr_enomem;
}

#endif /* GR_LIMITED_KEYS_H */
