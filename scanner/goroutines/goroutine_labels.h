/* SPDX-License-Identifier: Apache-2.0 */
/** goroutine_labels: filters and groups by the labels of goroutines. */
#ifndef GR_GOROUTINE_LABELS_H
#define GR_GOROUTINE_LABELS_H

#include "base/arena.h"
#include "goroutines/goroutine_list.h"

/** Has the goroutine a label whose key, or `KEY=VALUE`, is @p text? */
bool gr_goroutine_has_label(const struct gr_goroutine_info *info,
			    const char *text);

/**
 * The labels as text: `k=v, k2=v2`, or `no labels`; with @p key only that
 * label, or `no label KEY`. NULL without memory.
 */
const char *gr_goroutine_labels_text(struct gr_arena *arena,
				     const struct gr_goroutine_info *info,
				     const char *key);

#endif /* GR_GOROUTINE_LABELS_H */
