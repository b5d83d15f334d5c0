/* SPDX-License-Identifier: Apache-2.0 */
/**
 * allocations: the largest piece of memory that is allocated at once, and
 * allocations that fail. For tests that are linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc.
 */
#pragma once

#include "base/base.h"

#include <stdlib.h>

static struct {
	bool is_armed;
	bool may_fail;
	uint64_t left; /* allocations that succeed */
	bool has_failed;
	uint64_t most_bytes;
} allocations;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

static inline bool allocation_fails(uint64_t bytes)
{
	if (!allocations.is_armed)
		return false;
	if (bytes > allocations.most_bytes)
		allocations.most_bytes = bytes;
	if (!allocations.may_fail || allocations.left--)
		return false;
	allocations.left = 0;
	allocations.has_failed = true;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails(count * bytes) ? NULL :
						 __real_calloc(count, bytes);
}

void *__wrap_realloc(void *p, size_t bytes)
{
	return allocation_fails(bytes) ? NULL : __real_realloc(p, bytes);
}

/** Begin to count. */
static inline void allocations_begin(void)
{
	allocations.is_armed = true;
	allocations.may_fail = allocations.has_failed = false;
	allocations.most_bytes = 0;
}

/** Begin; all fail but the first @p left. */
static inline void allocations_limit(uint64_t left)
{
	allocations_begin();
	allocations.may_fail = true;
	allocations.left = left;
}

/** End; the most bytes at once. */
static inline uint64_t allocations_end(void)
{
	allocations.is_armed = false;
	return allocations.most_bytes;
}
