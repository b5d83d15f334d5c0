// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "events.h"

#include <string.h>
#include <sys/mman.h>

static uint64_t last_order;

int events_init(struct events *events, long capacity)
{
	void *rows = mmap(NULL, capacity * sizeof(struct event),
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (rows == MAP_FAILED)
		return -1;
	*events = (struct events){ rows, 0, capacity };
	return 0;
}

void events_deinit(struct events *events)
{
	munmap(events->rows, events->capacity * sizeof(struct event));
}

static void add(struct events *events, void *block, int is_freed)
{
	uint64_t order = __atomic_add_fetch(&last_order, 1, __ATOMIC_SEQ_CST);

	events->rows[events->count++] = (struct event){
		order,
		(uintptr_t)block | is_freed,
	};
}

void events_took(struct events *events, void *block)
{
	add(events, block, 0);
}

void events_frees(struct events *events, void *block)
{
	add(events, block, 1);
}

static int is_before(const struct event *a, const struct event *b)
{
	uint64_t left = a->address & ~1ul, right = b->address & ~1ul;

	return left != right ? left < right : a->order < b->order;
}

// qsort() of the C library may allocate a buffer.
static void sift(struct event *rows, long root, long count)
{
	for (long child; (child = 2 * root + 1) < count; root = child) {
		struct event row = rows[root];

		if (child + 1 < count &&
		    is_before(&rows[child], &rows[child + 1]))
			child++;
		if (!is_before(&row, &rows[child]))
			return;
		rows[root] = rows[child];
		rows[child] = row;
	}
}

static void sort(struct event *rows, long count)
{
	for (long i = count / 2; i-- > 0;)
		sift(rows, i, count);
	for (long i = count; i-- > 1;) {
		struct event row = rows[0];

		rows[0] = rows[i];
		rows[i] = row;
		sift(rows, 0, i);
	}
}

static void gather(struct events *const *lists, int count, struct events *all)
{
	for (int i = 0; i < count; i++) {
		memcpy(all->rows + all->count, lists[i]->rows,
		       lists[i]->count * sizeof(struct event));
		all->count += lists[i]->count;
		events_deinit(lists[i]);
	}
}

long events_freed(struct events *const *lists, int count, struct events *freed)
{
	struct event *rows;
	long kept = 0;

	gather(lists, count, freed);
	rows = freed->rows;
	sort(rows, freed->count);
	for (long i = 0; i < freed->count; i++) {
		uint64_t address = rows[i].address & ~1ul;
		int is_last = i + 1 == freed->count ||
			      (rows[i + 1].address & ~1ul) != address;

		if (is_last && rows[i].address & 1)
			rows[kept++].address = address;
	}
	freed->count = kept;
	return kept;
}
