// SPDX-License-Identifier: Apache-2.0
/*
 * Overlaps are resolved by one sweep over the addresses. A heap holds the
 * ranges that have begun, the most important on top; it owns the addresses up
 * to its end or to where the next range begins. The sweep takes O(n log n) for
 * any overlaps, so a damaged core cannot make it slow.
 */
#include "inferior/ranges.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/source.h"

enum { POLL_STEPS = 1 << 12 };

struct start {
	uint64_t addr;
	size_t index; /* of `in` */
};

struct sweep {
	const struct gr_range *in; /* by priority */
	struct start *order;	   /* by address */
	size_t *heap;		   /* indexes of `in`, least on top */
	size_t heap_count;
	const struct gr_target *target; /* polls */
	uint64_t steps;
};

static int compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->index < y->index ? -1 : 1;
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

// Append a range. Ranges that are adjacent both in the target and in host
// memory become one, so that reads across their border need no copy.
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

static struct gr_error *sweep_run(struct sweep *sweep, size_t count,
				  struct gr_range_vector *out)
{
	const struct gr_range *in = sweep->in;
	const struct start *order = sweep->order;
	struct gr_error *err;
	uint64_t pos = 0;
	size_t next = 0;

	while (next < count || sweep->heap_count) {
		err = ++sweep->steps % POLL_STEPS ?
			      NULL :
			      gr_source_poll(sweep->target);
		if (err)
			return err;
		if (!sweep->heap_count && order[next].addr > pos)
			pos = order[next].addr;
		while (next < count && order[next].addr <= pos)
			heap_push(sweep, order[next++].index);
		const struct gr_range *top = &in[sweep->heap[0]];
		if (top->end <= pos) {
			heap_pop(sweep);
			continue;
		}
		uint64_t stop = top->end;
		if (next < count && order[next].addr < stop)
			stop = order[next].addr;
		if (!emit(out,
			  (struct gr_range){ pos, stop,
					     top->host + (pos - top->start) }))
			return &gr_enomem;
		pos = stop;
	}
	return NULL;
}

struct gr_error *gr_ranges_init(struct gr_ranges *ranges,
				const struct gr_range_vector *by_priority,
				const struct gr_target *target)
{
	size_t count = by_priority->size;
	_cleanup_(gr_range_vector_deinit) struct gr_range_vector out = { 0 };
	_cleanup_free_ struct start *order = NULL;
	_cleanup_free_ size_t *heap = NULL;
	struct gr_error *err = gr_source_want(
		target, count * (sizeof(*order) + sizeof(*heap) +
				 sizeof(*out.data) + sizeof(uint64_t)));

	memset(ranges, 0, sizeof(*ranges));
	if (err)
		return err;
	order = calloc(count + 1, sizeof(*order));
	heap = calloc(count + 1, sizeof(*heap));
	if (!order || !heap)
		return &gr_enomem;
	for (size_t i = 0; i < count; i++)
		order[i] = (struct start){ by_priority->data[i].start, i };
	err = gr_sort(order, count, sizeof(*order), compare_starts,
		      target->ops.poll, target->ctx);
	if (err)
		return err;
	struct sweep sweep = { by_priority->data, order, heap, 0, target, 0 };
	err = sweep_run(&sweep, count, &out);
	if (err)
		return err;
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
	// The search is branchless, because addresses are random and branch
	// prediction fails. It ends with the last start that is <= addr, if
	// there is one.
	while (n > 1) {
		size_t half = n / 2;
		base = base[half] <= addr ? base + half : base;
		n -= half;
	}
	size_t i = base - ranges->starts;
	return addr < ranges->data[i].end ? i : i + 1;
}
