// SPDX-License-Identifier: Apache-2.0
/*
 * Overlaps are resolved by one sweep over the addresses. A heap holds the
 * ranges that have begun, the most important on top; it owns the addresses up
 * to its end or to where the next range begins. O(n log n) whatever the
 * overlaps: a damaged core cannot make it slow.
 */
#include "target/ranges.h"

#include "base/cleanup.h"

struct sweep {
	const struct gr_range *in; /* by priority */
	size_t *order;		   /* indexes of `in` by start */
	size_t *heap;		   /* indexes of `in`, least on top */
	size_t heap_count;
};

static int compare_starts(const void *a, const void *b, void *in)
{
	const struct gr_range *ranges = in;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (ranges[i].start != ranges[j].start)
		return ranges[i].start < ranges[j].start ? -1 : 1;
	return i < j ? -1 : 1;
}

static void heap_push(struct sweep *sweep, size_t index)
{
	size_t i = sweep->heap_count++;
	for (; i && sweep->heap[(i - 1) / 2] > index; i = (i - 1) / 2)
		sweep->heap[i] = sweep->heap[(i - 1) / 2];
	sweep->heap[i] = index;
}

static void heap_pop(struct sweep *sweep)
{
	size_t moved = sweep->heap[--sweep->heap_count];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < sweep->heap_count; i = child) {
		if (child + 1 < sweep->heap_count &&
		    sweep->heap[child + 1] < sweep->heap[child])
			child++;
		if (sweep->heap[child] >= moved)
			break;
		sweep->heap[i] = sweep->heap[child];
	}
	sweep->heap[i] = moved;
}

// Neighbours in the target that are neighbours here become one range, so that
// what crosses their border need not be copied.
static bool emit(struct gr_range_vector *out, struct gr_range range)
{
	struct gr_range *tail = out->size ? &out->data[out->size - 1] : NULL;

	if (tail && tail->end == range.start &&
	    (uintptr_t)tail->host + (tail->end - tail->start) ==
		    (uintptr_t)range.host) {
		tail->end = range.end;
		return true;
	}
	return gr_range_vector_append(out, range);
}

static bool sweep_run(struct sweep *sweep, size_t count,
		      struct gr_range_vector *out)
{
	const struct gr_range *in = sweep->in;
	uint64_t pos = 0;
	size_t next = 0;

	while (next < count || sweep->heap_count) {
		if (!sweep->heap_count && in[sweep->order[next]].start > pos)
			pos = in[sweep->order[next]].start;
		while (next < count && in[sweep->order[next]].start <= pos)
			heap_push(sweep, sweep->order[next++]);
		const struct gr_range *top = &in[sweep->heap[0]];
		if (top->end <= pos) {
			heap_pop(sweep);
			continue;
		}
		uint64_t stop = top->end;
		if (next < count && in[sweep->order[next]].start < stop)
			stop = in[sweep->order[next]].start;
		if (!emit(out,
			  (struct gr_range){ pos, stop,
					     top->host + (pos - top->start) }))
			return false;
		pos = stop;
	}
	return true;
}

struct gr_error *gr_ranges_init(struct gr_ranges *ranges,
				const struct gr_range_vector *by_priority)
{
	size_t count = by_priority->size;
	_cleanup_(gr_range_vector_deinit) struct gr_range_vector out = { 0 };
	_cleanup_free_ size_t *order = calloc(count + 1, sizeof(*order));
	_cleanup_free_ size_t *heap = calloc(count + 1, sizeof(*heap));

	memset(ranges, 0, sizeof(*ranges));
	if (!order || !heap)
		return &gr_enomem;
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_starts,
		by_priority->data);
	struct sweep sweep = { by_priority->data, order, heap, 0 };
	if (!sweep_run(&sweep, count, &out))
		return &gr_enomem;
	uint64_t *starts = calloc(out.size + 1, sizeof(*starts));
	if (!starts)
		return &gr_enomem;
	for (size_t i = 0; i < out.size; i++)
		starts[i] = out.data[i].start;
	ranges->starts = starts;
	ranges->count = out.size;
	ranges->data = steal_ptr(out.data);
	return NULL;
}

void gr_ranges_deinit(struct gr_ranges *ranges)
{
	free(ranges->data);
	free(ranges->starts);
	memset(ranges, 0, sizeof(*ranges));
}

size_t gr_ranges_search(const struct gr_ranges *ranges, uint64_t addr)
{
	const uint64_t *base = ranges->starts;
	size_t n = ranges->count;

	if (!n)
		return 0;
	// Branchless: addresses are random, a predictor only guesses. Ends
	// with the last start that is <= addr, if there is one.
	while (n > 1) {
		size_t half = n / 2;
		base = base[half] <= addr ? base + half : base;
		n -= half;
	}
	size_t i = base - ranges->starts;
	return addr < ranges->data[i].end ? i : i + 1;
}
