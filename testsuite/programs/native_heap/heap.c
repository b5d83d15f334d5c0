// SPDX-License-Identifier: Apache-2.0

// Random malloc(), calloc(), realloc(), aligned blocks and free() in several
// threads, which also free the blocks of each other. A static table holds each
// block, so that all of them can be reached.
#define _GNU_SOURCE
#include "heap.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "truth.h"

enum {
	MOST_THREADS = 64,
	MOST_SLOTS = 1 << 18,
	LARGE_BLOCKS = 2,      // of each thread, each of a mapping of its own:
	LARGE_BYTES = 3 << 20, // blocks of 1 MiB were freed
	PAGE = 4096,
	ODD_BRK = 100, // leaves the break at an odd address
};

struct worker {
	pthread_t thread;
	pthread_mutex_t lock; // of the slots
	struct slot *slots, *large;
	long slot_count; // without the large ones
	long operations;
	uint64_t random;
	struct events events;
};

static struct slot all_slots[MOST_SLOTS];
static struct worker workers[MOST_THREADS];
static int worker_count;
static pthread_barrier_t done;
static long brks; // -1: the program leaves the break alone

static uint64_t next_random(struct worker *worker)
{
	uint64_t x = worker->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	worker->random = x;
	return x;
}

static uint64_t below(struct worker *worker, uint64_t limit)
{
	return (next_random(worker) >> 11) % limit;
}

// Most blocks are small; one in a thousand has up to 1 MiB.
static size_t some_size(struct worker *worker)
{
	uint64_t kind = below(worker, 1000);
	size_t limit = kind < 800 ? 256 :
		       kind < 930 ? 1040 :
		       kind < 985 ? 8192 :
		       kind < 999 ? 65536 :
				    1 << 20;

	return 1 + below(worker, limit);
}

static void *aligned_block(struct worker *worker, size_t size)
{
	size_t align = (size_t)16 << below(worker, 9);
	void *block;

	switch (below(worker, 3)) {
	case 0:
		return memalign(align, size);
	case 1:
		return aligned_alloc(align, (size + align - 1) & -align);
	default:
		return posix_memalign(&block, align, size) ? NULL : block;
	}
}

// Contents that look like headers of chunks, and like links of free ones.
static void fill(struct worker *worker, struct slot *slot)
{
	uint64_t words[4] = {
		(next_random(worker) & 0x7ff0) | 1,
		(uintptr_t)slot->block - 16,
		0x291,
		(uintptr_t)slot->block + slot->asked,
	};
	size_t size = slot->asked < sizeof(words) ? slot->asked : sizeof(words);

	memcpy(slot->block, words, size);
}

static void take(struct worker *worker, struct slot *slot)
{
	uint64_t how = below(worker, 10);

	slot->asked = some_size(worker);
	if (how < 6)
		slot->block = malloc(slot->asked);
	else if (how < 8)
		slot->block = calloc(1, slot->asked);
	else
		slot->block = aligned_block(worker, slot->asked);
	if (!slot->block)
		abort();
	events_took(&worker->events, slot->block);
	fill(worker, slot);
}

static void resize(struct worker *worker, struct slot *slot)
{
	size_t asked = some_size(worker);

	events_frees(&worker->events, slot->block);
	slot->block = realloc(slot->block, asked);
	if (!slot->block)
		abort();
	slot->asked = asked;
	events_took(&worker->events, slot->block);
	fill(worker, slot);
}

static void give_back(struct worker *worker, struct slot *slot)
{
	events_frees(&worker->events, slot->block);
	free(slot->block);
	slot->block = NULL;
}

static void take_large(struct worker *worker)
{
	for (int i = 0; i < LARGE_BLOCKS; i++) {
		struct slot *slot = &worker->large[i];

		slot->asked = LARGE_BYTES + below(worker, LARGE_BYTES);
		slot->block = malloc(slot->asked);
		if (!slot->block)
			abort();
		events_took(&worker->events, slot->block);
		fill(worker, slot);
	}
}

// Only malloc's main heap ends at the break; it goes on behind what we take.
static void move_break(void)
{
	long bytes = __atomic_fetch_add(&brks, 1, __ATOMIC_RELAXED) % 2 ?
			     ODD_BRK :
			     PAGE;
	void *area = sbrk(bytes);

	if (area != (void *)-1)
		memset(area, 0xab, bytes);
}

static void operate(struct worker *worker)
{
	struct worker *owner = worker;
	struct slot *slot;

	if (below(worker, 10) < 3)
		owner = &workers[below(worker, worker_count)];
	pthread_mutex_lock(&owner->lock);
	slot = &owner->slots[below(worker, owner->slot_count)];
	if (!slot->block)
		take(worker, slot);
	else if (below(worker, 5) == 0)
		resize(worker, slot);
	else
		give_back(worker, slot);
	pthread_mutex_unlock(&owner->lock);
}

static void work(struct worker *worker)
{
	for (long i = 0; i < worker->operations; i++) {
		operate(worker);
		if (brks >= 0 && worker == workers && i % 4096 == 2048)
			move_break();
	}
	take_large(worker);
	pthread_barrier_wait(&done);
}

// No signal ends up in a thread that Go does not know.
static void *run(void *worker)
{
	work(worker);
	for (;;)
		pause();
	return NULL;
}

static int start_worker(int number)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&workers[number].thread, NULL, run,
				&workers[number]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
}

static int prepare(const struct settings *settings)
{
	long slots;

	worker_count = settings->threads;
	if (worker_count < 1 || worker_count > MOST_THREADS)
		return -1;
	slots = settings->operations / 4 / worker_count;
	if (slots < 1 || slots + LARGE_BLOCKS > MOST_SLOTS / worker_count)
		return -1;
	pthread_barrier_init(&done, NULL, worker_count);
	brks = settings->foreign_brk ? 0 : -1;
	for (int i = 0; i < worker_count; i++) {
		struct worker *worker = &workers[i];

		pthread_mutex_init(&worker->lock, NULL);
		worker->slots = all_slots + i * (slots + LARGE_BLOCKS);
		worker->slot_count = slots;
		worker->large = worker->slots + slots;
		worker->operations = settings->operations / worker_count;
		worker->random = settings->seed * 1000003 + i + 1;
		if (events_init(&worker->events,
				2 * worker->operations + LARGE_BLOCKS))
			return -1;
	}
	return 0;
}

// The last event of an address tells whether it was freed for good.
static int tell(const struct settings *settings, struct totals *totals)
{
	struct events *lists[MOST_THREADS];

	for (int i = 0; i < worker_count; i++)
		lists[i] = &workers[i].events;
	return truth_write(settings, all_slots, MOST_SLOTS, lists, worker_count,
			   totals);
}

int fill_heap(const struct settings *settings, struct totals *totals)
{
	if (prepare(settings) || truth_open_info(settings->info_file))
		return -1;
	for (int i = 1; i < worker_count; i++)
		if (start_worker(i))
			return -1;
	work(&workers[0]);
	totals->brks = brks < 0 ? 0 : brks;
	if (settings->is_glibc)
		truth_info(totals);
	return tell(settings, totals);
}
