// SPDX-License-Identifier: Apache-2.0
#include "graph/budget.h"

#include "base/huge.h"

#include <assert.h>
#include <inttypes.h>

/* Arrays of this many bytes are made of units (base/huge.h). */
enum { LARGE_BYTES = 1 << 24 };

/* In front of each array. Its size keeps the alignment of malloc(). */
struct header {
	_Alignas(16) struct gr_budget *budget;
	uint64_t bytes;
};

static struct header *header_of(void *array)
{
	return (struct header *)array - 1;
}

/* Raise the peak to @p held; other threads may do the same. */
static void raise_peak(struct gr_budget *budget, uint64_t held)
{
	uint64_t peak = __atomic_load_n(&budget->peak_bytes, __ATOMIC_RELAXED);

	while (peak < held && !__atomic_compare_exchange_n(
				      &budget->peak_bytes, &peak, held, true,
				      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void credit(struct gr_budget *budget, uint64_t bytes)
{
	uint64_t before = __atomic_fetch_sub(&budget->held_bytes, bytes,
					     __ATOMIC_RELAXED);

	assert(before >= bytes);
	(void)before;
}

/* Enter @p bytes if the limit allows them. */
static bool charge(struct gr_budget *budget, uint64_t bytes)
{
	uint64_t held = __atomic_add_fetch(&budget->held_bytes, bytes,
					   __ATOMIC_RELAXED);

	if (budget->limit_bytes && held > budget->limit_bytes) {
		credit(budget, bytes);
		__atomic_store_n(&budget->is_exceeded, true, __ATOMIC_RELAXED);
		return false;
	}
	raise_peak(budget, held);
	return true;
}

static bool is_large(uint64_t bytes)
{
	return bytes >= LARGE_BYTES;
}

/* Bytes that an array takes with its header; 0 if there are too many. */
static uint64_t whole_bytes(uint64_t count, size_t elem_bytes)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, elem_bytes, &bytes) ||
	    bytes > PTRDIFF_MAX / 2)
		return 0;
	bytes += sizeof(struct header);
	return is_large(bytes) ? gr_huge_ceil(bytes) : bytes;
}

static void *array_make(struct gr_budget *budget, uint64_t bytes,
			bool is_zeroed)
{
	if (!bytes || !charge(budget, bytes))
		return NULL;
	struct header *header = is_large(bytes) ? gr_huge_alloc(bytes) :
				is_zeroed	? calloc(1, bytes) :
						  malloc(bytes);
	if (!header) {
		credit(budget, bytes);
		return NULL;
	}
	if (!is_large(bytes))
		gr_huge_advise(header, bytes);
	else if (is_zeroed)
		memset(header, 0, bytes);
	header->budget = budget;
	header->bytes = bytes;
	return header + 1;
}

void *gr_array_alloc(struct gr_budget *budget, uint64_t count,
		     size_t elem_bytes)
{
	return array_make(budget, whole_bytes(count, elem_bytes), false);
}

void *gr_array_calloc(struct gr_budget *budget, uint64_t count,
		      size_t elem_bytes)
{
	return array_make(budget, whole_bytes(count, elem_bytes), true);
}

/* Do the limits allow @p bytes more? Another thread may take them first. */
static bool has_room(const struct gr_budget *budget, uint64_t bytes)
{
	uint64_t held = __atomic_load_n(&budget->held_bytes, __ATOMIC_RELAXED);

	return !budget->limit_bytes || bytes <= budget->limit_bytes - held;
}

/* An array that becomes large, or no longer is: it is copied. Without room for
 * both, one that shrinks stays as it is, which is no failure. */
static void *change_kind(void *array, uint64_t bytes)
{
	struct header *header = header_of(array);
	bool shrinks = bytes < header->bytes;

	if (shrinks && !has_room(header->budget, bytes))
		return array;
	void *ret = array_make(header->budget, bytes, false);
	if (!ret)
		return shrinks ? array : NULL;
	if (!shrinks)
		bytes = header->bytes;
	memcpy(ret, array, bytes - sizeof(*header));
	gr_array_free(array);
	return ret;
}

void *gr_array_resize(void *array, uint64_t count, size_t elem_bytes)
{
	struct header *header = header_of(array);
	struct gr_budget *budget = header->budget;
	uint64_t before = header->bytes;
	uint64_t bytes = whole_bytes(count, elem_bytes);

	if (bytes && is_large(bytes) != is_large(before))
		return change_kind(array, bytes);
	if (!bytes || (bytes > before && !charge(budget, bytes - before)))
		return NULL;
	header = is_large(bytes) ? gr_huge_resize(header, before, bytes) :
				   realloc(header, bytes);
	if (!header) {
		if (bytes > before)
			credit(budget, bytes - before);
		return NULL;
	}
	if (bytes < before)
		credit(budget, before - bytes);
	header->bytes = bytes;
	return header + 1;
}

bool gr_array_grow(struct gr_budget *budget, void **array, size_t *capacity,
		   size_t need, size_t elem_bytes)
{
	size_t grown = *capacity + *capacity / 2 + 8;

	if (need <= *capacity)
		return true;
	if (grown < need)
		grown = need;
	void *moved = *array ? gr_array_resize(*array, grown, elem_bytes) :
			       gr_array_alloc(budget, grown, elem_bytes);
	if (!moved)
		return false;
	*array = moved;
	*capacity = grown;
	return true;
}

void gr_array_free(void *array)
{
	if (!array)
		return;
	struct header *header = header_of(array);
	credit(header->budget, header->bytes);
	if (is_large(header->bytes))
		gr_huge_free(header, header->bytes);
	else
		free(header);
}

struct gr_error *gr_budget_error(const struct gr_budget *budget)
{
	if (!budget->is_exceeded)
		return &gr_enomem;
	return gr_error_format(GR_ERROR_NO_MEMORY,
			       "the object graph needs more than the %" PRIu64
			       " MiB that the memory limit leaves for it",
			       budget->limit_bytes >> 20);
}
