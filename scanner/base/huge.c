// SPDX-License-Identifier: Apache-2.0
#include "base/huge.h"

#include <sys/mman.h>

#include "base/thread.h"

/* A unit that is in no array. */
struct unit {
	struct unit *next;
};

/* The units that are kept. Invariant: without holders there are none. */
static struct {
	pthread_mutex_t lock;
	struct unit *first;
	size_t count;
	unsigned int nholders;
} spare = { .lock = PTHREAD_MUTEX_INITIALIZER };

void gr_huge_advise(void *data, size_t bytes)
{
	uintptr_t start = (uintptr_t)data + GR_HUGE_BYTES - 1;
	uintptr_t end = (uintptr_t)data + bytes;

	start -= start % GR_HUGE_BYTES;
	end -= end % GR_HUGE_BYTES;
	if (start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

void *gr_huge_calloc(size_t count, size_t elem_bytes)
{
	void *data = calloc(count, elem_bytes);

	if (data)
		gr_huge_advise(data, count * elem_bytes);
	return data;
}

// ------------------------------------------------------------------- units

static void *take_unit(void)
{
	pthread_mutex_lock(&spare.lock);
	struct unit *unit = spare.first;
	if (unit) {
		spare.first = unit->next;
		spare.count--;
	}
	pthread_mutex_unlock(&spare.lock);
	return unit;
}

static void give_unit(void *data)
{
	struct unit *unit = data;

	pthread_mutex_lock(&spare.lock);
	bool is_kept = spare.nholders;
	if (is_kept) {
		unit->next = spare.first;
		spare.first = unit;
		spare.count++;
	}
	pthread_mutex_unlock(&spare.lock);
	if (!is_kept)
		munmap(data, GR_HUGE_BYTES);
}

void gr_huge_hold(void)
{
	pthread_mutex_lock(&spare.lock);
	spare.nholders++;
	pthread_mutex_unlock(&spare.lock);
}

void gr_huge_release(void)
{
	pthread_mutex_lock(&spare.lock);
	struct unit *unit = --spare.nholders ? NULL : spare.first;
	if (unit) {
		spare.first = NULL;
		spare.count = 0;
	}
	pthread_mutex_unlock(&spare.lock);
	while (unit) {
		struct unit *next = unit->next;
		munmap(unit, GR_HUGE_BYTES);
		unit = next;
	}
}

size_t gr_huge_spare_bytes(void)
{
	pthread_mutex_lock(&spare.lock);
	size_t bytes = spare.count * GR_HUGE_BYTES;
	pthread_mutex_unlock(&spare.lock);
	return bytes;
}

// ------------------------------------------------------------------ arrays

/* New memory that begins at a huge page, untouched; NULL: there is none. */
static char *reserve(size_t bytes)
{
	char *start = mmap(NULL, bytes + GR_HUGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)start % GR_HUGE_BYTES;
	if (before)
		munmap(start, before);
	munmap(start + before + bytes, GR_HUGE_BYTES - before);
	madvise(start + before, bytes, MADV_HUGEPAGE);
	return start + before;
}

/* Put a unit into its place in an array. The kernel refuses to move it when a
 * process has too many mappings. */
static void move_unit(void *place, void *unit)
{
	if (mremap(unit, GR_HUGE_BYTES, GR_HUGE_BYTES,
		   MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED)
		return;
	memcpy(place, unit, GR_HUGE_BYTES);
	munmap(unit, GR_HUGE_BYTES);
}

/* Put kept units into [start, end). The rest stays as it is. */
static void put_units(char *start, char *end)
{
	void *unit;

	for (; start < end && (unit = take_unit()); start += GR_HUGE_BYTES)
		move_unit(start, unit);
}

void *gr_huge_alloc(size_t bytes)
{
	char *data = reserve(gr_huge_ceil(bytes));

	if (data)
		put_units(data, data + gr_huge_ceil(bytes));
	return data;
}

void *gr_huge_resize(void *data, size_t bytes, size_t new_bytes)
{
	size_t before = gr_huge_ceil(bytes), after = gr_huge_ceil(new_bytes);

	if (after <= before) {
		if (after < before)
			gr_huge_free((char *)data + after, before - after);
		return data;
	}
	char *place = reserve(after);
	if (!place)
		return NULL;
	for (size_t at = 0; at < before; at += GR_HUGE_BYTES)
		move_unit(place + at, (char *)data + at);
	put_units(place + before, place + after);
	return place;
}

void gr_huge_free(void *data, size_t bytes)
{
	char *end = (char *)data + gr_huge_ceil(bytes);

	for (char *at = data; at < end; at += GR_HUGE_BYTES)
		give_unit(at);
}

// ------------------------------------------------------------------ one ahead

static void *make_ready(void *arg)
{
	struct gr_huge_next *next = arg;
	volatile char *unit = gr_huge_alloc(GR_HUGE_BYTES);

	// One touch, unless the kernel has small pages only.
	for (size_t at = 0; unit && at < GR_HUGE_BYTES; at += 4096)
		unit[at] = 0;
	next->unit = (void *)unit;
	atomic_store(&next->is_ready, true);
	return NULL;
}

/* Wait for the thread. @return its unit, or NULL */
static void *join(struct gr_huge_next *next)
{
	if (!next->is_started)
		return NULL;
	pthread_join(next->thread, NULL);
	next->is_started = false;
	return next->unit;
}

/* A thread that has not had its turn on a busy machine is not waited for. */
void *gr_huge_next_alloc(struct gr_huge_next *next)
{
	void *unit = atomic_load(&next->is_ready) ? join(next) : NULL;

	if (!next->is_started && !gr_huge_spare_bytes()) {
		atomic_store(&next->is_ready, false);
		next->is_started =
			gr_thread_start(&next->thread, make_ready, next);
	}
	return unit ? unit : gr_huge_alloc(GR_HUGE_BYTES);
}

void gr_huge_next_deinit(struct gr_huge_next *next)
{
	void *unit = join(next);

	if (unit)
		gr_huge_free(unit, GR_HUGE_BYTES);
}
