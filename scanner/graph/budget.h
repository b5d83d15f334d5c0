/* SPDX-License-Identifier: Apache-2.0 */
/**
 * budget: the arrays of a graph, and an account of their bytes.
 *
 * All arrays of the heap's length come from here; the lists that are part of an
 * answer do not. The account may be used from several threads at once, an array
 * belongs to one.
 */
#ifndef GR_GRAPH_BUDGET_H
#define GR_GRAPH_BUDGET_H

#include "base/cleanup.h"
#include "base/error.h"

/**
 * Bytes of a graph's arrays. Zero-initialised is ready, without a limit. It
 * outlives its arrays.
 *
 * Invariant: held_bytes <= peak_bytes.
 */
struct gr_budget {
	uint64_t held_bytes;
	uint64_t peak_bytes;
	uint64_t limit_bytes; /**< Not more than these; 0: no limit. */
	bool is_exceeded;     /**< An allocation failed because of the limit. */
};

/**
 * An array of @p count elements with undefined contents, on account of
 * @p budget. Arrays of many megabytes lie in huge pages if there are any.
 *
 * @return NULL if no memory is left, or if the limit would be exceeded.
 */
void *gr_array_alloc(struct gr_budget *budget, uint64_t count,
		     size_t elem_bytes);

/** gr_array_alloc() of zeroed elements. */
void *gr_array_calloc(struct gr_budget *budget, uint64_t count,
		      size_t elem_bytes);

/**
 * Change an array's length; the elements that remain keep their values.
 *
 * @return The array at its new place. NULL if no memory is left or the limit
 *         would be exceeded: then the old array is as it was.
 */
void *gr_array_resize(void *array, uint64_t count, size_t elem_bytes);

/**
 * Make room for @p need elements in *@p array, which has *@p capacity of them;
 * NULL and 0 at first. It grows by half at least.
 *
 * @return false if there is no memory or the limit would be exceeded; then
 *         nothing has changed.
 */
bool gr_array_grow(struct gr_budget *budget, void **array, size_t *capacity,
		   size_t need, size_t elem_bytes) GR_MUST_CHECK;

/** Free an array and credit its bytes. NULL is fine. */
void gr_array_free(void *array);

/** gr_array_free() at the end of the scope. */
static inline void gr_cleanup_array(void *p)
{
	gr_array_free(*(void **)p);
}
#define _cleanup_array_ _cleanup_(gr_cleanup_array)

/** Why an allocation failed: no memory, or the limit. Never NULL. */
struct gr_error *gr_budget_error(const struct gr_budget *budget)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

#endif /* GR_GRAPH_BUDGET_H */
