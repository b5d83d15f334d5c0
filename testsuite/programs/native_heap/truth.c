// SPDX-License-Identifier: Apache-2.0

// The truth is written without a single malloc(), which would change it.
#define _GNU_SOURCE
#include "truth.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { IS_MMAPPED = 2, WORDS = 4096 };

static FILE *info;
static char info_buffer[4096];

static uint64_t words[WORDS];
static int word_count, output = -1, has_failed;

int truth_open_info(const char *file)
{
	info = fopen(file, "w");
	return info ? setvbuf(info, info_buffer, _IOFBF, sizeof(info_buffer)) :
		      -1;
}

#ifdef __GLIBC__

#if __GLIBC_PREREQ(2, 33)
#define mallinfo_of_release mallinfo2
#else
#define mallinfo_of_release mallinfo
#endif

void truth_info(struct totals *totals)
{
	struct mallinfo_of_release found = mallinfo_of_release();

	totals->arena = found.arena;
	totals->hblks = found.hblks;
	totals->hblkhd = found.hblkhd;
	totals->fsmblks = found.fsmblks;
	totals->uordblks = found.uordblks;
	totals->fordblks = found.fordblks;
	totals->keepcost = found.keepcost;
	malloc_info(0, info);
	fflush(info);
}

const char *truth_libc_version(void)
{
	return gnu_get_libc_version();
}

#else

void truth_info(struct totals *totals)
{
	*totals = (struct totals){ .brks = totals->brks };
}

const char *truth_libc_version(void)
{
	return "";
}

#endif

static void flush(void)
{
	size_t size = word_count * sizeof(uint64_t);

	// A word that stays here would hold a block.
	has_failed |= write(output, words, size) != (ssize_t)size;
	for (int i = 0; i < word_count; i++)
		words[i] = 0;
	word_count = 0;
}

static void put(uint64_t word)
{
	words[word_count++] = word;
	if (word_count == WORDS)
		flush();
}

static void put_block(const struct slot *slot, int is_glibc,
		      struct totals *totals)
{
	uint64_t usable = malloc_usable_size(slot->block);
	// Others may have no memory there.
	uint64_t head = is_glibc ? ((uint64_t *)slot->block)[-1] : 0;
	long bytes = is_glibc ? usable + 8 : usable;

	if (head & IS_MMAPPED) {
		bytes = usable + 16;
		totals->mmapped_blocks++;
		totals->mmapped_bytes += bytes;
	}
	totals->blocks++;
	totals->bytes += bytes;
	put((uintptr_t)slot->block);
	put(slot->asked);
	put(usable);
	put(head);
}

static int put_freed(struct events *const *lists, int count,
		     struct totals *totals)
{
	struct events freed;
	long capacity = 0;

	for (int i = 0; i < count; i++)
		capacity += lists[i]->count;
	if (events_init(&freed, capacity))
		return -1;
	totals->freed = events_freed(lists, count, &freed);
	for (long i = 0; i < freed.count; i++)
		put(freed.rows[i].address);
	events_deinit(&freed);
	return 0;
}

int truth_write(const struct settings *settings, const struct slot *slots,
		long slot_count, struct events *const *lists, int list_count,
		struct totals *totals)
{
	output = open(settings->blocks_file, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (output < 0)
		return -1;
	for (long i = 0; i < slot_count; i++)
		if (slots[i].block)
			put_block(&slots[i], settings->is_glibc, totals);
	if (put_freed(lists, list_count, totals))
		return -1;
	flush();
	return close(output) || has_failed ? -1 : 0;
}
