// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "hidden.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SIZE = 4000, // a size of its own
	PAGE = 1 << 12,
	BYTES = 4 * PAGE,
	WORD = 1100, // on the third page
	DISTANCE = 64 << 10,
};

static void *volatile *mapping;

void scrub(void)
{
	volatile char dead[DISTANCE];

	for (int i = 0; i < DISTANCE; i++)
		dead[i] = 0;
}

void *reserve(uintptr_t place)
{
	void *at = (void *)place;
	void *area =
		mmap(at, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		abort();
	if (area == at)
		return at;
	munmap(area, BYTES);
	return NULL;
}

static void *map(void *at, int how, int file, size_t bytes)
{
	if (file >= 0 && ftruncate(file, bytes))
		abort();
	void *area = mmap(at, bytes, PROT_READ | PROT_WRITE,
			  how | (at ? MAP_FIXED : 0), file, 0);

	if (area == MAP_FAILED)
		abort();
	if (file >= 0)
		close(file);
	return area;
}

static void write_word(uintptr_t hidden)
{
	mapping[WORD] = (void *)~hidden;
}

static int open_file(const char *how)
{
	char name[] = "hidden.XXXXXX";
	int file;

	if (!strcmp(how, "private") || !strcmp(how, "dontdump") ||
	    !strcmp(how, "behind"))
		return -1;
	// The kernel writes files without a name to a core.
	file = strcmp(how, "file") ? memfd_create(how, 0) : mkstemp(name);
	if (file < 0)
		abort();
	return file;
}

// The page is not in the page table of this process.
static void write_in_child(uintptr_t hidden)
{
	int status;
	pid_t child = fork();

	if (!child) {
		write_word(hidden);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		abort();
}

static __attribute__((noinline)) uintptr_t make(void)
{
	char *block = malloc(SIZE);

	if (!block)
		abort();
	memset(block, 0x11, SIZE);
	return ~(uintptr_t)block;
}

uintptr_t hide(const char *how, void *at)
{
	size_t bytes = strcmp(how, "large") ? BYTES : 1 << 30;
	int file = open_file(how);
	uintptr_t hidden = make();

	mapping = map(at, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
		      file, bytes);
	if (!strcmp(how, "child") || !strcmp(how, "large"))
		write_in_child(hidden);
	else
		write_word(hidden);
	if (at) // resident, with what lies before it
		for (size_t i = 0; i < bytes; i += PAGE)
			((volatile char *)mapping)[i] |= 0;
	if (!strcmp(how, "dontdump") &&
	    madvise((void *)mapping, bytes, MADV_DONTDUMP))
		abort();
	scrub();
	return hidden;
}
