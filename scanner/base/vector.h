/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Typed growing arrays: `GR_VECTOR(name, type)` defines `struct name` and its
 * functions, of which a file may use some. Appending returns false when no
 * memory is left.
 */
#ifndef GR_VECTOR_H
#define GR_VECTOR_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/**
 * Grow an array of @p elem_bytes elements to hold at least @p need.
 *
 * @return false on overflow or when no memory is left; then nothing changed.
 */
bool gr_vector_grow(void **data, size_t *capacity, size_t need,
		    size_t elem_bytes);

/** Bytes that gr_vector_grow() may take at once for one element more: the array
 * grows by half, and is copied. */
static inline uint64_t gr_vector_growth_bytes(size_t capacity,
					      size_t elem_bytes)
{
	return ((uint64_t)capacity * 5 / 2 + 8) * elem_bytes;
}

#define GR_VECTOR(name, type)                                             \
	/** Invariant: size <= capacity; data holds capacity elements. */ \
	struct name {                                                     \
		type *data;                                               \
		size_t size;                                              \
		size_t capacity;                                          \
	};                                                                \
	GR_MAYBE_UNUSED static inline void name##_deinit(struct name *v)  \
	{                                                                 \
		free(v->data);                                            \
		memset(v, 0, sizeof(*v));                                 \
	}                                                                 \
	/** Make room for @p n elements in all. */                        \
	GR_MAYBE_UNUSED static inline bool name##_reserve(struct name *v, \
							  size_t n)       \
	{                                                                 \
		return n <= v->capacity ||                                \
		       gr_vector_grow((void **)&v->data, &v->capacity, n, \
				      sizeof(type));                      \
	}                                                                 \
	/** A new, uninitialised last element, or NULL. */                \
	GR_MAYBE_UNUSED static inline type *name##_append_entry(          \
		struct name *v)                                           \
	{                                                                 \
		if (!name##_reserve(v, v->size + 1))                      \
			return NULL;                                      \
		return &v->data[v->size++];                               \
	}                                                                 \
	GR_MAYBE_UNUSED static inline bool name##_append(struct name *v,  \
							 type value)      \
	{                                                                 \
		type *entry = name##_append_entry(v);                     \
		if (!entry)                                               \
			return false;                                     \
		*entry = value;                                           \
		return true;                                              \
	}                                                                 \
	struct name /* swallow the semicolon */

#endif /* GR_VECTOR_H */
