// SPDX-License-Identifier: Apache-2.0
// A kernel that moves pages to other places of memory, as one does to make room
// for large pages: for the first two looks at a process that stands still, the
// pages of the mapping at MOVING (in hexadecimal) look like those in swap. Each
// of these looks writes a byte to the file MOVED.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LOOKS = 2, PAGE = 4096 };
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define SCAN_PRESENT (UINT64_C(1) << 3)

struct region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, regions, nregions;
	uint64_t max_pages, inverted, mask, any_of_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan)

static int has_scan;

/* Is it the pagemap of a process that stands still? */
static int stands_still(int fd)
{
	char link[64], name[64], state = 0;
	int pid;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t bytes = readlink(link, name, sizeof(name) - 1);
	if (bytes < 0)
		return 0;
	name[bytes] = '\0';
	if (sscanf(name, "/proc/%d/pagemap", &pid) != 1 ||
	    !strstr(name, "/pagemap"))
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	FILE *file = fopen(name, "re");
	if (!file)
		return 0;
	int found = fscanf(file, "%*d (%*[^)]) %c", &state);
	fclose(file);
	return found == 1 && state == 't';
}

/* Does a look at this address see no pages? */
static int is_moving(int fd, uint64_t address)
{
	static int looks;

	if (address != strtoull(getenv("MOVING") ?: "0", NULL, 16) ||
	    looks == LOOKS || !stands_still(fd))
		return 0;
	looks++;
	int moved = open(getenv("MOVED"), O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (moved < 0 || write(moved, "m", 1) != 1 || close(moved))
		abort();
	return 1;
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list rest;

	va_start(rest, request);
	void *argument = va_arg(rest, void *);
	va_end(rest);
	int n = real(fd, request, argument);
	struct scan *scan = argument;
	has_scan |= request == SCAN_IOCTL && n >= 0;
	if (request != SCAN_IOCTL || n <= 0 || !is_moving(fd, scan->start))
		return n;
	for (int i = 0; i < n; i++)
		((struct region *)(uintptr_t)scan->regions)[i].categories &=
			~SCAN_PRESENT;
	return n;
}

/* Kernels before 6.7 are asked so. */
ssize_t pread64(int fd, void *buffer, size_t bytes, off64_t at)
{
	ssize_t (*real)(int, void *, size_t, off64_t) =
		dlsym(RTLD_NEXT, "pread64");
	ssize_t got = real(fd, buffer, bytes, at);
	uint64_t *entries = buffer;

	if (has_scan || got < 8 || bytes == 8 || !is_moving(fd, at / 8 * PAGE))
		return got;
	for (ssize_t i = 0; i < got / 8; i++)
		if (entries[i] & PRESENT)
			entries[i] ^= PRESENT | SWAPPED;
	return got;
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t at)
{
	return pread64(fd, buffer, bytes, at);
}
