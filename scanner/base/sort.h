/* SPDX-License-Identifier: Apache-2.0 */
/** sort: an interruptible sort of long tables. */
#ifndef GR_SORT_H
#define GR_SORT_H

#include "base/base.h"
#include "base/error.h"

/**
 * Sort @p count elements of @p elem_bytes. The sort is stable and takes n log n
 * steps; sorted input takes n steps. @p poll (may be NULL) is called every few
 * thousand steps. An error from it aborts the sort; the array then holds all
 * elements in an unspecified order.
 */
struct gr_error *gr_sort(void *data, size_t count, size_t elem_bytes,
			 int (*compare)(const void *a, const void *b),
			 struct gr_error *(*poll)(void *ctx),
			 void *ctx) GR_MUST_CHECK;

#endif /* GR_SORT_H */
