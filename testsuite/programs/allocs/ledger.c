// SPDX-License-Identifier: Apache-2.0
/* The blocks of the sites, and the list of those that are not freed. */
#include "allocs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { ENTRIES = 1 << 20, LIBRARIES = 4 };

static struct {
	void *(*make)(int site, size_t bytes);
	void (*drop)(int site, void *block, size_t bytes);
	void (*churn)(size_t bytes);
} libraries[LIBRARIES];

static struct entry *ledger;
static uint64_t entries;

/* The blocks that C has: each begins with the address of the next. */
void **held_by_c;

/* The blocks of the threads of a load. */
void *table[MAX_THREADS][MAX_SLOTS];

static void *symbol(void *library, const char *prefix, const char *name)
{
	char full[64];
	void *found;

	snprintf(full, sizeof(full), "%s_%s", prefix, name);
	found = dlsym(library, full);
	if (!found) {
		fprintf(stderr, "allocs: no %s\n", full);
		exit(1);
	}
	return found;
}

void load_library(int number, const char *path, const char *prefix)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "allocs: %s\n", dlerror());
		exit(1);
	}
	if (!ledger)
		ledger = mmap(NULL, ENTRIES * sizeof(*ledger),
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ledger == MAP_FAILED)
		abort();
	libraries[number].make = symbol(library, prefix, "make");
	libraries[number].drop = symbol(library, prefix, "drop");
	libraries[number].churn = symbol(library, prefix, "churn");
}

uint64_t ledger_count(void)
{
	return __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
}

struct entry *ledger_entry(uint64_t index)
{
	return &ledger[index];
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void note(void *block, struct entry entry)
{
	uint64_t i = __atomic_fetch_add(&entries, 1, __ATOMIC_ACQ_REL);

	if (i >= ENTRIES)
		abort();
	entry.hidden = ~(uintptr_t)block;
	entry.time_ns = now_ns();
	ledger[i] = entry;
}

static void hold(void *block)
{
	void **first = __atomic_load_n(&held_by_c, __ATOMIC_ACQUIRE);

	do
		*(void **)block = first;
	while (!__atomic_compare_exchange_n(&held_by_c, &first, (void **)block,
					    0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
}

void *make_block(int library, int site, size_t bytes, int holder, uint64_t goid)
{
	void *block = libraries[library].make(site, bytes);

	note(block, (struct entry){
			    .bytes = bytes,
			    .goid = goid,
			    .site = site,
			    .library = library,
			    .holder = holder,
		    });
	if (holder == HOLDER_C)
		hold(block);
	return block;
}

void make_blocks(int library, int site, uint64_t count, size_t bytes,
		 int holder, uint64_t goid, void **blocks)
{
	for (uint64_t i = 0; i < count; i++) {
		void *block = make_block(library, site, bytes, holder, goid);

		if (blocks)
			blocks[i] = block;
	}
}

void drop_block(int library, int site, void *block)
{
	for (uint64_t i = 0; i < ledger_count(); i++) {
		struct entry *entry = &ledger[i];

		if (entry->is_gone || entry->hidden != ~(uintptr_t)block)
			continue;
		entry->is_gone = 1;
		libraries[library].drop(site, block, entry->bytes);
		return;
	}
	abort();
}

void drop_blocks(int library, int site)
{
	for (uint64_t i = 0; i < ledger_count(); i++) {
		struct entry *entry = &ledger[i];

		if (entry->is_gone || entry->holder != HOLDER_NOBODY ||
		    (int)entry->site != site || (int)entry->library != library)
			continue;
		entry->is_gone = 1;
		libraries[library].drop(site, (void *)~entry->hidden,
					entry->bytes);
	}
}

void *table_block(int thread, int slot)
{
	return table[thread][slot];
}

static void replace(const struct load *load, uint64_t number)
{
	void **slot = &table[load->thread][number % load->slots];
	void *old = *slot;

	*slot = libraries[load->library].make(SITE_HELD, 100);
	if (old)
		libraries[load->library].drop(SITE_HELD, old, 100);
}

void load_step(const struct load *load, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++)
		if (i % load->every_a == load->every_a / 2)
			make_block(load->library, 0, 256, HOLDER_NOBODY,
				   load->goid);
		else if (i % load->every_b == load->every_b / 3)
			make_block(load->library, 1, 512, HOLDER_NOBODY,
				   load->goid);
		else if (i % 16 == 7)
			replace(load, i / 16);
		else
			libraries[load->library].churn(16 + i * 37 % 500);
}
